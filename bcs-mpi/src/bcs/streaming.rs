//! Copies past the caches: for so much data that nothing of it would stay in them.
//!
//! An ordinary store fetches its line first. Two ranks that exchange 1 MiB each, and copy their own, take 142
//! us by the C library's copy and 110 by these stores; at 512 KiB, which the second-level caches (2 MiB) just
//! hold, both take as long, and below that these are slower.
//!
//! The price: what is copied so is in memory and not in the third-level cache when the program looks at it. An
//! alltoall of 1 MiB takes 116 us instead of 152 between buffers that only MPI uses; with a program that writes
//! all it gives and reads all it gets before the next one, 390 instead of 290 (260 MiB of third-level cache).
//! [`LEAST_BYTES`] is the one place to change if that is not wanted.
#![expect(unsafe_code, reason = "data is named by address")]

/// Bytes from which on that pays, if a rank writes as many and reads as many.
pub(crate) const LEAST_BYTES: usize = 5 << 18;

/// Copies bytes that others may write meanwhile: then they are rubbish.
///
/// # Safety
/// So many bytes may be read at `from` and written at `to`, nobody else uses the latter, and they do not
/// overlap.
#[cfg(target_arch = "x86_64")]
pub(crate) unsafe fn copy(from: *const u8, to: *mut u8, len: usize) {
    use std::arch::x86_64::{__m128i, _mm_loadu_si128, _mm_sfence, _mm_stream_si128};
    const LINE: usize = 64;
    const BLOCK: usize = size_of::<__m128i>();
    // Whole lines of where it goes; what is before and after them is copied as usual.
    let before = to.align_offset(LINE).min(len);
    let end = before + (len - before) / LINE * LINE;
    // SAFETY: the caller's promise.
    unsafe { std::ptr::copy_nonoverlapping(from, to, before) };
    for line in (before..end).step_by(LINE) {
        for at in (line..line + LINE).step_by(BLOCK) {
            // SAFETY: within the `len` bytes.
            let from = unsafe { from.add(at) };
            // SAFETY: within the `len` bytes.
            let to = unsafe { to.add(at) };
            // SAFETY: the caller's promise; any alignment will do.
            let block = unsafe { _mm_loadu_si128(from.cast()) };
            // SAFETY: the caller's promise; it is on a line, or a multiple of a block after one.
            unsafe { _mm_stream_si128(to.cast(), block) };
        }
    }
    // These stores are not ordered by what is released later.
    // SAFETY: every processor of this kind has it.
    unsafe { _mm_sfence() };
    // SAFETY: within the `len` bytes.
    let from = unsafe { from.add(end) };
    // SAFETY: within the `len` bytes.
    let to = unsafe { to.add(end) };
    // SAFETY: the caller's promise.
    unsafe { std::ptr::copy_nonoverlapping(from, to, len - end) };
}

/// The same, where there is no such way.
///
/// # Safety
/// As above.
#[cfg(not(target_arch = "x86_64"))]
pub(crate) unsafe fn copy(from: *const u8, to: *mut u8, len: usize) {
    // SAFETY: the caller's promise.
    unsafe { std::ptr::copy_nonoverlapping(from, to, len) };
}

#[cfg(test)]
mod tests {
    use super::copy;

    #[test]
    fn bytes_of_any_place_and_length_are_copied_and_no_others() {
        let from: Vec<u8> = (0..1000_u32)
            .map(|at| u8::try_from(at % 251).unwrap())
            .collect();
        for (start, place) in (0..70).zip((0..70).rev()) {
            for len in [0, 1, 15, 16, 63, 64, 65, 127, 128, 200, 511, 777] {
                let mut to = vec![0xee; 1000];
                let (source, target) = (&from[start..], &mut to[place..]);
                // SAFETY: both are long enough.
                unsafe { copy(source.as_ptr(), target.as_mut_ptr(), len) };
                assert!(to[place..place + len] == from[start..start + len]);
                let rest = to[..place].iter().chain(&to[place + len..]);
                assert!(rest.copied().all(|byte| byte == 0xee), "{start} {len}");
            }
        }
    }
}
