//! What a thread in lockstep does with its turn: look at the clock, let others run, end.

use super::context::{ANY, with_context};
use super::shared::{Shared, ThreadState};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// The longest time, in nanoseconds, that a step of a thread may take of the virtual time.
const STEP_NS: u64 = 2_000;
/// How long a thread waits before it looks again for what nothing wakes it for.
const POLL_NS: u64 = 50_000;

/// Whether this thread's time is virtual.
#[must_use]
#[inline]
pub fn is_active() -> bool {
    ANY.load(Ordering::Relaxed) && with_context(|_, _| ()).is_some()
}

/// The virtual time, if this thread has one.
#[inline]
pub(crate) fn now_ns() -> Option<u64> {
    if !ANY.load(Ordering::Relaxed) {
        return None;
    }
    with_context(|shared, _| shared.lock().now_ns)
}

/// The thread goes on a moment later, and others may run before. Returns whether it is in a lockstep.
#[inline]
pub fn pause() -> bool {
    ANY.load(Ordering::Relaxed) && pause_for(STEP_NS)
}

/// As [`pause`], of who looks again and again for what nobody wakes it for.
pub fn poll() -> bool {
    ANY.load(Ordering::Relaxed) && pause_for(POLL_NS)
}

#[cold]
fn pause_for(most_ns: u64) -> bool {
    with_context(|shared, number| {
        let Some(number) = number else { return };
        {
            let mut inner = shared.lock();
            let at_ns = inner.now_ns + (inner.draw)(most_ns + 1);
            inner.threads[number].state = ThreadState::Ready { at_ns };
        }
        shared.hand_back(number);
    })
    .is_some()
}

/// In a lockstep, one time in so many others may run before this thread goes on.
#[inline]
pub fn maybe_pause(one_in: u32) {
    if ANY.load(Ordering::Relaxed) {
        sometimes(one_in);
    }
}

#[cold]
fn sometimes(one_in: u32) {
    let drawn = |shared: &Arc<Shared>, number: Option<usize>| {
        number.is_some() && (shared.lock().draw)(one_in.into()) == 0
    };
    if with_context(drawn) == Some(true) {
        pause();
    }
}

/// The thread is killed by what it has done itself: it and all of its process never run again. Returns only if it is in no
/// lockstep.
pub fn kill_this_process() {
    with_context(|shared, number| {
        let Some(number) = number else { return };
        shared.lock().kill(number);
        shared.hand_back(number);
    });
}

/// A number below `most` that the seed fixes, if this thread is in a lockstep.
#[must_use]
pub fn draw(most: u32) -> Option<u32> {
    let drawn = with_context(|shared, _| (shared.lock().draw)(most.into()))?;
    Some(u32::try_from(drawn).expect("it is below one"))
}
