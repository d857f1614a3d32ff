//! The lock of a rank's memory for updates that no atomic operation does ([`crate::one_sided`]).
//!
//! Ranks of the node take it for the time of an update, and wait for it awake. The NIC of the node
//! does not wait: it asks for the lock, and goes on. The rank that gives the lock back then rings
//! the NIC ([`UpdateLock::give_back`]). Without that ring the NIC would not look again, because
//! between slices it sleeps.

use std::sync::atomic::{AtomicU32, Ordering};

/// How often a rank looks at the lock before it gives its core away. The holder needs less than a
/// microsecond, unless it has lost its core.
const LOOKS: u32 = 64;

const FREE: u32 = 0;
const HELD: u32 = 1;
/// Held, and the NIC has asked for it.
const ASKED_FOR: u32 = 2;

/// The lock, held. It is free again when this is dropped.
///
/// A process that ends while it holds the lock ends its job, and so the waits for it.
#[derive(Debug)]
pub struct UpdateLock<'a>(&'a AtomicU32);

impl<'a> UpdateLock<'a> {
    fn try_take(word: &'a AtomicU32) -> Option<Self> {
        let taken = word.compare_exchange(FREE, HELD, Ordering::Acquire, Ordering::Relaxed); // UPDATED
        // Only who has taken the lock may make and drop a value of this type.
        taken.is_ok().then(|| Self(word))
    }

    /// Takes the lock whose word this is, if it is free. If it is not, its holder will ring the NIC
    /// whose call this is.
    #[must_use]
    pub fn take_or_ask(word: &'a AtomicU32) -> Option<Self> {
        loop {
            if let Some(lock) = Self::try_take(word) {
                return Some(lock);
            }
            let asked =
                word.compare_exchange(HELD, ASKED_FOR, Ordering::Relaxed, Ordering::Relaxed);
            match asked {
                Ok(_) | Err(ASKED_FOR) => return None,
                Err(_) => {} // It was given back between the two looks.
            }
        }
    }

    /// Takes the lock whose word this is. `pause` gives the core away.
    pub fn take(word: &'a AtomicU32, pause: impl Fn()) -> Self {
        let mut looks = 0;
        loop {
            if let Some(lock) = Self::try_take(word) {
                return lock;
            }
            looks += 1;
            if looks % LOOKS == 0 {
                pause();
            } else {
                std::hint::spin_loop();
            }
        }
    }

    /// Returns whether the NIC has asked for it.
    #[must_use]
    pub fn is_asked_for(&self) -> bool {
        self.0.load(Ordering::Relaxed) == ASKED_FOR
    }

    /// Gives the lock back. Returns whether the NIC has asked for it: the caller has to ring it.
    #[must_use]
    pub fn give_back(self) -> bool {
        let asked = self.free() == ASKED_FOR;
        std::mem::forget(self);
        asked
    }

    fn free(&self) -> u32 {
        // UPDATED: who takes the lock next sees what its last holder has written.
        self.0.swap(FREE, Ordering::Release)
    }
}

impl Drop for UpdateLock<'_> {
    fn drop(&mut self) {
        self.free();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_thread_at_a_time_holds_it() {
        let word = AtomicU32::new(FREE);
        let first = UpdateLock::try_take(&word).unwrap();
        for _ in 0..2 {
            let second = UpdateLock::try_take(&word);
            assert!(second.is_none(), "who fails to take it does not free it");
        }
        drop(first);
        let total = AtomicU32::new(0);
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    for _ in 0..10_000 {
                        let held = UpdateLock::take(&word, std::thread::yield_now);
                        let before = total.load(Ordering::Relaxed);
                        total.store(before + 1, Ordering::Relaxed);
                        drop(held);
                    }
                });
            }
        });
        assert_eq!(total.load(Ordering::Relaxed), 30_000);
    }

    #[test]
    fn who_gives_it_back_learns_that_the_nic_has_asked() {
        let word = AtomicU32::new(FREE);
        let held = UpdateLock::take(&word, || ());
        assert!(!held.give_back());
        let held = UpdateLock::take(&word, || ());
        for _ in 0..2 {
            assert!(UpdateLock::take_or_ask(&word).is_none());
        }
        assert!(UpdateLock::try_take(&word).is_none());
        assert!(held.is_asked_for());
        assert!(held.give_back());
        let of_nic = UpdateLock::take_or_ask(&word).unwrap();
        drop(of_nic);
        let held = UpdateLock::take(&word, || ());
        assert!(!held.give_back(), "it asks anew each time");
    }
}
