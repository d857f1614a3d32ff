//! Vectors as wide as the processor has them.
//!
//! Programs are compiled for any x86-64, whose vectors have 16 bytes. A kernel is compiled a second
//! time, for vectors of 32 bytes, which runs if the processor has them. It is the same code, and
//! elements are independent, so the bits are the same. Products and sums are not fused, because the
//! compiler may not do that unasked.

#![cfg_attr(
    target_arch = "x86_64",
    expect(unsafe_code, reason = "only who has asked may use wide vectors")
)]

/// A computation on an accumulator and one or several operands. Implementations need
/// `#[inline(always)]`; otherwise they are not compiled a second time.
pub(super) trait Kernel<O> {
    /// Computes `accumulator = accumulator OP operand`.
    fn run(self, accumulator: &mut [u8], operand: O);
}

/// For shorter data the check for wide vectors does not pay off.
#[cfg(target_arch = "x86_64")]
const LEAST_BYTES: usize = 256;

/// Runs a kernel, in wide vectors if there are any.
#[inline]
pub(super) fn run<O>(kernel: impl Kernel<O>, accumulator: &mut [u8], operand: O) {
    #[cfg(target_arch = "x86_64")]
    if accumulator.len() >= LEAST_BYTES && std::is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has just said that it has AVX2.
        return unsafe { run_wide(kernel, accumulator, operand) };
    }
    kernel.run(accumulator, operand);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn run_wide<O>(kernel: impl Kernel<O>, accumulator: &mut [u8], operand: O) {
    kernel.run(accumulator, operand);
}
