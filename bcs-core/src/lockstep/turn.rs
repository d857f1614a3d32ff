//! The actions of a thread in its turn: read the clock, let others run, end.

use super::context::{ANY, with_context};
use super::shared::{Shared, ThreadState};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// The longest virtual time, in nanoseconds, that a step of a thread may take.
const STEP_NS: u64 = 2_000;
/// The time that a thread waits before it polls again for an event that does not wake it.
const POLL_NS: u64 = 50_000;

/// Returns whether this thread's time is virtual.
#[must_use]
#[inline]
pub fn is_active() -> bool {
    ANY.load(Ordering::Relaxed) && with_context(|_, _| ()).is_some()
}

/// Returns the virtual time, if this thread has one.
#[inline]
pub(crate) fn now_ns() -> Option<u64> {
    if !ANY.load(Ordering::Relaxed) {
        return None;
    }
    with_context(|shared, _| shared.lock().now_ns)
}

/// Pauses for a moment, in which others may run. Returns whether this thread is in a lockstep.
#[inline]
pub fn pause() -> bool {
    ANY.load(Ordering::Relaxed) && pause_for(STEP_NS)
}

/// Pauses as [`pause`] does, for a thread that polls for an event that does not wake it.
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

/// Lets others run before this thread goes on, in one of `one_in` calls on average, if the thread
/// is in a lockstep.
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

/// Kills this thread by its own action: it and its process never run again. Returns only if the
/// thread is not in a lockstep.
pub fn kill_this_process() {
    with_context(|shared, number| {
        let Some(number) = number else { return };
        shared.lock().kill(number);
        shared.hand_back(number);
    });
}

/// Returns a number below `most` that the seed determines, if this thread is in a lockstep.
#[must_use]
pub fn draw(most: u32) -> Option<u32> {
    let drawn = with_context(|shared, _| (shared.lock().draw)(most.into()))?;
    Some(u32::try_from(drawn).expect("it is below one"))
}
