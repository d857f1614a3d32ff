//! A rank's part in collectives of a communicator that it has called with wrong arguments: nobody asks for these requests,
//! and a context in which they are not over is not closed.

use crate::bcs::{Blocking, Endpoint, Request};
use bcs_core::lockstep;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

/// What this rank has posted for them, and what may be left of it.
#[derive(Debug, Default)]
pub(in crate::mpi) struct InvalidCalls {
    posted: Mutex<Vec<Request>>,
    /// Messages of theirs may stay that nobody receives, and receives to which nobody sends.
    leave_messages: AtomicBool,
}

impl InvalidCalls {
    /// Takes note of a part. Those that are over are forgotten.
    pub(in crate::mpi) fn add(&self, endpoint: &Endpoint, request: Request) {
        let mut posted = lockstep::lock(&self.posted);
        posted.retain(|&earlier| endpoint.bcs_test(Blocking::No, earlier).is_none());
        posted.push(request);
    }

    /// Takes note of a part of which messages may stay.
    pub(in crate::mpi) fn add_endless(&self, endpoint: &Endpoint, request: Request) {
        self.leave_messages.store(true, Ordering::Relaxed);
        endpoint.forget_invalid(request);
    }

    /// Whether all of it is over, and nothing stays in the context. Otherwise its id must not be used again: nobody waits
    /// here for members that may never call what this rank has called.
    pub(in crate::mpi) fn are_over(self, endpoint: &Endpoint) -> bool {
        let mut over = !self.leave_messages.into_inner();
        for &request in &*lockstep::lock(&self.posted) {
            if endpoint.bcs_test(Blocking::No, request).is_none() {
                endpoint.forget_invalid(request);
                over = false;
            }
        }
        over
    }
}
