//! Requests that own their buffer.
#![expect(unsafe_code, reason = "hands vectors to the untyped core by address")]

use super::communicator::Communicator;
use super::equivalence::{Equivalence, read, write};
use super::lender::Lender;
use super::matching::{Destination, Source, Status, Tag};
use super::unchecked_memory::settled;
use crate::forked;
use crate::mpi::{self, Result};

/// A send or receive in progress, with its buffer. [`wait`](Self::wait) returns the buffer.
///
/// Forgetting it (`std::mem::forget`) leaks the buffer, so the operation in progress does no harm.
/// Dropping it without a wait ends it first: a receive is cancelled, a send is waited for. If the
/// message is never received, that takes for ever.
#[derive(Debug)]
#[must_use = "dropping a request cancels a receive, and waits for a send"]
pub struct OwnedRequest<T: Equivalence> {
    buffer: Vec<T>,
    request: mpi::Request,
    /// The status that a test returned.
    pub(super) done: Option<Status>,
}

impl Communicator {
    /// Starts to send a vector. (`MPI_Isend`)
    ///
    /// # Errors
    /// When an argument is wrong.
    #[track_caller]
    pub fn isend_owned<T: Equivalence>(
        &self,
        buffer: Vec<T>,
        to: impl Into<Destination>,
        tag: i32,
    ) -> Result<OwnedRequest<T>> {
        // SAFETY: the request owns the vector, touches it only when it is done, and leaks it
        // rather than freeing it before.
        let data = unsafe { read(&buffer) };
        let request = self.untyped().isend(data, to.into().rank(), tag)?;
        Ok(OwnedRequest {
            buffer,
            request,
            done: None,
        })
    }

    /// Starts to receive into a vector, at most as many elements as it has. (`MPI_Irecv`)
    ///
    /// # Errors
    /// When an argument is wrong.
    #[track_caller]
    pub fn irecv_owned<T: Equivalence>(
        &self,
        mut buffer: Vec<T>,
        from: impl Into<Source>,
        tag: impl Into<Tag>,
    ) -> Result<OwnedRequest<T>> {
        // SAFETY: as for sends.
        let data = unsafe { write(&mut buffer) };
        let request = self
            .untyped()
            .irecv(data, from.into().rank(), tag.into().tag())?;
        Ok(OwnedRequest {
            buffer,
            request,
            done: None,
        })
    }
}

impl<T: Equivalence> OwnedRequest<T> {
    /// Waits until it is done and returns the buffer. A receive stores the message at its start;
    /// the length of the vector does not change. (`MPI_Wait`)
    ///
    /// # Errors
    /// When it failed; the buffer is dropped then.
    #[track_caller]
    pub fn wait(mut self) -> Result<(Vec<T>, Status)> {
        let status = match self.done {
            Some(status) => status,
            None => self.request.wait()?.into(),
        };
        self.whole(Ok(status))
    }

    /// Returns the buffer, when the operation has ended with this status.
    pub(super) fn whole(&mut self, status: Result<Status>) -> Result<(Vec<T>, Status)> {
        let slice = &raw mut *self.buffer;
        // SAFETY: it is the request's, which is done.
        let status = unsafe { settled(slice, "MPI_Wait", status) }?;
        Ok((std::mem::take(&mut self.buffer), status))
    }

    /// Returns whether it is done. If so, [`wait`](Self::wait) does not wait. (`MPI_Test`)
    ///
    /// # Errors
    /// When it failed.
    #[track_caller]
    pub fn test(&mut self) -> Result<bool> {
        if self.done.is_none() {
            self.done = self.request.test()?.map(Status::from);
        }
        Ok(self.done.is_some())
    }

    /// Requests to cancel it. It must still be waited for, and its status holds whether it was
    /// cancelled. A receive is if no message was matched, a send if it was not copied and not
    /// matched. (`MPI_Cancel`)
    pub fn cancel(&self) {
        self.request.cancel();
    }
}

impl<T: Equivalence> Lender for OwnedRequest<T> {
    fn is_known(&self) -> bool {
        self.done.is_some()
    }

    fn lend(&mut self) -> mpi::Request {
        std::mem::replace(&mut self.request, mpi::Request::inactive())
    }

    fn give_back(&mut self, request: mpi::Request) {
        self.request = request;
    }
}

impl<T: Equivalence> Drop for OwnedRequest<T> {
    fn drop(&mut self) {
        if self.request.is_active() && !forked::is_child() {
            self.request.cancel_receive();
            let _nobody_asks = self.request.wait();
        }
    }
}
