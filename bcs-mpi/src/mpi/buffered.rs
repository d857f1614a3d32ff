//! Buffered sends (MPI 5.0, 3.4 and 3.6): done at once, from a copy in a buffer of known size.
//!
//! The buffer that a program attaches is an account, not memory: each message is copied to memory
//! of its own until its send is complete, and a send that would overdraw the account is an error,
//! as the standard says. So the order in which messages complete cannot fragment anything.
#![expect(unsafe_code, reason = "buffers are named by address")]

use super::error::{ErrorClass, Operation, Peer, Result};
use super::objects::account::BufferedSend;
use super::point_to_point::Call;
use super::{Buffer, Comm, Process, Request, Status};
use crate::bcs::gather;
use crate::call_site;
use crate::recording::{Manner, Primitive, Recorded, Site};
use bcs_core::reduction::Datatype;

/// `MPI_BSEND_OVERHEAD`, with the value of the standard's ABI: what programs are to count for a
/// message beside its bytes. Nothing is taken beside them.
pub const BSEND_OVERHEAD: usize = 512;

const BSEND: Call = Call::standard("MPI_Bsend", Primitive::Bsend);
const IBSEND: Call = Call::standard("MPI_Ibsend", Primitive::Ibsend);

/// A request and its copy.
#[derive(Debug)]
struct Copied {
    request: Request,
    bytes: Vec<u8>,
}

impl BufferedSend for Copied {
    fn len(&self) -> usize {
        self.bytes.len()
    }

    fn test(&mut self) -> Option<Result<()>> {
        let outcome = self.request.silent_test().transpose();
        outcome.map(|outcome| outcome.map(|_| ()))
    }

    fn wait(&mut self) -> Result<()> {
        self.request.silent().map(|_| ())
    }
}

impl Process {
    /// `MPI_Buffer_attach`, of so many bytes.
    ///
    /// # Errors
    /// When a buffer is attached already.
    pub fn attach_buffer(&self, bytes: usize) -> Result<()> {
        let operation = Operation::plain("MPI_Buffer_attach");
        self.alive(operation)?;
        let mut state = self.buffered().lock();
        if let Some(attached) = state.attached {
            let reason = format!("a buffer of {attached} bytes is attached: detach it first");
            return Err(operation.error(ErrorClass::Buffer, reason));
        }
        state.attached = Some(bytes);
        Ok(())
    }

    /// `MPI_Buffer_detach`: returns its size, when all that was sent from it has been sent.
    ///
    /// # Errors
    /// When no buffer is attached.
    #[track_caller]
    pub fn detach_buffer(&self) -> Result<usize> {
        let _at = call_site::at(Site::here());
        let operation = Operation::plain("MPI_Buffer_detach");
        self.alive(operation)?;
        let attached = self.buffered().lock().attached.take();
        let Some(attached) = attached else {
            return Err(operation.error(ErrorClass::Buffer, "no buffer is attached"));
        };
        self.buffered().flush();
        Ok(attached)
    }

    /// `MPI_Buffer_flush`: returns when all that was sent from the buffer has been sent.
    ///
    /// # Errors
    /// After `MPI_Finalize`.
    #[track_caller]
    pub fn flush_buffer(&self) -> Result<()> {
        let _at = call_site::at(Site::here());
        self.alive(Operation::plain("MPI_Buffer_flush"))?;
        self.buffered().flush();
        Ok(())
    }
}

impl Comm {
    pub(super) fn post_buffered(
        &self,
        call: Call,
        recorded: Recorded,
        data: &Buffer,
        to: i32,
        tag: i32,
    ) -> Result<Request> {
        let operation = Operation::message(call.name, data.bytes(), Peer::To(to), tag);
        self.usable(operation)?;
        let piece = data.piece(operation)?;
        let len = piece.len();
        let mut state = self.process().buffered().lock();
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
        // The call is over before its message is.
        let told = Recorded::part(recorded.begun);
        let request = self.post_send(call, told, &copy, to, tag)?;
        state.used += len;
        state.under_way.push(Box::new(Copied { request, bytes }));
        Ok(Request::done(Ok(Status::EMPTY), len as u64, self, recorded))
    }

    /// `MPI_Bsend`.
    ///
    /// # Errors
    /// When an argument is wrong, or the attached buffer has no room for the message.
    #[track_caller]
    pub fn bsend(&self, data: Buffer, to: i32, tag: i32) -> Result<()> {
        let call = (BSEND.primitive, Manner::Waits);
        let operation = Operation::message(BSEND.name, data.bytes(), Peer::To(to), tag);
        self.recorded(call, &operation, |begun| {
            let told = Recorded::part(begun);
            let mut posted = self.post_buffered(BSEND, told, &data, to, tag)?;
            posted.silent().map(|_| ())
        })
    }

    /// `MPI_Ibsend`: complete when it returns, as far as `data` is concerned.
    ///
    /// # Errors
    /// As [`bsend`](Self::bsend).
    #[track_caller]
    pub fn ibsend(&self, data: Buffer, to: i32, tag: i32) -> Result<Request> {
        let call = (IBSEND.primitive, Manner::Starts);
        let operation = Operation::message(IBSEND.name, data.bytes(), Peer::To(to), tag);
        self.recorded(call, &operation, |begun| {
            let told = Recorded::started(begun, IBSEND.primitive);
            self.post_buffered(IBSEND, told, &data, to, tag)
        })
    }
}
