//! Who looks for datagrams: the OS thread that waits for them, or others that are awake anyway.
//!
//! A wake costs more than all that is done with a short message. So who looks out keeps the one that waits from being woken: that
//! one rests, and goes back to the socket when nobody looks out any more. What comes in between lies in the
//! socket, where it is found.

use bcs_core::clock::now_ns;
use bcs_core::wake::bell::{self, KernelFutex};
use std::sync::atomic::{AtomicU32, Ordering};

/// Where they take turns.
#[derive(Debug, Default)]
pub(super) struct PollerGate {
    /// How many look out.
    lookouts: AtomicU32,
    /// The bell of the one that waits, while it rests.
    bell: AtomicU32,
}

impl PollerGate {
    /// Somebody looks out.
    pub(super) fn enter(&self) {
        self.lookouts.fetch_add(1, Ordering::SeqCst);
    }

    /// Somebody looks out no more. Returns whether that was the last one.
    pub(super) fn leave(&self) -> bool {
        self.lookouts.fetch_sub(1, Ordering::SeqCst) == 1
    }

    /// Whether nobody looks out.
    pub(super) fn is_free(&self) -> bool {
        self.lookouts.load(Ordering::SeqCst) == 0
    }

    /// Waits while somebody looks out: so long at most. Returns whether nobody does.
    pub(super) fn rest(&self, most_ns: u64) -> bool {
        if self.is_free() {
            return true;
        }
        let until_ns = now_ns().saturating_add(most_ns);
        bell::sleep(&self.bell, &KernelFutex, Some(until_ns), || self.is_free());
        self.is_free()
    }

    /// Ends the rest of who waits.
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
