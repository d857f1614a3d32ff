//! A rank's part in collectives of a communicator that it has called with wrong arguments. The
//! program does not wait for these requests, and a context in which they are not complete is not
//! closed.

use crate::bcs::{Endpoint, Request};
use bcs_core::lockstep;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

/// The requests that this rank has posted for them, and what may be left of them.
#[derive(Debug, Default)]
pub(in crate::mpi) struct InvalidCalls {
    posted: Mutex<Vec<Request>>,
    /// Whether messages may stay that no rank receives, and receives to which no rank sends.
    leave_messages: AtomicBool,
}

impl InvalidCalls {
    /// Records a part, which the endpoint takes when it is complete. The communicator may never be
    /// freed, and the program has no such request. Completed parts are forgotten.
    pub(in crate::mpi) fn add(&self, endpoint: &Endpoint, request: Request) {
        endpoint.forget_invalid(request);
        let mut posted = lockstep::lock(&self.posted);
        posted.push(request);
        endpoint.retain_invalid(&mut posted);
    }

    /// Records a part whose messages may stay.
    pub(in crate::mpi) fn add_endless(&self, endpoint: &Endpoint, request: Request) {
        self.leave_messages.store(true, Ordering::Relaxed);
        endpoint.forget_invalid(request);
    }

    /// Returns whether all parts are complete, and nothing stays in the context. Otherwise its id
    /// must not be used again: this rank does not wait for members that may never call the same.
    pub(in crate::mpi) fn are_over(self, endpoint: &Endpoint) -> bool {
        let mut posted = lockstep::lock(&self.posted);
        endpoint.retain_invalid(&mut posted);
        posted.is_empty() && !self.leave_messages.load(Ordering::Relaxed)
    }
}
