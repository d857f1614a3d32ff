//! The link bandwidth, measured: what the DMA helper can move on this machine.
#![expect(
    unsafe_code,
    reason = "process_vm_readv and process_vm_writev take raw addresses"
)]

use bcs_core::limits::BOUNCE_BYTES;
use std::time::{Duration, Instant};

/// Rounds; the first faults the pages in and is not counted.
const ROUNDS: usize = 4;

/// Bytes per second from one process through the bounce buffer into another, as DH moves them.
///
/// It reaches into this very process, which is always allowed and costs the same, and takes well
/// under a millisecond, while the node managers are loading on other cores. The best round
/// counts: the others were disturbed.
#[must_use]
pub fn measure() -> u64 {
    let source = vec![1_u8; BOUNCE_BYTES];
    let mut bounce = vec![0_u8; BOUNCE_BYTES];
    let mut destination = vec![0_u8; BOUNCE_BYTES];
    let mut best = Duration::MAX;
    for round in 0..ROUNDS {
        let start = Instant::now();
        if !carry(&source, &mut bounce, &mut destination) {
            // Forbidden here (seccomp): then data takes a road of plain copies.
            bounce.copy_from_slice(&source);
            destination.copy_from_slice(&bounce);
        }
        if round > 0 {
            best = best.min(start.elapsed());
        }
    }
    std::hint::black_box(&destination);
    let nanoseconds = best.as_nanos().max(1);
    let rate = BOUNCE_BYTES as u128 * 1_000_000_000 / nanoseconds;
    u64::try_from(rate)
        .unwrap_or(u64::MAX)
        .clamp(1, bcs_core::limits::MAX_LINK_BANDWIDTH)
}

fn carry(source: &[u8], bounce: &mut [u8], destination: &mut [u8]) -> bool {
    let own = rustix::process::getpid().as_raw_nonzero().get();
    let span = |base: *mut u8, len| libc::iovec {
        iov_base: base.cast(),
        iov_len: len,
    };
    let from = span(source.as_ptr().cast_mut(), source.len());
    let through = span(bounce.as_mut_ptr(), bounce.len());
    let to = span(destination.as_mut_ptr(), destination.len());
    // SAFETY: reads `source` and writes `bounce`, whole slices that we hold; so no other
    // reference to `bounce` exists.
    let read = unsafe { libc::process_vm_readv(own, &raw const through, 1, &raw const from, 1, 0) };
    // SAFETY: reads `bounce` and writes `destination`, as above.
    let written =
        unsafe { libc::process_vm_writev(own, &raw const through, 1, &raw const to, 1, 0) };
    read.cast_unsigned() == source.len() && written.cast_unsigned() == destination.len()
}

#[cfg(test)]
mod tests {
    #[test]
    fn this_machine_moves_something() {
        let rate = super::measure();
        assert!(rate > 10_000_000, "{rate} bytes/s");
    }
}
