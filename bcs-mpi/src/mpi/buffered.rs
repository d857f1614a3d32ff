//! Buffered sends (MPI 5.0, 3.4 and 3.6): done at once, from a copy in a buffer of known size.
//!
//! The buffer that a program attaches is an account, not memory: each message is copied to memory
//! of its own until its send is complete, and a send that would overdraw the account is an error,
//! as the standard says. So the order in which messages complete cannot fragment anything.
#![expect(unsafe_code, reason = "buffers are named by address")]

use super::error::{ErrorClass, Operation, Peer};
use super::point_to_point::Call;
use super::{Buffer, Comm, Error, Process, Request, Result};
use crate::bcs::{SendMode, gather};
use crate::recording::Primitive;
use bcs_core::lockstep;
use bcs_core::reduction::Datatype;
use std::sync::{Mutex, MutexGuard};

/// `MPI_BSEND_OVERHEAD`, with the value of the standard's ABI: what programs are to count for a
/// message beside its bytes. Nothing is taken beside them.
pub const BSEND_OVERHEAD: usize = 512;

const BSEND: Call = Call {
    name: "MPI_Bsend",
    primitive: Primitive::Bsend,
    mode: SendMode::Standard,
};
const IBSEND: Call = Call {
    name: "MPI_Ibsend",
    primitive: Primitive::Ibsend,
    ..BSEND
};

/// A rank's buffered sends.
#[derive(Debug, Default)]
pub(super) struct Account(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    /// Bytes of the attached buffer; `None` if there is none.
    attached: Option<usize>,
    /// Bytes of the copies below.
    used: usize,
    under_way: Vec<Copied>,
    /// The first failure of a send whose caller had gone on: finalize reports it.
    lost: Option<Box<Error>>,
}

/// A send and the copy it sends. The copy is freed when the send is complete and not before.
#[derive(Debug)]
struct Copied {
    request: Request,
    bytes: Vec<u8>,
}

impl State {
    /// Drops the copies of sends that are complete.
    fn reap(&mut self) {
        let Self { used, lost, .. } = self;
        self.under_way.retain_mut(|copied| {
            let outcome = copied.request.silent_test();
            if let Ok(None) = outcome {
                return true;
            }
            *used -= copied.bytes.len();
            *lost = lost.take().or(outcome.err());
            false
        });
    }
}

impl Account {
    fn lock(&self) -> MutexGuard<'_, State> {
        lockstep::lock(&self.0)
    }

    /// How the sends went whose callers had gone on: the first failure, which is told once.
    pub(super) fn lost(&self) -> Result<()> {
        self.lock().lost.take().map_or(Ok(()), Err)
    }

    /// Waits until every copy was sent.
    pub(super) fn flush(&self) {
        // Not under the lock: another thread may have to receive or send meanwhile.
        let mut under_way = std::mem::take(&mut self.lock().under_way);
        for mut copied in under_way.drain(..) {
            let failed = copied.request.silent().err();
            let mut state = self.lock();
            state.used -= copied.bytes.len();
            state.lost = state.lost.take().or(failed);
        }
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
    pub fn detach_buffer(&self) -> Result<usize> {
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
    pub fn flush_buffer(&self) -> Result<()> {
        self.alive(Operation::plain("MPI_Buffer_flush"))?;
        self.buffered().flush();
        Ok(())
    }
}

impl Comm {
    /// # Safety
    /// As for [`bsend`](Self::bsend).
    pub(super) unsafe fn post_buffered(
        &self,
        call: Call,
        data: &Buffer,
        to: i32,
        tag: i32,
    ) -> Result<Request> {
        let operation = Operation {
            call: call.name,
            bytes: data.bytes().map(|bytes| bytes as u64),
            peer: Some(Peer::To(to)),
            tag: Some(tag),
        };
        let begun = (self.process().recording().begin(), call.primitive);
        self.usable(operation)?;
        let piece = data.piece(operation)?;
        let len = piece.len;
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
        // SAFETY: the caller's promise.
        unsafe { gather(&piece, 0, &mut bytes) };
        let copy = Buffer::read_only(bytes.as_ptr(), len, Datatype::Byte);
        // SAFETY: the copy is kept, and not written, until the send is complete.
        let request = unsafe { self.post_send(call, &copy, to, tag) }?;
        state.used += len;
        state.under_way.push(Copied { request, bytes });
        Ok(Request::done(Ok(super::Status::EMPTY), 0, self, begun))
    }

    /// `MPI_Bsend`.
    ///
    /// # Safety
    /// `data` is initialised, and nobody writes it during the call.
    ///
    /// # Errors
    /// When an argument is wrong, or the attached buffer has no room for the message.
    pub unsafe fn bsend(&self, data: Buffer, to: i32, tag: i32) -> Result<()> {
        let bytes = data.bytes().unwrap_or(0) as u64;
        // SAFETY: the caller's promise.
        let post = || unsafe { self.post_buffered(BSEND, &data, to, tag) };
        self.process()
            .recording()
            .blocking(BSEND.primitive, bytes, || post()?.silent().map(|_| ()))
    }

    /// `MPI_Ibsend`: complete when it returns, as far as `data` is concerned.
    ///
    /// # Safety
    /// As for [`bsend`](Self::bsend).
    ///
    /// # Errors
    /// As [`bsend`](Self::bsend).
    pub unsafe fn ibsend(&self, data: Buffer, to: i32, tag: i32) -> Result<Request> {
        // SAFETY: the caller's promise.
        unsafe { self.post_buffered(IBSEND, &data, to, tag) }
    }
}
