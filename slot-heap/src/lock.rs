//! A lock that allocates nothing, and that the child of a fork can open for its parent's thread.

use rustix::thread::futex;
use std::sync::atomic::{AtomicU32, Ordering};

const FREE: u32 = 0;
const TAKEN: u32 = 1;
/// A thread has taken the lock, and another one waits for it.
const WANTED: u32 = 2;

/// A lock. Its owner releases it by an explicit call, because it may hold it across a fork.
#[derive(Debug)]
pub(crate) struct Lock(AtomicU32);

impl Lock {
    pub(crate) const fn new() -> Self {
        Self(AtomicU32::new(FREE))
    }

    pub(crate) fn take(&self) {
        let taken = self
            .0
            .compare_exchange(FREE, TAKEN, Ordering::Acquire, Ordering::Relaxed);
        if taken.is_ok() {
            return;
        }
        while self.0.swap(WANTED, Ordering::Acquire) != FREE {
            wait(&self.0, WANTED);
        }
    }

    /// Returns whether nobody has the lock. A signal handler must not wait for a lock that the
    /// interrupted thread may have.
    pub(crate) fn is_free(&self) -> bool {
        self.0.load(Ordering::Relaxed) == FREE
    }

    pub(crate) fn give_back(&self) {
        if self.0.swap(FREE, Ordering::Release) == WANTED {
            wake(&self.0, 1);
        }
    }

    /// Runs `act` with the lock taken.
    pub(crate) fn with<R>(&self, act: impl FnOnce() -> R) -> R {
        self.take();
        let result = act();
        self.give_back();
        result
    }
}

/// Waits while the word has this value. May return early.
pub(crate) fn wait(word: &AtomicU32, value: u32) {
    let _looked_at_again = futex::wait(word, futex::Flags::PRIVATE, value, None);
}

/// Wakes at most `count` of the threads that wait on the word.
pub(crate) fn wake(word: &AtomicU32, count: u32) {
    let _ = futex::wake(word, futex::Flags::PRIVATE, count);
}
