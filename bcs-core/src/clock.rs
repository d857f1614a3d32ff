//! The monotonic clock. State machines take time as an argument; only drivers and ranks read the
//! clock.
#![cfg_attr(
    target_arch = "x86_64",
    expect(unsafe_code, reason = "the processor's time stamp counter")
)]

use crate::lockstep;
use std::cell::Cell;
use std::sync::OnceLock;

/// Returns nanoseconds of CLOCK_MONOTONIC: the clock is the same in all processes of a machine, and
/// futex deadlines are measured by it. Threads [in lockstep](crate::lockstep) have a time of their
/// own.
#[must_use]
pub fn now_ns() -> u64 {
    if let Some(now_ns) = lockstep::now_ns() {
        return now_ns;
    }
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    let seconds = u64::try_from(now.tv_sec).expect("the monotonic clock is not negative");
    seconds * 1_000_000_000 + u64::try_from(now.tv_nsec).expect("nanoseconds are not negative")
}

/// Returns the same time as [`now_ns`], for callers that need it twice in each MPI call. It never
/// goes back on one thread, and is within a microsecond of the clock.
///
/// It adds the ticks of the processor's time stamp counter to a reading of the clock that this
/// thread made at most [`ANCHOR_NS`] ago. So errors do not accumulate on a thread or between
/// threads. (A reading takes 23 ns here, this function 11.) If the kernel does not use that counter
/// as its clock source, this function does not either.
#[must_use]
#[inline]
pub fn quick_ns() -> u64 {
    let anchor = ANCHOR.get();
    let passed = ticks().wrapping_sub(anchor.ticks);
    if passed < anchor.good_for {
        return anchor.ns + ((passed * anchor.rate) >> RATE_BITS);
    }
    look(anchor)
}

/// The time for which a reading of the clock is used. In this time the rate of the counter is known
/// to 100 ns, and a reading each millisecond costs nothing.
const ANCHOR_NS: u64 = 1_000_000;

/// The number of fractional bits of the rate, which is in nanoseconds for each tick.
const RATE_BITS: u32 = 32;

/// A reading of the clock by this thread.
#[derive(Clone, Copy, Debug)]
struct Anchor {
    ticks: u64,
    ns: u64,
    /// Nanoseconds for each tick; 0 while the rate is not known.
    rate: u64,
    /// The number of ticks for which the reading is used; 0 while the rate is not known.
    good_for: u64,
}

impl Anchor {
    /// Returns the latest time that this anchor can have given until now. It may be slightly ahead
    /// of the clock.
    fn said(&self, now: u64) -> u64 {
        let passed = now.wrapping_sub(self.ticks).min(self.good_for);
        self.ns + ((passed * self.rate) >> RATE_BITS)
    }
}

thread_local! {
    static ANCHOR: Cell<Anchor> = const {
        Cell::new(Anchor { ticks: 0, ns: 0, rate: 0, good_for: 0 })
    };
}

/// Reads the clock, and computes the counter's rate from the progress of both since the last
/// reading.
#[cold]
fn look(last: Anchor) -> u64 {
    if lockstep::is_active() || !has_ticks() {
        return now_ns();
    }
    let Some((at, now)) = ticks_and_clock() else {
        return now_ns().max(last.said(ticks()));
    };
    let passed = at.wrapping_sub(last.ticks);
    let passed_ns = now.saturating_sub(last.ns);
    let ns = now.max(last.said(at));
    if last.ns != 0 && passed_ns < ANCHOR_NS {
        return ns; // Too soon to learn the rate.
    }
    let rate = match last.ns {
        0 => 0,
        _ => (u128::from(passed_ns) << RATE_BITS) / u128::from(passed.max(1)),
    };
    let rate = u64::try_from(rate).unwrap_or(0);
    let good_for = (ANCHOR_NS << RATE_BITS).checked_div(rate).unwrap_or(0);
    ANCHOR.set(Anchor {
        ticks: at,
        ns,
        rate,
        good_for,
    });
    ns
}

/// Reads both at the same moment. Returns `None` if each try is interrupted between the two
/// readings.
fn ticks_and_clock() -> Option<(u64, u64)> {
    const TRIES: u32 = 4;
    /// A third of a microsecond: several times the duration of two readings.
    const SOON: u64 = 1_000;
    (0..TRIES).find_map(|_| {
        let before = ticks();
        let now = now_ns();
        let took = ticks().wrapping_sub(before);
        (took < SOON).then_some((before + took / 2, now))
    })
}

/// Returns whether the kernel itself uses the counter. Then the counter runs evenly and alike on
/// all cores.
fn has_ticks() -> bool {
    const SOURCE: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    static HAS: OnceLock<bool> = OnceLock::new();
    let goes_by_it = || std::fs::read_to_string(SOURCE).is_ok_and(|name| name.trim() == "tsc");
    *HAS.get_or_init(|| cfg!(target_arch = "x86_64") && goes_by_it())
}

#[cfg(target_arch = "x86_64")]
#[inline]
fn ticks() -> u64 {
    // SAFETY: it only reads a counter that all processors of this kind have.
    unsafe { std::arch::x86_64::_rdtsc() }
}

#[cfg(not(target_arch = "x86_64"))]
#[inline]
fn ticks() -> u64 {
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_quick_clock_is_the_clock_and_never_goes_back() {
        let (mut last, mut off) = (0, 0);
        let start = now_ns();
        while now_ns() < start + 30 * ANCHOR_NS {
            let before = now_ns();
            let quick = quick_ns();
            let after = now_ns();
            assert!(quick >= last, "{quick} after {last}");
            last = quick;
            off = off
                .max(before.saturating_sub(quick))
                .max(quick.saturating_sub(after));
        }
        assert!(off < 1_000, "{off} ns off");
    }

    #[test]
    fn a_thread_that_slept_looks_at_the_clock() {
        for _ in 0..3 {
            let until = quick_ns() + 3 * ANCHOR_NS;
            while now_ns() < until {}
            assert!(quick_ns() >= until);
        }
    }
}
