//! Contexts that a rank no longer uses.

use super::context_ids::CommFamily;
use crate::bcs::{self, Blocking};
use bcs_core::request::RequestFailure;
use std::sync::Arc;

/// A context that a rank has closed and its NIC is closing.
#[derive(Debug)]
pub(in crate::mpi) struct ClosingContext {
    pub(in crate::mpi) request: bcs::Request,
    pub(in crate::mpi) context: u32,
    pub(in crate::mpi) origin: Arc<CommFamily>,
}

impl ClosingContext {
    /// Waits until the NIC has closed it. Then the id is free as far as this rank is concerned.
    pub(in crate::mpi) fn finish(self, endpoint: &bcs::Endpoint) {
        let outcome = endpoint.bcs_test(Blocking::Yes, self.request);
        self.came_to(outcome);
    }

    /// Does the same if it is closed; else returns it.
    pub(in crate::mpi) fn finish_if_closed(self, endpoint: &bcs::Endpoint) -> Option<Self> {
        let outcome = endpoint.bcs_test(Blocking::No, self.request);
        if outcome.is_none() {
            return Some(self);
        }
        self.came_to(outcome);
        None
    }

    fn came_to(self, outcome: Option<bcs::RequestOutcome>) {
        if outcome.is_some_and(|outcome| outcome.failure == RequestFailure::None) {
            self.origin.give_back(self.context);
        }
    }
}
