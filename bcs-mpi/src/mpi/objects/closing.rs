//! Contexts that a rank uses no more.

use super::context_ids::Family;
use crate::bcs::{self, Blocking};
use bcs_core::request::Failure;
use std::sync::Arc;

/// A context that a rank has closed, as soon as its NIC has.
#[derive(Debug)]
pub(in crate::mpi) struct Closing {
    pub(in crate::mpi) request: bcs::Request,
    pub(in crate::mpi) context: u32,
    pub(in crate::mpi) origin: Arc<Family>,
}

impl Closing {
    /// Waits until the NIC has closed it; then the id is free as far as this rank is concerned.
    pub(in crate::mpi) fn finish(self, endpoint: &bcs::Endpoint) {
        let outcome = endpoint.bcs_test(Blocking::Yes, self.request);
        if outcome.is_some_and(|outcome| outcome.failure == Failure::None) {
            self.origin.give_back(self.context);
        }
    }
}
