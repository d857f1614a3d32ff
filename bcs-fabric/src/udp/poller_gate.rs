//! Which OS thread polls for datagrams: the one that waits for them, or others that are awake
//! anyway.
//!
//! A wake costs more than all the work for a short message. So a thread that polls spares the
//! waiting thread its wakes: that one rests, and goes back to the socket when no thread polls any
//! more. Datagrams that come in between stay in the socket, where the waiting thread finds them.

use bcs_core::clock::now_ns;
use bcs_core::wake::bell::{self, KernelFutex};
use std::sync::atomic::{AtomicU32, Ordering};

/// The gate between the waiting thread and the polling threads.
#[derive(Debug, Default)]
pub(super) struct PollerGate {
    /// The number of threads that poll.
    lookouts: AtomicU32,
    /// The bell of the waiting thread, while it rests.
    bell: AtomicU32,
}

impl PollerGate {
    /// Registers a thread that polls.
    pub(super) fn enter(&self) {
        self.lookouts.fetch_add(1, Ordering::SeqCst);
    }

    /// Removes a thread that polls. Returns whether it was the last one.
    pub(super) fn leave(&self) -> bool {
        self.lookouts.fetch_sub(1, Ordering::SeqCst) == 1
    }

    /// Returns whether no thread polls.
    pub(super) fn is_free(&self) -> bool {
        self.lookouts.load(Ordering::SeqCst) == 0
    }

    /// Waits while a thread polls, for at most `most_ns`. Returns whether no thread polls.
    pub(super) fn rest(&self, most_ns: u64) -> bool {
        if self.is_free() {
            return true;
        }
        let until_ns = now_ns().saturating_add(most_ns);
        bell::sleep(&self.bell, &KernelFutex, Some(until_ns), || self.is_free());
        self.is_free()
    }

    /// Ends the rest of the waiting thread.
    pub(super) fn wake(&self) {
        bell::ring(&self.bell, &KernelFutex, || ());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_waits_rests_while_somebody_looks_out() {
        let desk = PollerGate::default();
        assert!(desk.rest(0), "nobody looks out");
        desk.enter();
        desk.enter();
        assert!(!desk.rest(0));
        assert!(!desk.leave());
        assert!(!desk.rest(0));
        std::thread::scope(|scope| {
            let resting = scope.spawn(|| desk.rest(u64::MAX));
            assert!(desk.leave());
            desk.wake();
            assert!(resting.join().unwrap(), "the last one has said so");
        });
    }
}
