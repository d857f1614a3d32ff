//! The lock of a rank's memory for updates that no atomic operation does ([`crate::one_sided`]).

use std::sync::atomic::{AtomicU32, Ordering};

/// How often a rank looks at the lock before it gives its core away. The holder needs less than a
/// microsecond, unless it has lost its core.
const LOOKS: u32 = 64;

/// The lock, held. It is free again when this is dropped.
///
/// A process that ends while it holds the lock ends its job, and so the waits for it.
#[derive(Debug)]
pub struct UpdateLock<'a>(&'a AtomicU32);

impl<'a> UpdateLock<'a> {
    /// Takes the lock whose word this is, if it is free. A NIC does not wait for it: it tries again
    /// later.
    #[must_use]
    pub fn try_take(word: &'a AtomicU32) -> Option<Self> {
        let taken = word.compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed); // UPDATED
        // Only who has taken the lock may make and drop a value of this type.
        taken.is_ok().then(|| Self(word))
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
}

impl Drop for UpdateLock<'_> {
    fn drop(&mut self) {
        // UPDATED: who takes the lock next sees what its last holder has written.
        self.0.store(0, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_thread_at_a_time_holds_it() {
        let word = AtomicU32::new(0);
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
}
