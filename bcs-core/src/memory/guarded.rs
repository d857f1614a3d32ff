//! Memory that nothing follows: who goes beyond its end is told by the kernel.
#![expect(unsafe_code, reason = "maps memory, and closes its last page")]

use super::MapError;
use rustix::mm::{MapFlags, MprotectFlags, ProtFlags, mmap_anonymous, mprotect, munmap};
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

const PAGE: usize = 4096;

/// Bytes of this process, at an address that others may be told: after the page of the last one there is nothing.
#[derive(Debug)]
pub struct GuardedBytes {
    start: NonNull<u8>,
    len: usize,
}

impl GuardedBytes {
    /// So many bytes, all 0.
    ///
    /// # Errors
    /// [`MapError::Map`] with the kernel's answer.
    pub fn new(len: usize) -> Result<Self, MapError> {
        let told = |source| MapError::Map { bytes: len, source };
        let (inner, protection) = (Self::inner(len), ProtFlags::READ | ProtFlags::WRITE);
        let anywhere = std::ptr::null_mut();
        // SAFETY: a new mapping, wherever there is room.
        let mapped =
            unsafe { mmap_anonymous(anywhere, inner + PAGE, protection, MapFlags::PRIVATE) };
        let mapped = mapped.map_err(told)?.cast::<u8>();
        let start = NonNull::new(mapped).expect("nothing is mapped at 0");
        let bytes = Self { start, len };
        let guard = mapped.wrapping_add(inner).cast();
        // SAFETY: the last page of the mapping, of which nobody knows.
        unsafe { mprotect(guard, PAGE, MprotectFlags::empty()) }.map_err(told)?;
        Ok(bytes)
    }

    fn inner(len: usize) -> usize {
        len.max(1).next_multiple_of(PAGE)
    }

    /// The address of the first byte.
    #[must_use]
    pub fn address(&self) -> u64 {
        self.start.as_ptr().expose_provenance() as u64
    }
}

impl Deref for GuardedBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: so many bytes are mapped as long as this lives.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }
}

impl DerefMut for GuardedBytes {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above, and they are borrowed by nobody else.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.len) }
    }
}

impl Drop for GuardedBytes {
    fn drop(&mut self) {
        // SAFETY: the mapping is this one's, and nobody uses it any more.
        let unmapped = unsafe { munmap(self.start.as_ptr().cast(), Self::inner(self.len) + PAGE) };
        unmapped.expect("it was mapped");
    }
}
