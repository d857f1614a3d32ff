//! Sleeping on a word, and waking its sleepers.

use super::context::with_context;
use super::shared::{ThreadState, WAKE_NS};
use super::turn::maybe_pause;
use std::sync::atomic::{AtomicU32, Ordering};

/// Waits while `word` holds `expected`: the futex of threads in lockstep. Returns whether this
/// thread is in a lockstep. Such a thread may wake up without reason.
///
/// # Panics
/// When the driver itself would sleep.
pub(crate) fn sleep(word: &AtomicU32, expected: u32, deadline_ns: Option<u64>) -> bool {
    with_context(|shared, number| {
        let number = number.expect("the driver of a lockstep never sleeps");
        {
            let mut inner = shared.lock();
            let for_nothing = (inner.draw)(50) == 0;
            let at_ns = inner.now_ns + WAKE_NS;
            inner.threads[number].state = if word.load(Ordering::Acquire) != expected || for_nothing
            {
                ThreadState::Ready { at_ns }
            } else {
                let word = std::ptr::from_ref(word).addr();
                ThreadState::Asleep { word, deadline_ns }
            };
        }
        shared.hand_back(number);
    })
    .is_some()
}

/// Wakes the threads that sleep on this word. Returns whether this thread is in a lockstep.
pub(crate) fn wake(word: &AtomicU32) -> bool {
    let woken = with_context(|shared, _| shared.lock().wake(std::ptr::from_ref(word).addr()));
    maybe_pause(4);
    woken.is_some()
}
