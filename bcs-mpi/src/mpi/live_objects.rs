//! How many objects of a kind there are: what a program has not freed when it finalizes.
//!
//! Of the process, and not of its rank, since some kinds are made without one; these are the same but in tests.

use bcs_core::wait_state::LeakedObject;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

static ALIVE: [AtomicU32; LeakedObject::ALL.len()] =
    [const { AtomicU32::new(0) }; LeakedObject::ALL.len()];

/// An object counts while this lives.
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

    /// Nobody is to free it.
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

/// How many there are.
pub(super) fn alive(object: LeakedObject) -> u32 {
    ALIVE[object as usize].load(Ordering::Relaxed)
}
