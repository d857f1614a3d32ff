//! Whose turn it is to listen to the bell ([`super::waiting`]).

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex};

/// The thread that listens to the bell.
#[derive(Debug, Default)]
pub(crate) struct ListenerState {
    /// Whether any thread does.
    pub(crate) taken: bool,
    /// Whether others wait until that thread wakes. To wake them is a system call.
    pub(crate) others: bool,
}

/// Whose turn it is to listen to the bell.
#[derive(Debug, Default)]
pub(crate) struct Turn {
    pub(crate) listening: Mutex<ListenerState>,
    pub(crate) passed: Condvar,
    /// Threads that sleep, or are about to.
    pub(crate) sleepers: AtomicU32,
    /// Threads that wait for room, whether or not they have the turn.
    pub(crate) want_room: AtomicU32,
    /// The progress of messages of this node, and of deferred copies, by threads of this rank.
    progressed: AtomicU64,
    /// Descriptors wait for room. It changes only under the endpoint's lock.
    held: AtomicBool,
}

impl Turn {
    /// Records whether descriptors wait for room, before the NIC is requested to ring for room.
    pub(crate) fn set_holding(&self, holds: bool) {
        if self.held.load(Ordering::Relaxed) != holds {
            self.held.store(holds, Ordering::Release);
        }
    }

    /// Records the progress of messages of this node and of deferred copies, by whichever thread.
    /// They may belong to another thread. Returns whether there may be a sleeper to notify.
    pub(crate) fn note(&self, so_far: u64) -> bool {
        if self.progressed.load(Ordering::Relaxed) == so_far {
            return false;
        }
        self.progressed.store(so_far, Ordering::Relaxed);
        // A thread counts as a sleeper before it releases the endpoint's lock, which is held here.
        // So either its poll saw what was taken, or this load sees the thread.
        self.sleepers.load(Ordering::Relaxed) > 0
    }

    /// Returns the progress of messages of this node by threads of this rank.
    pub(crate) fn progressed(&self) -> u64 {
        self.progressed.load(Ordering::Relaxed)
    }

    /// Returns whether descriptors wait for room.
    #[inline]
    pub(crate) fn is_holding(&self) -> bool {
        self.held.load(Ordering::Relaxed)
    }

    pub(crate) fn wants_room(&self) -> bool {
        self.held.load(Ordering::Acquire) || self.want_room.load(Ordering::Acquire) > 0
    }
}
