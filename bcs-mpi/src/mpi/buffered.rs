//! Buffered sends (MPI 5.0, 3.4 and 3.6): done at once, from a copy in a buffer of known size.
//!
//! The buffer that a program attaches is an account, not memory. Each message is copied to memory
//! of its own until its send is complete. As the standard requires, a send that would overdraw the
//! account is an error. So the order in which messages complete cannot fragment anything.
#![expect(unsafe_code, reason = "buffers are named by address")]

use super::account::{Account, AttachedBuffer, BufferedSend};
use super::error::{ErrorClass, Operation, Peer, Result};
use super::point_to_point::MessageCall;
use super::request::{CompletionHandler, CompletionKind};
use super::{Buffer, Comm, Process, Request, Status};
use crate::bcs::{self, RequestOutcome, gather};
use crate::call_site;
use crate::checked::UsedMemory;
use crate::endpoint::{AsyncOperation, OperationContext, OperationId};
use crate::recording::{CallTiming, Primitive, RecordedOperation, Site};
use crate::transport::TransportHandle;
use bcs_core::lockstep;
use bcs_core::reduction::Datatype;
use std::sync::{Arc, Mutex};

/// `MPI_BSEND_OVERHEAD`, with the value of the standard's ABI: what programs are to add to the
/// bytes of a message. This library itself needs no overhead.
pub const BSEND_OVERHEAD: usize = 512;

const BSEND: MessageCall = MessageCall::standard("MPI_Bsend", Primitive::Bsend);
const IBSEND: MessageCall = MessageCall::standard("MPI_Ibsend", Primitive::Ibsend);

/// A request and its copy.
#[derive(Debug)]
struct CopiedSend {
    request: Request,
    bytes: Vec<u8>,
}

impl BufferedSend for CopiedSend {
    fn len(&self) -> usize {
        self.bytes.len()
    }

    fn test(&mut self) -> Option<Result<()>> {
        let outcome = self.request.test_unrecorded().transpose();
        outcome.map(|outcome| outcome.map(|_| ()))
    }

    fn wait(&mut self) -> Result<()> {
        self.request.wait_unrecorded().map(|_| ())
    }

    fn posted(&self) -> Option<bcs::Request> {
        self.request.handle()
    }
}

impl AttachedBuffer {
    /// `MPI_Buffer_attach` and its variants: attaches a buffer of this size.
    ///
    /// # Errors
    /// When a buffer is attached already.
    pub fn attach(&self, bytes: usize) -> Result<()> {
        let operation = Operation::plain("MPI_Buffer_attach");
        let mut state = self.0.lock();
        if let Some(attached) = state.attached {
            let reason = format!("a buffer of {attached} bytes is attached: detach it first");
            return Err(operation.error(ErrorClass::Buffer, reason));
        }
        state.attached = Some(bytes);
        Ok(())
    }

    /// `MPI_Buffer_detach`: waits until all its messages have been sent, and returns its size.
    ///
    /// # Errors
    /// When no buffer is attached.
    #[track_caller]
    pub fn detach(&self) -> Result<usize> {
        let _at = call_site::enter(Site::here());
        let attached = self.0.lock().attached.take();
        let Some(attached) = attached else {
            let operation = Operation::plain("MPI_Buffer_detach");
            return Err(operation.error(ErrorClass::Buffer, "no buffer is attached"));
        };
        self.0.flush();
        Ok(attached)
    }

    /// `MPI_Buffer_flush`: returns when all messages from the buffer have been sent.
    #[track_caller]
    pub fn flush(&self) {
        let _at = call_site::enter(Site::here());
        self.0.flush();
    }

    /// `MPI_Buffer_iflush`: a request that is done when all messages that are now in the buffer
    /// have been sent.
    pub fn iflush(&self, process: &Arc<Process>) -> Request {
        let copies = std::mem::take(&mut self.0.lock().under_way);
        let posted = copies.iter().filter_map(|copied| copied.posted()).collect();
        let flushing = FlushOperation(posted);
        let request = process.endpoint().undertake(Box::new(flushing));
        let flushed = FlushCompletion {
            account: self.0.clone(),
            copies: Mutex::new(copies),
        };
        let (what, operation) = (
            CompletionKind::Other(Arc::new(flushed)),
            Operation::plain("MPI_Buffer_iflush"),
        );
        Request::posted(
            request,
            what,
            &process.itself(),
            &operation,
            RecordedOperation::NOT,
        )
    }

    /// Returns whether a buffer is attached.
    fn is_attached(&self) -> bool {
        self.0.lock().attached.is_some()
    }

    /// Returns the first failure of a message whose sender did not wait.
    pub(super) fn lost(&self) -> Result<()> {
        self.0.lost()
    }
}

/// Sends that a flush waits for. The flush does not take their outcomes; their owner does.
#[derive(Debug)]
struct FlushOperation(Vec<bcs::Request>);

impl AsyncOperation for FlushOperation {
    fn advance(&mut self, at: &mut dyn OperationContext, _: &mut bool) -> Option<RequestOutcome> {
        while let Some(&last) = self.0.last() {
            if !at.is_done(last) {
                return None;
            }
            self.0.pop();
        }
        Some(RequestOutcome::default())
    }

    fn awaits(&self) -> Vec<TransportHandle> {
        let road = |request: &bcs::Request| match request {
            bcs::Request(OperationId::Transport(handle)) => Some(*handle),
            _ => None,
        };
        self.0.iter().filter_map(road).collect()
    }
}

/// The copies that a flush waits for.
#[derive(Debug)]
struct FlushCompletion {
    account: Arc<Account>,
    copies: Mutex<Vec<Box<dyn BufferedSend>>>,
}

impl CompletionHandler for FlushCompletion {
    fn finish(&self, _: &Comm, _: &RequestOutcome, _: Operation) -> Result<Status> {
        let copies = std::mem::take(&mut *lockstep::lock(&self.copies));
        self.account.finish(copies);
        Ok(Status::EMPTY)
    }
}

impl Process {
    /// Returns the account that `MPI_Buffer_attach` attaches to.
    #[must_use]
    pub fn buffer(&self) -> AttachedBuffer {
        self.buffered.clone()
    }

    /// `MPI_Buffer_attach`: attaches a buffer of this size.
    ///
    /// # Errors
    /// When a buffer is attached already.
    pub fn attach_buffer(&self, bytes: usize) -> Result<()> {
        self.alive(&Operation::plain("MPI_Buffer_attach"))?;
        self.buffered.attach(bytes)
    }

    /// `MPI_Buffer_detach`: waits until all its messages have been sent, and returns its size.
    ///
    /// # Errors
    /// When no buffer is attached.
    #[track_caller]
    pub fn detach_buffer(&self) -> Result<usize> {
        self.alive(&Operation::plain("MPI_Buffer_detach"))?;
        self.buffered.detach()
    }

    /// `MPI_Buffer_flush`: returns when all messages from the buffer have been sent.
    ///
    /// # Errors
    /// After `MPI_Finalize`.
    #[track_caller]
    pub fn flush_buffer(&self) -> Result<()> {
        self.alive(&Operation::plain("MPI_Buffer_flush"))?;
        self.buffered.flush();
        Ok(())
    }
}

impl Comm {
    /// Returns the account that `MPI_Comm_attach_buffer` attaches to.
    #[must_use]
    pub fn buffer(&self) -> AttachedBuffer {
        self.0.properties.buffer.clone()
    }

    /// Returns the buffer that messages take their space from.
    fn buffer_in_use(&self) -> AttachedBuffer {
        let (own, session) = (
            &self.0.properties.buffer,
            self.0.properties.session_buffer.get(),
        );
        let first = [Some(own), session].into_iter().flatten();
        let attached = first.into_iter().find(|buffer| buffer.is_attached());
        attached.unwrap_or(&self.process().buffered).clone()
    }

    pub(super) fn post_buffered(
        &self,
        call: MessageCall,
        recorded: RecordedOperation,
        data: &Buffer,
        to: i32,
        tag: i32,
        site: Site,
    ) -> Result<Request> {
        let operation = Operation::message(call.name, data.bytes(), Peer::To(to), tag);
        self.usable(&operation)?;
        let piece = data.piece(&operation)?;
        if self.process().must_check_use() {
            let memory = UsedMemory::reads(piece.clone(), data.datatype().size());
            self.check_use(&operation, &memory, site)?;
        }
        let len = piece.len();
        let buffer = self.buffer_in_use();
        self.process().register_buffer(&buffer);
        let mut state = buffer.0.lock();
        state.reap();
        let (attached, used) = (state.attached.unwrap_or(0), state.used);
        if len > attached.saturating_sub(used) {
            let reason = format!(
                "{used} of the {attached} bytes attached as buffer are in use (MPI_Buffer_attach)"
            );
            return Err(operation.error(ErrorClass::Buffer, reason));
        }
        let mut bytes = vec![0_u8; len];
        gather(&piece, 0, &mut bytes);
        // SAFETY: the copy is kept, and not written, until the send is complete.
        let copy = unsafe { Buffer::read_only(bytes.as_ptr(), len, Datatype::Byte) };
        // The call returns before its message is sent.
        let told = RecordedOperation::part(recorded.begun);
        let request = self.post_send_at(call, told, (&copy, data), (to, tag), site)?;
        state.used += len;
        state
            .under_way
            .push(Box::new(CopiedSend { request, bytes }));
        Ok(Request::done(Ok(Status::EMPTY), len as u64, self, recorded))
    }

    /// `MPI_Bsend`.
    ///
    /// # Errors
    /// When an argument is wrong, or the attached buffer has no room for the message.
    #[track_caller]
    pub fn bsend(&self, data: Buffer, to: i32, tag: i32) -> Result<()> {
        let call = (BSEND.primitive, CallTiming::Waits);
        let operation = Operation::message(BSEND.name, data.bytes(), Peer::To(to), tag);
        let site = Site::here();
        self.record_call(call, &operation, |begun| {
            let told = RecordedOperation::part(begun);
            let mut posted = self.post_buffered(BSEND, told, &data, to, tag, site)?;
            posted.wait_unrecorded().map(|_| ())
        })
    }

    /// `MPI_Ibsend`: complete when it returns, as far as `data` is concerned.
    ///
    /// # Errors
    /// As [`bsend`](Self::bsend).
    #[track_caller]
    pub fn ibsend(&self, data: Buffer, to: i32, tag: i32) -> Result<Request> {
        let call = (IBSEND.primitive, CallTiming::Starts);
        let operation = Operation::message(IBSEND.name, data.bytes(), Peer::To(to), tag);
        let site = Site::here();
        self.record_call(call, &operation, |begun| {
            let told = RecordedOperation::started(begun, IBSEND.primitive);
            self.post_buffered(IBSEND, told, &data, to, tag, site)
        })
    }
}
