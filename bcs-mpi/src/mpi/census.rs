//! How many objects of a kind there are: what a program has not freed when it finalizes.
//!
//! Of the process, and not of its rank, since some kinds are made without one; these are the same but in tests.

use bcs_core::whereabouts::Object;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

static ALIVE: [AtomicU32; Object::ALL.len()] = [const { AtomicU32::new(0) }; Object::ALL.len()];

/// An object counts while this lives.
#[derive(Debug)]
pub(super) struct Alive {
    object: Object,
    counts: AtomicBool,
}

impl Alive {
    pub(super) fn new(object: Object) -> Self {
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

impl Drop for Alive {
    fn drop(&mut self) {
        self.stays();
    }
}

/// How many there are.
pub(super) fn alive(object: Object) -> u32 {
    ALIVE[object as usize].load(Ordering::Relaxed)
}
