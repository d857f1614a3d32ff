//! The number of live objects of each kind: those that a program has not freed when it finalizes.
//!
//! The numbers belong to the process, and not to its rank, since some kinds are made without a
//! rank. Only in tests do the two differ.

use bcs_core::wait_state::LeakedObject;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

static ALIVE: [AtomicU32; LeakedObject::ALL.len()] =
    [const { AtomicU32::new(0) }; LeakedObject::ALL.len()];

/// A guard: an object counts while its guard lives.
#[derive(Debug)]
pub(super) struct LiveObject {
    object: LeakedObject,
    counts: AtomicBool,
}

impl LiveObject {
    pub(super) fn new(object: LeakedObject) -> Self {
        ALIVE[object as usize].fetch_add(1, Ordering::Relaxed);
        let counts = AtomicBool::new(true);
        Self { object, counts }
    }

    /// Stops counting an object that is never freed.
    pub(super) fn stays(&self) {
        if self.counts.swap(false, Ordering::Relaxed) {
            ALIVE[self.object as usize].fetch_sub(1, Ordering::Relaxed);
        }
    }
}

impl Drop for LiveObject {
    fn drop(&mut self) {
        self.stays();
    }
}

/// Returns the number of live objects of a kind.
pub(super) fn alive(object: LeakedObject) -> u32 {
    ALIVE[object as usize].load(Ordering::Relaxed)
}
