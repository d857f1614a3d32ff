//! Who looks for datagrams: the OS thread that waits for them, or others that are awake anyway.
//!
//! A wake costs more than all that is done with a short message. So who looks out keeps the one that waits from being woken: that
//! one rests, and goes back to the socket when nobody looks out any more. What comes in between lies in the
//! socket, where it is found.

use crate::clock::now_ns;
use crate::wake::bell::{self, KernelFutex};
use std::sync::atomic::{AtomicU32, Ordering};

/// Where they take turns.
#[derive(Debug, Default)]
pub(super) struct Desk {
    /// How many look out.
    lookouts: AtomicU32,
    /// The bell of the one that waits, while it rests.
    bell: AtomicU32,
}

/// Somebody looks out, until this is dropped.
#[derive(Debug)]
pub struct Lookout<'a>(&'a Desk);

impl Desk {
    pub(super) fn look_out(&self) -> Lookout<'_> {
        self.lookouts.fetch_add(1, Ordering::Relaxed);
        Lookout(self)
    }

    fn is_free(&self) -> bool {
        self.lookouts.load(Ordering::Relaxed) == 0
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

impl Drop for Lookout<'_> {
    fn drop(&mut self) {
        if self.0.lookouts.fetch_sub(1, Ordering::Relaxed) == 1 {
            self.0.wake(); // WORK
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_waits_rests_while_somebody_looks_out() {
        let desk = Desk::default();
        assert!(desk.rest(0), "nobody looks out");
        let (first, second) = (desk.look_out(), desk.look_out());
        assert!(!desk.rest(0));
        drop(first);
        assert!(!desk.rest(0));
        std::thread::scope(|scope| {
            let resting = scope.spawn(|| desk.rest(u64::MAX));
            drop(second);
            assert!(resting.join().unwrap(), "the last one has said so");
        });
    }
}
