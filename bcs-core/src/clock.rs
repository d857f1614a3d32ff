//! The monotonic clock. State machines take time as an argument; only drivers and ranks look
//! here.

use crate::lockstep;

/// Nanoseconds on CLOCK_MONOTONIC: the same clock in all processes of a machine, and the one that
/// futex deadlines are measured by. Threads [in lockstep](crate::lockstep) have a time of their own.
#[must_use]
pub fn now_ns() -> u64 {
    if let Some(now_ns) = lockstep::now_ns() {
        return now_ns;
    }
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    let seconds = u64::try_from(now.tv_sec).expect("the monotonic clock is not negative");
    seconds * 1_000_000_000 + u64::try_from(now.tv_nsec).expect("nanoseconds are not negative")
}
