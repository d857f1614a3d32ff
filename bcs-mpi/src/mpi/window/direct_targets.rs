//! The targets at which operations end at once.

use std::sync::atomic::{AtomicU8, AtomicU64};

/// Nothing is known of a target's memory.
pub(super) const UNKNOWN: u8 = 0;
/// It is not mapped here, or calls are recorded or checked.
pub(super) const FAR: u8 = 1;
/// It is mapped here.
pub(super) const MAPPED: u8 = 2;
/// It lies in the target's slot, too, so its elements are updated by the processor's atomics.
pub(super) const IN_SLOT: u8 = 3;

/// The word of a target that was never open: no epoch has this number.
pub(super) const CLOSED: u64 = u64::MAX;

/// The targets of a window, as far as operations may end at once there.
#[derive(Debug)]
pub(super) struct DirectTargets {
    pub(super) memory: Box<[AtomicU8]>,
    /// The number of the epoch in which each is open, and whether it is one of locks.
    pub(super) open: Box<[AtomicU64]>,
    pub(super) flushes: AtomicU64,
}

impl DirectTargets {
    pub(super) fn new(ranks: usize) -> Self {
        Self {
            memory: (0..ranks).map(|_| AtomicU8::new(UNKNOWN)).collect(),
            open: (0..ranks).map(|_| AtomicU64::new(CLOSED)).collect(),
            flushes: AtomicU64::new(0),
        }
    }
}

/// An epoch as a word: its number, and whether it is one of locks.
pub(super) fn epoch_word(number: u64, is_passive: bool) -> u64 {
    number << 1 | u64::from(is_passive)
}
