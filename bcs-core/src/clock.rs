//! The monotonic clock. State machines take time as an argument; only drivers and ranks look
//! here.

/// Nanoseconds on CLOCK_MONOTONIC: the same clock in all processes of a machine, and the one that
/// futex deadlines are measured by.
#[must_use]
pub fn now_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    let seconds = u64::try_from(now.tv_sec).expect("the monotonic clock is not negative");
    seconds * 1_000_000_000 + u64::try_from(now.tv_nsec).expect("nanoseconds are not negative")
}
