//! The end of a communicator (MPI 5.0, 7.4.3).

use super::context_ids::Family;
use super::error::{ErrorClass, Operation};
use super::{Comm, Result};
use crate::bcs::{self, Blocking};
use bcs_core::request::Failure;
use std::sync::Arc;
use std::sync::atomic::Ordering;

impl Comm {
    /// `MPI_Comm_free`: no handle of this communicator can be used any more. What was started on
    /// it goes on. Its attributes are deleted. (Dropping the last handle does the same, but then the
    /// functions that delete attributes are not called: they want a handle.)
    ///
    /// # Errors
    /// When it is the world, or was freed, or a function that deletes an attribute fails.
    pub fn free(&self) -> Result<()> {
        let operation = Operation::plain("MPI_Comm_free");
        self.usable(operation)?;
        if self.0.context == 0 {
            return Err(operation.error(ErrorClass::Comm, "the world cannot be freed"));
        }
        self.delete_attributes()?;
        self.0.freed.store(true, Ordering::Relaxed);
        Ok(())
    }
}

/// A context that a rank has closed, as soon as its NIC has.
#[derive(Debug)]
pub(super) struct Closing {
    pub(super) request: bcs::Request,
    pub(super) context: u32,
    pub(super) origin: Arc<Family>,
}

impl Closing {
    /// Waits until the NIC has closed it; then the id is free as far as this rank is concerned.
    pub(super) fn finish(self, endpoint: &bcs::Endpoint) {
        let outcome = endpoint.bcs_test(Blocking::Yes, self.request);
        if outcome.is_some_and(|outcome| outcome.failure == Failure::None) {
            self.origin.give_back(self.context);
        }
    }
}
