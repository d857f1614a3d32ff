//! Memory with nothing mapped behind it: the kernel stops a write beyond its end.
//!
//! The parts of a message that is too long may come in any order, the last bytes first. So one
//! guard page behind the memory is not enough, because a write may begin beyond it.
#![expect(unsafe_code, reason = "maps memory, and closes half of it")]

use super::MapError;
use rustix::mm::{MapFlags, MprotectFlags, ProtFlags, mmap_anonymous, mprotect, munmap};
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

const PAGE: usize = 4096;

/// Bytes of this process, at an address that others may get. For the same length again, nothing is
/// mapped behind them.
#[derive(Debug)]
pub struct GuardedBytes {
    start: NonNull<u8>,
    len: usize,
}

impl GuardedBytes {
    /// Returns `len` bytes, all 0.
    ///
    /// # Errors
    /// [`MapError::Map`] with the kernel's answer.
    pub fn new(len: usize) -> Result<Self, MapError> {
        let told = |errno| MapError::Map { bytes: len, errno };
        let (inner, protection) = (Self::inner(len), ProtFlags::READ | ProtFlags::WRITE);
        let anywhere = std::ptr::null_mut();
        // SAFETY: a new mapping, wherever there is room.
        let mapped = unsafe { mmap_anonymous(anywhere, 2 * inner, protection, MapFlags::PRIVATE) };
        let mapped = mapped.map_err(told)?.cast::<u8>();
        let start = NonNull::new(mapped).expect("nothing is mapped at 0");
        let bytes = Self { start, len };
        let guard = mapped.wrapping_add(inner).cast();
        // SAFETY: the second half of the new mapping, which is not used yet.
        unsafe { mprotect(guard, inner, MprotectFlags::empty()) }.map_err(told)?;
        Ok(bytes)
    }

    fn inner(len: usize) -> usize {
        len.max(1).next_multiple_of(PAGE)
    }

    /// Returns the address of the first byte.
    #[must_use]
    pub fn address(&self) -> u64 {
        self.start.as_ptr().expose_provenance() as u64
    }
}

impl Deref for GuardedBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: this many bytes are mapped as long as this lives.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }
}

impl DerefMut for GuardedBytes {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above, and they are borrowed exclusively.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.len) }
    }
}

impl Drop for GuardedBytes {
    fn drop(&mut self) {
        // SAFETY: the mapping belongs to this value, and is not used any more.
        let unmapped = unsafe { munmap(self.start.as_ptr().cast(), 2 * Self::inner(self.len)) };
        unmapped.expect("it was mapped");
    }
}
