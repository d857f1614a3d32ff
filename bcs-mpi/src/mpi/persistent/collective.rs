//! Persistent collectives (MPI 5.0, 6.13; 8.8 for those among neighbours).
//!
//! A start posts the non-blocking collective of the same arguments. The difficulty is which starts
//! belong together. The ranks call the inits in one order, but may start the requests in any order,
//! and each rank in another one (MPI 5.0, 6.13). But NICs and schedules number the collectives of a
//! context in the order of their posts. So each persistent collective has a **context of its own**.
//! The init, which may synchronise (it is not local), agrees on it. There the n-th start of a rank
//! belongs to the n-th start of the others, whatever is started elsewhere.
//!
//! Separate tags or sequence numbers in the communicator's own context would save the agreement.
//! They would do for collectives that are made of messages. But a NIC publishes the arrivals at a
//! context as one number: barriers, broadcasts and reductions in several orders at a time need
//! several numbers, and thus several contexts. The price is that there are only
//! [`MAX_CONTEXTS`](bcs_core::limits::MAX_CONTEXTS) of them. Freeing the request (dropping it)
//! gives the context back as freeing a communicator does.
//!
//! Lists of counts, displacements and datatypes are copied by the init.

use crate::mpi::error::Result;
use crate::mpi::{Comm, Request};
use crate::recording::CallStart;
use std::fmt;

/// A function that begins a collective.
type Post = dyn Fn(&Comm, CallStart) -> Result<Request>;

/// A collective that can be started again and again, on a communicator of its own.
pub(super) struct CollectiveTemplate {
    /// The name of the call that made it.
    pub(super) init: &'static str,
    pub(super) comm: Comm,
    /// Starts the non-blocking collective. The caller must keep its promises.
    pub(super) post: Box<Post>,
    /// The name of a start in errors.
    pub(super) start: &'static str,
}

impl fmt::Debug for CollectiveTemplate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Collective")
            .field("init", &self.init)
            .field("comm", &self.comm)
            .finish_non_exhaustive()
    }
}

impl CollectiveTemplate {
    pub(super) fn post(&self, begun: CallStart) -> Result<Request> {
        let posted = (self.post)(&self.comm, begun).map_err(|mut error| {
            error.operation.call = self.start;
            error
        });
        Ok(posted?.named(self.start))
    }
}
