//! Memory of a rank that cannot be read or written, from some byte on, or that vanishes while it is
//! used.
#![expect(unsafe_code, reason = "maps memory, and takes it away")]

use bcs_core::lockstep;
use rustix::mm::{MapFlags, MprotectFlags, ProtFlags, mmap_anonymous, mprotect, munmap};
use std::ptr::NonNull;
use std::sync::{Arc, Mutex};

const PAGE: usize = 4096;

/// Memory to take away: (start, bytes, when in nanoseconds of virtual time).
#[derive(Clone, Debug, Default)]
pub(super) struct VanishSchedule(Arc<Mutex<Vec<(usize, usize, u64)>>>);

impl VanishSchedule {
    /// Returns when the next region is due.
    pub(super) fn next_ns(&self) -> Option<u64> {
        lockstep::lock(&self.0).iter().map(|entry| entry.2).min()
    }

    /// Takes away the regions that are due. Returns whether any was.
    pub(super) fn remove_due(&self, now_ns: u64) -> bool {
        let mut any = false;
        lockstep::lock(&self.0).retain(|&(start, bytes, at_ns)| {
            if at_ns <= now_ns {
                any = true;
                make_inaccessible(start, bytes);
            }
            at_ns > now_ns
        });
        any
    }
}

fn make_inaccessible(start: usize, bytes: usize) {
    let address = std::ptr::with_exposed_provenance_mut(start);
    // SAFETY: the region is mapped, and used by address only: an access to it is meant to fail.
    let closed = unsafe { mprotect(address, bytes, MprotectFlags::empty()) };
    closed.expect("a mapped region");
}

/// A mapping of its own.
#[derive(Debug)]
pub(super) struct Region {
    start: NonNull<u8>,
    bytes: usize,
    vanishing: Option<VanishSchedule>,
}

impl Region {
    /// Creates a region with this content.
    pub(super) fn filled(content: &[u8]) -> Self {
        let bytes = content.len().max(1).next_multiple_of(PAGE);
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: this is a new mapping, wherever there is room.
        let mapped =
            unsafe { mmap_anonymous(std::ptr::null_mut(), bytes, protection, MapFlags::PRIVATE) };
        let start = NonNull::new(mapped.expect("memory").cast()).expect("not at 0");
        // SAFETY: that many bytes are mapped there, and nobody else knows of them.
        unsafe { std::ptr::copy_nonoverlapping(content.as_ptr(), start.as_ptr(), content.len()) };
        Self {
            start,
            bytes,
            vanishing: None,
        }
    }

    pub(super) fn address(&self) -> *mut u8 {
        self.start.as_ptr()
    }

    fn range_from(&self, byte: usize) -> (usize, usize) {
        let first = (byte / PAGE * PAGE).min(self.bytes - PAGE);
        let start = self.start.as_ptr().expose_provenance() + first;
        (start, self.bytes - first)
    }

    /// Makes it inaccessible from (the page of) this byte on.
    pub(super) fn make_inaccessible_from(&self, byte: usize) {
        let (start, bytes) = self.range_from(byte);
        make_inaccessible(start, bytes);
    }

    /// Does the same as [`make_inaccessible_from`](Self::make_inaccessible_from), at some time.
    pub(super) fn vanish(&mut self, byte: usize, at_ns: u64, vanishing: &VanishSchedule) {
        let (start, bytes) = self.range_from(byte);
        lockstep::lock(&vanishing.0).push((start, bytes, at_ns));
        self.vanishing = Some(vanishing.clone());
    }

    /// Returns the first bytes, of a region that is still accessible.
    pub(super) fn content(&self, len: usize) -> Vec<u8> {
        assert!(len <= self.bytes, "within the region");
        let mut content = vec![0; len];
        // SAFETY: that many bytes are mapped, and no operation on them is under way any more.
        unsafe {
            std::ptr::copy_nonoverlapping(self.start.as_ptr(), content.as_mut_ptr(), len);
        }
        content
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        let start = self.start.as_ptr().expose_provenance();
        if let Some(vanishing) = &self.vanishing {
            let within = start..start + self.bytes;
            lockstep::lock(&vanishing.0).retain(|(at, ..)| !within.contains(at));
        }
        // SAFETY: the mapping is this region's, and nobody uses it any more.
        let unmapped = unsafe { munmap(self.start.as_ptr().cast(), self.bytes) };
        unmapped.expect("a mapped region");
    }
}
