//! Stores past the caches, for bytes that their writer does not read again.
//!
//! An ordinary store first fetches its line. If the line is in no cache, that is a read of memory
//! for each write, and it evicts other lines.
#![expect(unsafe_code, reason = "memory of other ranks is named by address")]

use std::ptr::NonNull;

/// A copier past the caches. When it is dropped, its copies are ordered before all later stores.
#[derive(Debug)]
pub struct StreamingCopy(());

impl StreamingCopy {
    /// Returns a copier for a sequence of copies.
    #[must_use]
    pub fn begin() -> Self {
        Self(())
    }

    /// Copies bytes to memory.
    ///
    /// # Safety
    /// This many bytes at `to` may be written, and do not overlap `from`.
    pub unsafe fn copy(&self, from: &[u8], to: NonNull<u8>) {
        // SAFETY: the caller's promise.
        unsafe { copy(from, to.as_ptr()) };
    }
}

impl Drop for StreamingCopy {
    fn drop(&mut self) {
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        // SAFETY: x86-64 processors have it.
        unsafe {
            std::arch::x86_64::_mm_sfence();
        }
    }
}

/// # Safety
/// As [`StreamingCopy::copy`].
#[cfg(all(target_arch = "x86_64", not(miri)))]
unsafe fn copy(from: &[u8], to: *mut u8) {
    use std::arch::x86_64::{__m128i, _mm_stream_si128};

    const LINE: usize = 64;
    let head = to.align_offset(LINE).min(from.len());
    let (head, rest) = from.split_at(head);
    // SAFETY: the caller's promise.
    unsafe { std::ptr::copy_nonoverlapping(head.as_ptr(), to, head.len()) };
    let mut to = to.wrapping_add(head.len());
    let (lines, tail) = rest.as_chunks::<LINE>();
    for line in lines {
        let quarters = line.as_ptr().cast::<[__m128i; 4]>();
        // SAFETY: a line has four quarters.
        let quarters = unsafe { quarters.read_unaligned() };
        for (quarter, to) in quarters
            .into_iter()
            .zip((0..).map(|place| to.wrapping_add(16 * place)))
        {
            // SAFETY: the caller's promise; this is a line from its start on, so it is aligned.
            unsafe { _mm_stream_si128(to.cast(), quarter) };
        }
        to = to.wrapping_add(LINE);
    }
    // SAFETY: the caller's promise.
    unsafe { std::ptr::copy_nonoverlapping(tail.as_ptr(), to, tail.len()) };
}

/// # Safety
/// As [`StreamingCopy::copy`].
#[cfg(not(all(target_arch = "x86_64", not(miri))))]
unsafe fn copy(from: &[u8], to: *mut u8) {
    // SAFETY: the caller's promise.
    unsafe { std::ptr::copy_nonoverlapping(from.as_ptr(), to, from.len()) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_bytes_are_copied_and_no_others() {
        let from: Vec<u8> = (0..=255).cycle().take(1000).collect();
        for start in [0, 1, 16, 63, 64] {
            for len in [0, 1, 63, 64, 65, 130, 800] {
                let mut to = vec![7; 1000];
                let begin = NonNull::from(&mut to[start..]).cast();
                let streaming = StreamingCopy::begin();
                // SAFETY: this many bytes follow in the vector, which has no other user.
                unsafe { streaming.copy(&from[3..3 + len], begin) };
                drop(streaming);
                assert_eq!(to[start..start + len], from[3..3 + len]);
                assert!(
                    to[..start]
                        .iter()
                        .chain(&to[start + len..])
                        .all(|byte| *byte == 7)
                );
            }
        }
    }
}
