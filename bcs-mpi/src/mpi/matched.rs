//! Matched probes (MPI 5.0, 3.8.2): a probe finds a message and takes it out in one step, so that
//! no other thread of this rank can receive it.

use super::comm::exhausted;
use super::error::{ErrorClass, Operation, Peer};
use super::{Buffer, Comm, PROC_NULL, Request, Result, Status};
use crate::bcs::{Blocking, MatchedMessage};
use crate::call_site;
use crate::checked::UsedMemory;
use crate::recording::{CallTiming, Primitive, RecordedOperation, Site};

/// A message that a matched probe found (`MPI_Message`). Once it is received it is
/// `MPI_MESSAGE_NULL`.
#[derive(Debug)]
#[must_use = "nobody else can receive this message"]
pub struct Message {
    comm: Comm,
    status: Status,
    content: Content,
}

#[derive(Debug)]
enum Content {
    /// The message that the NIC keeps.
    Extracted(MatchedMessage),
    /// `MPI_MESSAGE_NO_PROC`: the message of `MPI_PROC_NULL`.
    NoProc,
    /// `MPI_MESSAGE_NULL`.
    Null,
}

impl Comm {
    /// `MPI_Mprobe`: waits for a message and takes it out.
    ///
    /// # Errors
    /// When an argument is wrong, or the NIC reports a failure.
    #[track_caller]
    pub fn mprobe(&self, from: i32, tag: i32) -> Result<Message> {
        let operation = Operation::message("MPI_Mprobe", None, Peer::From(from), tag);
        let _at = call_site::enter(Site::here());
        let find = |_| self.extract(Blocking::Yes, operation, from, tag);
        let found = self.record_call((Primitive::Mprobe, CallTiming::Waits), &operation, find)?;
        Ok(found.expect("a blocking probe finds something"))
    }

    /// `MPI_Improbe`: takes a message out if there is one.
    ///
    /// As for [`iprobe`](Self::iprobe), "no" may be outdated, but repeated calls find the message
    /// in the end.
    ///
    /// # Errors
    /// As [`mprobe`](Self::mprobe).
    #[track_caller]
    pub fn improbe(&self, from: i32, tag: i32) -> Result<Option<Message>> {
        let operation = Operation::message("MPI_Improbe", None, Peer::From(from), tag);
        let find = |_| self.extract(Blocking::No, operation, from, tag);
        self.record_call((Primitive::Improbe, CallTiming::Asks), &operation, find)
    }

    fn extract(
        &self,
        blocking: Blocking,
        operation: Operation,
        from: i32,
        tag: i32,
    ) -> Result<Option<Message>> {
        self.usable(&operation)?;
        let message = |status, content| Message {
            comm: self.clone(),
            status,
            content,
        };
        if from == PROC_NULL {
            return Ok(Some(message(Status::PROC_NULL, Content::NoProc)));
        }
        let pattern = self.pattern(from, tag, &operation)?;
        let endpoint = self.process().endpoint();
        let found = endpoint
            .bcs_extract(blocking, pattern)
            .map_err(exhausted(&operation))?;
        let Some((outcome, extracted)) = found else {
            return Ok(None);
        };
        let status = self.status(&outcome, &operation)?;
        Ok(Some(message(status, Content::Extracted(extracted))))
    }
}

impl Message {
    /// Returns the status of the message.
    #[must_use]
    pub fn status(&self) -> Status {
        self.status
    }

    /// Returns the communicator in which it was sent.
    #[must_use]
    pub fn comm(&self) -> &Comm {
        &self.comm
    }

    /// Returns the operation of a receive of it.
    fn operation(&self, call: &'static str, data: &Buffer) -> Operation {
        let Status { source, tag, .. } = self.status;
        Operation::message(call, data.bytes(), Peer::From(source), tag)
    }

    fn post(
        &mut self,
        operation: Operation,
        recorded: RecordedOperation,
        data: &Buffer,
        site: Site,
    ) -> Result<Request> {
        let comm = self.comm.clone();
        comm.usable(&operation)?;
        let into = data.piece(&operation)?;
        let extracted = match &mut self.content {
            Content::Extracted(extracted) => extracted,
            Content::NoProc => {
                self.content = Content::Null;
                return Ok(Request::done(Ok(Status::PROC_NULL), 0, &comm, recorded));
            }
            Content::Null => {
                let reason = "the message was received before (MPI_MESSAGE_NULL)";
                return Err(operation.error(ErrorClass::Request, reason));
            }
        };
        let memory = || UsedMemory::writes(into.clone(), data.datatype().size());
        let claims = comm.claimed(&operation, memory, site)?;
        let endpoint = comm.process().endpoint();
        let posted = endpoint.bcs_recv_extracted(extracted, into);
        let request = posted.map_err(exhausted(&operation))?;
        self.content = Content::Null;
        let what = comm.receiving(data, site);
        let request = Request::posted(request, what, &comm, &operation, recorded);
        Ok(request.holding(claims))
    }

    /// `MPI_Mrecv`: receives the message. After an error in an argument the message can still be
    /// received.
    ///
    /// # Errors
    /// When the message was received before, an argument is wrong, the message is longer than
    /// `data` (its start is then received), or the NIC reports a failure.
    #[track_caller]
    pub fn recv(&mut self, data: Buffer) -> Result<Status> {
        let (comm, operation) = (self.comm.clone(), self.operation("MPI_Mrecv", &data));
        let site = Site::here();
        comm.record_call((Primitive::Mrecv, CallTiming::Waits), &operation, |begun| {
            let told = RecordedOperation::part(begun);
            self.post(operation, told, &data, site)?
                .wait_unrecorded_at(site)
        })
    }

    /// `MPI_Imrecv`: begins to receive the message.
    ///
    /// # Errors
    /// When the message was received before, or an argument is wrong.
    #[track_caller]
    pub fn irecv(&mut self, data: Buffer) -> Result<Request> {
        let (comm, operation) = (self.comm.clone(), self.operation("MPI_Imrecv", &data));
        let site = Site::here();
        comm.record_call(
            (Primitive::Imrecv, CallTiming::Starts),
            &operation,
            |begun| {
                let told = RecordedOperation::started(begun, Primitive::Imrecv);
                self.post(operation, told, &data, site)
            },
        )
    }
}
