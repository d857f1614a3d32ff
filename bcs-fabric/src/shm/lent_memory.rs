//! Memory of a rank that is lent to the kernel, which receives into it.
#![expect(unsafe_code, reason = "bytes of ranks are named by address")]

use std::ops::Range;
use std::ptr::NonNull;

/// Memory of a rank that is mapped in this process, and that its owner may change at any time.
#[derive(Clone, Copy, Debug)]
pub struct LentMemory {
    start: NonNull<u8>,
    len: usize,
}

impl LentMemory {
    /// Lends `len` bytes from `start` on.
    ///
    /// # Safety
    /// They are valid for reads and writes as long as anything is done with this, and no reference
    /// to them is held.
    pub(crate) unsafe fn new(start: NonNull<u8>, len: usize) -> Self {
        Self { start, len }
    }

    /// Returns the first byte.
    #[must_use]
    pub fn start(&self) -> NonNull<u8> {
        self.start
    }

    /// Returns the number of bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.len
    }

    /// Returns a part of it.
    ///
    /// # Panics
    /// When it has no such part.
    #[must_use]
    pub fn part(&self, part: Range<usize>) -> Self {
        assert!(part.start <= part.end && part.end <= self.len, "{part:?}");
        Self {
            // SAFETY: within it, or at its end.
            start: unsafe { self.start.add(part.start) },
            len: part.len(),
        }
    }

    /// Appends the bytes that lie there now.
    pub fn copy_to(&self, to: &mut Vec<u8>) {
        to.reserve(self.len);
        let end = to.spare_capacity_mut().as_mut_ptr().cast();
        // SAFETY: as many bytes may be read there, and there is room for them here that nobody else
        // knows.
        unsafe { std::ptr::copy_nonoverlapping(self.start.as_ptr(), end, self.len) };
        // SAFETY: they have just been written.
        unsafe { to.set_len(to.len() + self.len) };
    }
}
