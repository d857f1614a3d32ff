//! The link bandwidth, measured: what the DMA helper can move on this machine.

use bcs_core::limits::MAX_LINK_BANDWIDTH;
use std::time::{Duration, Instant};

/// Bytes of a round: more than a first cache and half of a usual second one have, and less than it takes a
/// tenth of a millisecond to copy.
const BYTES: usize = 1 << 20;

/// Rounds; the first faults the pages in and is not counted.
const ROUNDS: usize = 4;

/// Bytes per second from slot to slot, as DH moves them: by plain loads and stores. What the kernel has to copy,
/// because it does not lie in slots, is slower.
///
/// It takes well under a millisecond, while the node managers are loading on other cores. The best round
/// counts: the others were disturbed.
#[must_use]
pub fn measure() -> u64 {
    let source = vec![1_u8; BYTES];
    let mut destination = vec![0_u8; BYTES];
    let mut best = Duration::MAX;
    for round in 0..ROUNDS {
        let start = Instant::now();
        destination.copy_from_slice(std::hint::black_box(&source));
        std::hint::black_box(&destination);
        if round > 0 {
            best = best.min(start.elapsed());
        }
    }
    let nanoseconds = best.as_nanos().max(1);
    let rate = BYTES as u128 * 1_000_000_000 / nanoseconds;
    u64::try_from(rate)
        .unwrap_or(u64::MAX)
        .clamp(1, MAX_LINK_BANDWIDTH)
}

#[cfg(test)]
mod tests {
    #[test]
    fn this_machine_moves_something() {
        let rate = super::measure();
        assert!(rate > 10_000_000, "{rate} bytes/s");
    }
}
