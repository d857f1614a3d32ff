//! Eager payload slots: they hold the bytes of eager sends that do not fit a descriptor (law 3).

use bcs_core::limits::PAYLOAD_SLOTS;

/// The free payload slots. The order is LIFO, so that the slots of a sender that waits now and then
/// stay in cache.
#[derive(Debug)]
pub(super) struct PayloadSlots {
    free: Vec<u32>,
}

impl PayloadSlots {
    pub(super) fn new() -> Self {
        let slots = u32::try_from(PAYLOAD_SLOTS).expect("there are few slots");
        Self {
            free: (0..slots).rev().collect(),
        }
    }

    /// Returns how many are free.
    pub(super) fn free(&self) -> usize {
        self.free.len()
    }

    pub(super) fn take(&mut self) -> Option<u32> {
        self.free.pop()
    }

    pub(super) fn give_back(&mut self, slot: u32) {
        debug_assert!(!self.free.contains(&slot), "payload slot {slot} was taken");
        self.free.push(slot);
    }
}
