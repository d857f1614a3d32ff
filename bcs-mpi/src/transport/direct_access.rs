//! The memory that this rank reaches by itself: that of the ranks of its node, and its own.

use super::one_sided::{OneSided, OneSidedRefusal};
use super::smartmap::LocalOneSided;

/// Access to the memory of ranks that are reached directly. It needs no state of the endpoint, so
/// threads use it at the same time, without the endpoint's lock.
#[derive(Clone, Debug, Default)]
pub(crate) struct DirectAccess(Option<LocalOneSided>);

impl DirectAccess {
    pub(super) fn new(local: Option<LocalOneSided>) -> Self {
        Self(local)
    }

    /// Executes an operation at once, including its result. Returns `None` if the target's memory
    /// cannot be reached directly. Then a NIC has to do it.
    #[inline]
    pub(crate) fn execute(&self, operation: &OneSided) -> Option<Result<(), OneSidedRefusal>> {
        self.0.as_ref()?.execute(operation)
    }
}
