//! Messages (MPI 5.0, chapter 3).
#![expect(unsafe_code, reason = "buffers are named by address")]

use super::buffer_claims::BufferClaims;
use super::checks::ExpectedReceive;
use super::comm::{checked_tag, exhausted};
use super::error::{Operation, Peer};
use super::request::CompletionKind;
use super::{Buffer, Comm, Datatype, PROC_NULL, Request, Result, Status};
use crate::bcs::{
    Blocking, DataView, OutgoingMessage, ReceiveOutcome, RequestOutcome, SendAttempt, SendMode,
    gather,
};
use crate::call_site;
use crate::checked::UsedMemory;
use crate::recording::{
    CallStart, CallTiming, DeliveredMessage, Primitive, RecordedOperation, Site,
};
use bcs_core::check_bits::CheckBits;
use bcs_core::request::RequestFailure;
use std::sync::Arc;

/// A call that posts a message: its name, its row in the MDS, and its mode if it sends.
#[derive(Clone, Copy)]
pub(super) struct MessageCall {
    pub(super) name: &'static str,
    pub(super) primitive: Primitive,
    pub(super) mode: SendMode,
}

impl MessageCall {
    pub(super) const fn standard(name: &'static str, primitive: Primitive) -> Self {
        let mode = SendMode::Standard;
        Self {
            name,
            primitive,
            mode,
        }
    }

    pub(super) const fn synchronous(name: &'static str, primitive: Primitive) -> Self {
        let mode = SendMode::Synchronous;
        Self {
            name,
            primitive,
            mode,
        }
    }
}

const SEND: MessageCall = MessageCall::standard("MPI_Send", Primitive::Send);
const SSEND: MessageCall = MessageCall::synchronous("MPI_Ssend", Primitive::Ssend);
const ISEND: MessageCall = MessageCall::standard("MPI_Isend", Primitive::Isend);
const ISSEND: MessageCall = MessageCall::synchronous("MPI_Issend", Primitive::Issend);
// A ready send promises that its receive is posted. This library cannot make use of that. If the
// promise is broken, it is still a send.
const RSEND: MessageCall = MessageCall::standard("MPI_Rsend", Primitive::Rsend);
const IRSEND: MessageCall = MessageCall::standard("MPI_Irsend", Primitive::Irsend);
const IRECV: MessageCall = MessageCall::standard("MPI_Irecv", Primitive::Irecv);
const SENDRECV: MessageCall = MessageCall::standard("MPI_Sendrecv", Primitive::Sendrecv);
const SENDRECV_REPLACE: MessageCall =
    MessageCall::standard("MPI_Sendrecv_replace", Primitive::SendrecvReplace);

/// The shortest message that is replaced without a copy. The copy of a shorter one stays in a
/// cache.
const LEAST_REPLACED_BYTES: usize = 1 << 20;

impl Comm {
    /// Returns the message that a send at this place sends to a peer, with types like these.
    #[inline(always)]
    fn message<'a>(
        &self,
        (data, like): (&'a DataView, &Buffer),
        (to, tag): (i32, i32),
        operation: &Operation,
        site: Site,
    ) -> Result<OutgoingMessage<'a>> {
        self.is_sent_from_here(tag);
        let (destination, tag) = (
            self.world_rank(to, operation)?,
            checked_tag(tag, operation)?,
        );
        let mut mark = CheckBits::NONE;
        if self.process().is_checked() {
            mark = self.mark((data, like), destination, operation, site)?;
        }
        Ok(OutgoingMessage {
            context: self.0.context,
            destination,
            tag,
            data,
            mark,
        })
    }

    /// Returns the kind of a receive at this place.
    #[inline(always)]
    pub(super) fn receiving(&self, into: &Buffer, site: Site) -> CompletionKind {
        match self.process().is_checked() {
            true => CompletionKind::Checked(Box::new(ExpectedReceive::new(into, site))),
            false => CompletionKind::Receive,
        }
    }

    /// Claims the buffer of a message in a checked job.
    #[inline(always)]
    pub(super) fn claimed(
        &self,
        operation: &Operation,
        memory: impl FnOnce() -> UsedMemory,
        site: Site,
    ) -> Result<Option<Arc<BufferClaims>>> {
        if !self.process().is_checked() {
            return Ok(None);
        }
        self.claim(operation, vec![memory()], site, true).map(Some)
    }

    #[track_caller]
    pub(super) fn post_send(
        &self,
        call: MessageCall,
        recorded: RecordedOperation,
        data: &Buffer,
        to: i32,
        tag: i32,
    ) -> Result<Request> {
        self.post_send_at(call, recorded, (data, data), (to, tag), Site::here())
    }

    /// Posts a send at this place of data which have, or stand for, types like these. Data that
    /// only stand for them are a copy of the library's.
    pub(super) fn post_send_at(
        &self,
        call: MessageCall,
        mut recorded: RecordedOperation,
        (data, like): (&Buffer, &Buffer),
        (to, tag): (i32, i32),
        site: Site,
    ) -> Result<Request> {
        let operation = Operation::message(call.name, data.bytes(), Peer::To(to), tag);
        self.usable(&operation)?;
        let is_copy = !std::ptr::eq(data, like);
        let data = data.piece(&operation)?;
        if to == PROC_NULL {
            checked_tag(tag, &operation)?;
            return Ok(Request::done(Ok(Status::EMPTY), 0, self, recorded));
        }
        let message = self.message((&data, like), (to, tag), &operation, site)?;
        let claims = match is_copy {
            true => None,
            false => {
                let memory = || UsedMemory::reads(data.clone(), like.datatype().size());
                self.claimed(&operation, memory, site)?
            }
        };
        let posted = self.process().endpoint().bcs_send(call.mode, &message);
        let request = posted.map_err(exhausted(&operation))?;
        self.tell_posted(&mut recorded.begun, &message);
        let what = CompletionKind::Nothing;
        let request = Request::posted(request, what, self, &operation, recorded);
        Ok(request.holding(claims))
    }

    #[track_caller]
    pub(super) fn post_recv(
        &self,
        call: MessageCall,
        recorded: RecordedOperation,
        data: &Buffer,
        from: i32,
        tag: i32,
    ) -> Result<Request> {
        self.post_recv_at(call, recorded, data, (from, tag), Site::here())
    }

    /// Posts a receive at this place.
    pub(super) fn post_recv_at(
        &self,
        call: MessageCall,
        recorded: RecordedOperation,
        data: &Buffer,
        (from, tag): (i32, i32),
        site: Site,
    ) -> Result<Request> {
        let operation = Operation::message(call.name, data.bytes(), Peer::From(from), tag);
        self.usable(&operation)?;
        let into = data.piece(&operation)?;
        if from == PROC_NULL {
            return Ok(Request::done(Ok(Status::PROC_NULL), 0, self, recorded));
        }
        let pattern = self.pattern(from, tag, &operation)?;
        let memory = || UsedMemory::writes(into.clone(), data.datatype().size());
        let claims = self.claimed(&operation, memory, site)?;
        if let Some(claims) = &claims {
            claims.watch_received(false);
        }
        let (endpoint, mut outcome) = (self.process().endpoint(), RequestOutcome::NOTHING);
        let posted = endpoint.bcs_recv(pattern, &into, &mut outcome);
        let posted = posted.map_err(exhausted(&operation))?;
        if let Some(claims) = &claims {
            let has_come = match posted {
                ReceiveOutcome::Received => true,
                ReceiveOutcome::Posted(request) => endpoint.is_delivered(request),
            };
            if has_come {
                claims.watch_received(true);
            }
        }
        let request = match posted {
            ReceiveOutcome::Received if outcome.is_plain() && recorded.begun.is_unknown() => {
                Request::from_status(self.status_of(&outcome))
            }
            ReceiveOutcome::Received => {
                let answer = self.status_into(&outcome, &operation, data, site);
                Request::received(answer, &outcome, self, recorded)
            }
            ReceiveOutcome::Posted(request) => {
                let what = self.receiving(data, site);
                Request::posted(request, what, self, &operation, recorded)
            }
        };
        Ok(request.holding(claims))
    }

    /// Records for the MDS that a message was posted.
    #[inline(always)]
    fn tell_posted(&self, begun: &mut CallStart, message: &OutgoingMessage<'_>) {
        if !begun.is_unknown() {
            let &OutgoingMessage {
                destination,
                tag,
                data,
                ..
            } = message;
            let told = || self.message_record(destination, tag, data.len() as u64);
            self.process().recording().posted(begun, told);
        }
    }

    /// Sends and blocks: at once if possible, else by a post and a wait.
    #[inline(always)]
    #[track_caller]
    fn send_blocking(&self, call: MessageCall, data: &Buffer, to: i32, tag: i32) -> Result<()> {
        let operation = Operation::message(call.name, data.bytes(), Peer::To(to), tag);
        let (endpoint, site) = (self.process().endpoint(), Site::here());
        self.record_call(
            (call.primitive, CallTiming::Waits),
            &operation,
            |mut begun| {
                self.usable(&operation)?;
                let piece = data.piece(&operation)?;
                if to == PROC_NULL {
                    return checked_tag(tag, &operation).map(|_| ());
                }
                let message = self.message((&piece, data), (to, tag), &operation, site)?;
                if self.process().must_check_use() {
                    let memory = UsedMemory::reads(piece.clone(), data.datatype().size());
                    self.check_use(&operation, &memory, site)?;
                }
                let posted = match endpoint.bcs_send_now(call.mode, &message) {
                    SendAttempt::Done => None,
                    SendAttempt::Posted(posted) => Some(posted),
                    SendAttempt::NotImmediate => {
                        let posted = endpoint.bcs_send(call.mode, &message);
                        Some(posted.map_err(exhausted(&operation))?)
                    }
                };
                let Some(posted) = posted else {
                    if !begun.is_unknown() {
                        let OutgoingMessage {
                            destination,
                            tag,
                            data,
                            ..
                        } = &message;
                        let told = self.message_record(*destination, *tag, data.len() as u64);
                        self.process().recording().sent(begun, told);
                    }
                    return Ok(());
                };
                self.tell_posted(&mut begun, &message);
                let told = RecordedOperation::part(begun);
                let mut request =
                    Request::posted(posted, CompletionKind::Nothing, self, &operation, told);
                request.wait_unrecorded_at(site).map(|_| ())
            },
        )
    }

    /// Receives and blocks: at once if possible, else by a post and a wait.
    #[inline(always)]
    #[track_caller]
    fn recv_blocking(&self, data: &Buffer, from: i32, tag: i32) -> Result<Status> {
        let (name, primitive) = ("MPI_Recv", Primitive::Recv);
        let operation = Operation::message(name, data.bytes(), Peer::From(from), tag);
        let (endpoint, site) = (self.process().endpoint(), Site::here());
        self.record_call((primitive, CallTiming::Waits), &operation, |begun| {
            self.usable(&operation)?;
            let into = data.piece(&operation)?;
            if from == PROC_NULL {
                return Ok(Status::PROC_NULL);
            }
            let pattern = self.pattern(from, tag, &operation)?;
            if self.process().must_check_use() {
                let memory = UsedMemory::writes(into.clone(), data.datatype().size());
                self.check_use(&operation, &memory, site)?;
            }
            let told = RecordedOperation::part(begun);
            let mut outcome = RequestOutcome::NOTHING;
            if !endpoint.bcs_recv_now(&pattern, &into, &mut outcome) {
                let posted = endpoint.bcs_recv(pattern, &into, &mut outcome);
                if let ReceiveOutcome::Posted(posted) = posted.map_err(exhausted(&operation))? {
                    let _at = call_site::enter(site);
                    let tested = endpoint.bcs_test(Blocking::Yes, posted);
                    self.process().returned().drop_all();
                    outcome = tested.expect("a blocking test has an answer");
                }
            }
            if !begun.is_unknown() {
                let received: Option<DeliveredMessage> = self.received_record(&outcome);
                self.process()
                    .recording()
                    .complete(told, outcome.len, received);
            }
            self.status_into(&outcome, &operation, data, site)
        })
    }

    /// Starts a send.
    #[inline(always)]
    #[track_caller]
    fn start_send(&self, call: MessageCall, data: &Buffer, to: i32, tag: i32) -> Result<Request> {
        self.start_send_like(call, (data, data), to, tag)
    }

    /// Does the same for data that stand for types like these.
    #[inline(always)]
    #[track_caller]
    fn start_send_like(
        &self,
        call: MessageCall,
        (data, like): (&Buffer, &Buffer),
        to: i32,
        tag: i32,
    ) -> Result<Request> {
        let operation = Operation::message(call.name, data.bytes(), Peer::To(to), tag);
        let site = Site::here();
        self.record_call((call.primitive, CallTiming::Starts), &operation, |begun| {
            let told = RecordedOperation::started(begun, call.primitive);
            self.post_send_at(call, told, (data, like), (to, tag), site)
        })
    }

    /// `MPI_Send`: sends a message.
    ///
    /// # Errors
    /// When an argument is wrong, or the NIC reports a failure.
    #[track_caller]
    pub fn send(&self, data: Buffer, to: i32, tag: i32) -> Result<()> {
        self.send_blocking(SEND, &data, to, tag)
    }

    /// `MPI_Ssend`: returns when the receive was matched.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    #[track_caller]
    pub fn ssend(&self, data: Buffer, to: i32, tag: i32) -> Result<()> {
        self.send_blocking(SSEND, &data, to, tag)
    }

    /// `MPI_Rsend`: sends a message whose receive is posted already.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    #[track_caller]
    pub fn rsend(&self, data: Buffer, to: i32, tag: i32) -> Result<()> {
        self.send_blocking(RSEND, &data, to, tag)
    }

    /// `MPI_Irsend`.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    #[track_caller]
    pub fn irsend(&self, data: Buffer, to: i32, tag: i32) -> Result<Request> {
        self.start_send(IRSEND, &data, to, tag)
    }

    /// `MPI_Isend`: starts a [`send`](Self::send).
    ///
    /// # Errors
    /// As [`send`](Self::send).
    #[track_caller]
    pub fn isend(&self, data: Buffer, to: i32, tag: i32) -> Result<Request> {
        self.start_send(ISEND, &data, to, tag)
    }

    /// `MPI_Issend`.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    #[track_caller]
    pub fn issend(&self, data: Buffer, to: i32, tag: i32) -> Result<Request> {
        self.start_send(ISSEND, &data, to, tag)
    }

    /// `MPI_Recv`: receives a message.
    ///
    /// # Errors
    /// When an argument is wrong, the message is longer than `data` (its start is then received),
    /// or the NIC reports a failure.
    #[track_caller]
    pub fn recv(&self, data: Buffer, from: i32, tag: i32) -> Result<Status> {
        self.recv_blocking(&data, from, tag)
    }

    /// `MPI_Irecv`: starts a [`recv`](Self::recv).
    ///
    /// # Errors
    /// When an argument is wrong.
    #[track_caller]
    pub fn irecv(&self, data: Buffer, from: i32, tag: i32) -> Result<Request> {
        let call = (IRECV.primitive, CallTiming::Starts);
        let operation = Operation::message(IRECV.name, data.bytes(), Peer::From(from), tag);
        let site = Site::here();
        self.record_call(call, &operation, |begun| {
            let told = RecordedOperation::started(begun, IRECV.primitive);
            self.post_recv_at(IRECV, told, &data, (from, tag), site)
        })
    }

    /// `MPI_Sendrecv`: sends a message and receives one at the same time.
    ///
    /// # Errors
    /// As for a send and a receive. Both have ended then.
    #[track_caller]
    pub fn sendrecv(&self, out: (Buffer, i32, i32), into: (Buffer, i32, i32)) -> Result<Status> {
        self.exchange(SENDRECV, &out, &into, &out.0)
    }

    /// `MPI_Sendrecv_replace`: the same from and into one buffer.
    ///
    /// # Errors
    /// As [`sendrecv`](Self::sendrecv).
    #[track_caller]
    pub fn sendrecv_replace(
        &self,
        data: Buffer,
        (to, out_tag): (i32, i32),
        (from, in_tag): (i32, i32),
    ) -> Result<Status> {
        let (call, peer) = (SENDRECV_REPLACE, Peer::To(to));
        if to == PROC_NULL || from == PROC_NULL {
            // No message is sent, or none comes that would replace the data.
            let out = (data.clone(), to, out_tag);
            return self.exchange(call, &out, &(data, from, in_tag), &out.0);
        }
        let operation = Operation::message(call.name, data.bytes(), peer, out_tag);
        let piece = data.piece(&operation)?;
        if piece.layout().is_none() && piece.len() >= LEAST_REPLACED_BYTES {
            let ways = ((to, out_tag), (from, in_tag));
            if let Some(answer) = self.replace_in_place(&operation, (&data, &piece), ways)? {
                return answer;
            }
        }
        let mut copy = vec![0_u8; piece.len()];
        gather(&piece, 0, &mut copy);
        // SAFETY: the copy lives until both have ended. (It is packed, which its receiver cannot
        // notice.)
        let out = unsafe { Buffer::read_only(copy.as_ptr(), copy.len(), Datatype::BYTE) };
        let (out, into) = ((out, to, out_tag), (data, from, in_tag));
        self.exchange(call, &out, &into, &into.0)
    }

    /// Does the same without a copy, among ranks of this node. Returns `None` if that is
    /// impossible.
    #[track_caller]
    fn replace_in_place(
        &self,
        operation: &Operation,
        (data, piece): (&Buffer, &DataView),
        ((to, out_tag), (from, in_tag)): ((i32, i32), (i32, i32)),
    ) -> Result<Option<Result<Status>>> {
        let (endpoint, site) = (self.process().endpoint(), Site::here());
        self.usable(operation)?;
        let receiving = Operation::message(operation.call, data.bytes(), Peer::From(from), in_tag);
        let pattern = self.pattern(from, in_tag, &receiving)?;
        if !endpoint.replaces_locally(self.world_rank(to, operation)?, pattern) {
            return Ok(None);
        }
        let message = self.message((piece, data), (to, out_tag), operation, site)?;
        if self.process().must_check_use() {
            let memory = UsedMemory::writes(piece.clone(), data.datatype().size());
            self.check_use(operation, &memory, site)?;
        }
        let called = (SENDRECV_REPLACE.primitive, CallTiming::Waits);
        let _at = call_site::enter(site);
        let answer = self.record_call(called, operation, |begun| {
            let told = RecordedOperation::part(begun);
            let mut sent = told;
            let posted = endpoint.bcs_replace(&message, pattern, piece);
            let posted = posted.map_err(exhausted(operation))?;
            self.tell_posted(&mut sent.begun, &message);
            let (send, receive) = (posted.send, posted.receive);
            let mut send = Request::posted(send, CompletionKind::Nothing, self, operation, sent);
            let what = self.receiving(data, site);
            let mut receive = Request::posted(receive, what, self, &receiving, told);
            let (sent, received) = (send.wait_unrecorded(), receive.wait_unrecorded());
            // This holds even if they failed: of a message that was too long, the start is
            // received.
            if !endpoint.bcs_replaced(posted) {
                return Err(receiving.failure(RequestFailure::BadAddress, 0));
            }
            received.and_then(|received| sent.map(|_| received))
        });
        Ok(Some(answer))
    }

    /// `MPI_Isendrecv`: starts a [`sendrecv`](Self::sendrecv). Its status is the receive's.
    ///
    /// # Errors
    /// When an argument is wrong. No message is in flight then.
    #[track_caller]
    pub fn isendrecv(&self, out: (Buffer, i32, i32), into: (Buffer, i32, i32)) -> Result<Request> {
        self.start_both(&out, &into, &out.0, Vec::new())
    }

    /// `MPI_Isendrecv_replace`: the same from and into one buffer.
    ///
    /// # Errors
    /// As [`isendrecv`](Self::isendrecv).
    #[track_caller]
    pub fn isendrecv_replace(
        &self,
        data: Buffer,
        (to, out_tag): (i32, i32),
        (from, in_tag): (i32, i32),
    ) -> Result<Request> {
        let peer = Peer::To(to);
        let name = "MPI_Isendrecv_replace";
        let operation = Operation::message(name, data.bytes(), peer, out_tag);
        let piece = data.piece(&operation)?;
        let mut copy = vec![0_u8; piece.len()];
        gather(&piece, 0, &mut copy);
        // SAFETY: the copy stays until the send is done.
        let out = unsafe { Buffer::read_only(copy.as_ptr(), copy.len(), Datatype::BYTE) };
        self.start_both(
            &(out, to, out_tag),
            &(data.clone(), from, in_tag),
            &data,
            copy,
        )
    }

    #[track_caller]
    fn start_both(
        &self,
        (out, to, out_tag): &(Buffer, i32, i32),
        (into, from, in_tag): &(Buffer, i32, i32),
        like: &Buffer,
        copy: Vec<u8>,
    ) -> Result<Request> {
        let mut receive = self.irecv(into.clone(), *from, *in_tag)?;
        match self.start_send_like(ISEND, (out, like), *to, *out_tag) {
            Ok(send) => Ok(Request::both(receive, send, copy)),
            Err(error) => {
                receive.cancel();
                let _lost = receive.wait_unrecorded();
                Err(error)
            }
        }
    }

    #[track_caller]
    fn exchange(
        &self,
        call: MessageCall,
        (out, to, out_tag): &(Buffer, i32, i32),
        (into, from, in_tag): &(Buffer, i32, i32),
        like: &Buffer,
    ) -> Result<Status> {
        let operation = Operation::message(call.name, out.bytes(), Peer::To(*to), *out_tag);
        let site = Site::here();
        let _at = call_site::enter(site);
        self.record_call((call.primitive, CallTiming::Waits), &operation, |begun| {
            let told = RecordedOperation::part(begun);
            let mut receive = self.post_recv_at(call, told, into, (*from, *in_tag), site)?;
            let mut send = match self.post_send_at(call, told, (out, like), (*to, *out_tag), site) {
                Ok(send) => send,
                Err(error) => {
                    // The receive must not outlive the call. Its message is lost.
                    receive.cancel();
                    let _lost = receive.wait_unrecorded();
                    return Err(error);
                }
            };
            let sent = send.wait_unrecorded();
            let received = receive.wait_unrecorded()?;
            sent.map(|_| received)
        })
    }
}
