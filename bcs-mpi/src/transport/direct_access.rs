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

    /// Returns whether bytes of a rank lie in its slot, which is mapped here.
    pub(crate) fn is_in_slot(&self, target: u32, address: u64, len: usize) -> bool {
        let local = self.0.as_ref();
        local.is_some_and(|local| local.is_in_slot(target, address, len))
    }

    /// Returns whether this rank uses bytes of a rank by loads and stores at the same address.
    pub(crate) fn maps(&self, target: u32, address: u64, len: usize) -> bool {
        let local = self.0.as_ref();
        local.is_some_and(|local| local.maps(target, address, len))
    }

    /// Takes the update lock of a rank, calls `held`, and holds the lock until the NIC has asked
    /// for it and `then` has returned.
    #[cfg(test)]
    pub(crate) fn hold_updates(&self, target: u32, held: impl FnOnce(), then: impl FnOnce()) {
        let local = self.0.as_ref().expect("the target is on this node");
        local.hold_updates(target, held, then);
    }
}
