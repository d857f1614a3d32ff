//! Measures the bandwidth of the DMA helper on this machine.

use bcs_core::limits::MAX_LINK_BANDWIDTH;
use std::time::{Duration, Instant};

/// Bytes of a round: larger than a usual first-level cache and half of a second-level one, and
/// copied in less than a tenth of a millisecond.
const BYTES: usize = 1 << 20;

/// The number of successive rounds that must bring no improvement. A core that was asleep has its
/// full clock by then.
const SETTLED_ROUNDS: u32 = 100;

/// An improvement takes less than this share of the best round so far.
const BETTER: f64 = 0.99;

/// Beside other threads that copy, the time may never settle. Then the best round of this time
/// counts.
const LONGEST: Duration = Duration::from_millis(200);

/// Measures the bytes per second from slot to slot, as DH moves them: by plain loads and stores.
/// Data outside of slots, which the kernel has to copy, is slower.
///
/// It takes some 10 ms on an idle machine.
pub(super) fn measure() -> u64 {
    let source = vec![1_u8; BYTES];
    let mut destination = vec![0_u8; BYTES];
    let best = settled(|| {
        let start = Instant::now();
        destination.copy_from_slice(std::hint::black_box(&source));
        std::hint::black_box(&destination);
        start.elapsed()
    });
    let nanoseconds = best.as_nanos().max(1);
    let rate = BYTES as u128 * 1_000_000_000 / nanoseconds;
    u64::try_from(rate)
        .unwrap_or(u64::MAX)
        .clamp(1, MAX_LINK_BANDWIDTH)
}

/// Returns the shortest round, once [`SETTLED_ROUNDS`] have brought no shorter one. The shortest
/// counts because all others were disturbed, or faulted pages in.
fn settled(mut round: impl FnMut() -> Duration) -> Duration {
    let mut best = Duration::MAX;
    let (mut all, mut since_better) = (Duration::ZERO, 0);
    while since_better < SETTLED_ROUNDS && all < LONGEST {
        let took = round();
        all += took;
        since_better += 1;
        if took.as_secs_f64() < best.as_secs_f64() * BETTER {
            since_better = 0;
        }
        best = best.min(took);
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_moves_something() {
        let rate = measure();
        assert!(rate > 10_000_000, "{rate} bytes/s");
    }

    #[test]
    fn a_core_that_wakes_slowly_is_waited_for_and_a_restless_one_not_for_ever() {
        let us = Duration::from_micros;
        let mut rounds = 0;
        let best = settled(|| {
            rounds += 1;
            us(if rounds < 90 { 500 } else { 100 })
        });
        assert_eq!((best, rounds), (us(100), 90 + SETTLED_ROUNDS));
        // Each round is shorter than the one before, for longer than the limit.
        let mut took = 40_000.0;
        let mut rounds = 0;
        settled(|| {
            took *= 0.98;
            rounds += 1;
            Duration::from_secs_f64(took / 1e6)
        });
        assert!(rounds < 10, "{rounds}");
    }
}
