//! The lock of a rank's memory for updates that no atomic operation does ([`crate::one_sided`]).

use super::NodeMemory;
use super::layout::UPDATES;
use std::sync::atomic::{AtomicU32, Ordering};

/// How often a rank looks at the lock before it yields its core. The holder needs less than a
/// microsecond, unless it has lost its core.
const LOOKS: u32 = 64;

/// The lock, held. It is free again when this is dropped.
///
/// A process that ends while it holds the lock ends its job, and so does one that waits for it.
#[derive(Debug)]
pub struct UpdateLock<'a>(&'a AtomicU32);

impl Drop for UpdateLock<'_> {
    fn drop(&mut self) {
        // UPDATED: who takes the lock next sees what its last holder has written.
        self.0.store(0, Ordering::Release);
    }
}

impl NodeMemory {
    /// Takes the lock of the rank at a place, if it is free. A NIC does not wait for it: it tries
    /// again later.
    #[must_use]
    pub fn try_update_lock(&self, place: usize) -> Option<UpdateLock<'_>> {
        let word = self.mapping().word32(self.desk(place) + UPDATES);
        let taken = word.compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed); // UPDATED
        // The guard is made only if the lock was taken: to drop one gives the lock back.
        taken.is_ok().then(|| UpdateLock(word))
    }

    /// Takes the lock of the rank at a place. `pause` gives the core away.
    pub fn update_lock(&self, place: usize, pause: impl Fn()) -> UpdateLock<'_> {
        let mut looks = 0;
        loop {
            if let Some(lock) = self.try_update_lock(place) {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lock_of_a_place_excludes_others_and_leaves_other_places_alone() {
        let node = NodeMemory::private(2).unwrap();
        let first = node.try_update_lock(0).unwrap();
        assert!(node.try_update_lock(0).is_none());
        assert!(node.try_update_lock(0).is_none(), "a refusal does not free it");
        assert!(node.try_update_lock(1).is_some());
        drop(first);
        let total = AtomicU32::new(0);
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    for _ in 0..10_000 {
                        let held = node.update_lock(0, std::thread::yield_now);
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
