//! Messages on borrowed buffers, in a [scope](super::scope).
#![expect(unsafe_code, reason = "hands slices to the untyped core by address")]

use super::communicator::Communicator;
use super::equivalence::{Equivalence, read};
use super::matching::{Destination, Source, Status, Tag};
use super::scope::{BorrowedSlice, LentSlice, Scope, ScopedRequest};
use crate::mpi::Result;

/// A send in progress in a scope.
#[derive(Debug)]
pub struct SendRequest<'scope, 'env: 'scope>(pub(super) ScopedRequest<'scope, 'env>);

/// A receive in progress in a scope. [`wait`](Self::wait) returns the slice.
#[derive(Debug)]
pub struct ReceiveRequest<'scope, 'env: 'scope, T: Equivalence>(
    pub(super) LentSlice<'scope, 'env, T>,
);

/// Defines the calls that start sends. They differ in when a send is done.
macro_rules! sends {
    ($($(#[doc = $text:literal])* $call:ident;)*) => {
        impl Communicator {
            $(
                $(#[doc = $text])*
                ///
                /// # Errors
                /// When an argument is wrong.
                #[inline(always)]
                #[track_caller]
                pub fn $call<'scope, 'env, T: Equivalence>(
                    &self,
                    scope: &'scope Scope<'scope, 'env>,
                    data: &'env [T],
                    to: impl Into<Destination>,
                    tag: i32,
                ) -> Result<SendRequest<'scope, 'env>> {
                    // SAFETY: borrowed for longer than the scope, which waits for the request.
                    let data = unsafe { read(data) };
                    let request = self.untyped().$call(data, to.into().rank(), tag)?;
                    Ok(SendRequest(scope.add(request, None)))
                }
            )*
        }
    };
}

sends! {
    /// Starts to send a slice. (`MPI_Isend`)
    isend;

    /// Starts to send a slice; it is done when the receive was matched. (`MPI_Issend`)
    issend;

    /// Starts to send a slice whose receive is posted already. (`MPI_Irsend`)
    irsend;
}

impl Communicator {
    /// Starts to receive into a slice. (`MPI_Irecv`)
    ///
    /// # Errors
    /// When an argument is wrong.
    // Inlined, so that an unused handle costs nothing.
    #[inline(always)]
    #[track_caller]
    pub fn irecv<'scope, 'env, T: Equivalence>(
        &self,
        scope: &'scope Scope<'scope, 'env>,
        data: &'env mut [T],
        from: impl Into<Source>,
        tag: impl Into<Tag>,
    ) -> Result<ReceiveRequest<'scope, 'env, T>> {
        let (slice, comm) = (BorrowedSlice::new(data), self.untyped());
        // SAFETY: the scope gets the request.
        let buffer = unsafe { slice.buffer() };
        let request = comm.irecv(buffer, from.into().rank(), tag.into().tag())?;
        Ok(ReceiveRequest(slice.lent(scope, request)))
    }
}

impl SendRequest<'_, '_> {
    /// Waits until the slice may be used again. (`MPI_Wait`)
    ///
    /// # Errors
    /// When it failed.
    #[track_caller]
    pub fn wait(mut self) -> Result<()> {
        self.0.wait().map(|_| ())
    }

    /// Returns whether it is done. (`MPI_Test`)
    ///
    /// # Errors
    /// When it failed.
    #[track_caller]
    pub fn test(&mut self) -> Result<bool> {
        self.0.test()
    }
}

impl<'env, T: Equivalence> ReceiveRequest<'_, 'env, T> {
    /// Waits until the message has come, and returns the slice. (`MPI_Wait`)
    ///
    /// # Errors
    /// When it failed.
    #[track_caller]
    pub fn wait(self) -> Result<(&'env mut [T], Status)> {
        self.0.wait()
    }

    /// Returns whether the message has come. If so, [`wait`](Self::wait) does not wait.
    /// (`MPI_Test`)
    ///
    /// # Errors
    /// When it failed.
    #[track_caller]
    pub fn test(&mut self) -> Result<bool> {
        self.0.ticket.test()
    }

    /// Requests to cancel it. It must still be waited for. (`MPI_Cancel`)
    pub fn cancel(&self) {
        self.0.ticket.cancel();
    }
}
