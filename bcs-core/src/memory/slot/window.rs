//! The first part of a rank's slot, mapped at any free address.
#![expect(unsafe_code, reason = "mmap, madvise")]

use super::{HEAP_BYTES, RemappedRanges, SLOT_BYTES};
use rustix::io::Errno;
use rustix::mm::{Advice, MapFlags, ProtFlags};
use std::ffi::c_void;
use std::os::fd::AsFd;
use std::ptr::NonNull;

/// Windows begin at multiples of it, as slots do: a huge page in a slot is then one in a window.
const HUGE_PAGE_BYTES: usize = 2 << 20;

/// The range that Linux maps around a load that faults (`fault_around_bytes`), by default.
const AROUND_BYTES: usize = 64 * 1024;

/// The first bytes of a slot, shared with its owner, for processes that access the slots of many
/// nodes: the slots of two nodes lie at the same addresses in their owners. It is left out of core
/// dumps and forks, and takes only address space until it is used.
#[derive(Debug)]
pub struct SlotWindow {
    start: NonNull<u8>,
    bytes: usize,
}

// SAFETY: the mapping is memory; code that uses an address in it is responsible for that.
unsafe impl Send for SlotWindow {}
// SAFETY: as for Send.
unsafe impl Sync for SlotWindow {}

impl SlotWindow {
    /// Maps the first bytes of a slot, in a multiple of 2 MiB.
    ///
    /// # Errors
    /// The kernel's answer.
    ///
    /// # Panics
    /// If a slot is shorter.
    pub fn map(fd: impl AsFd, bytes: usize) -> Result<Self, Errno> {
        Self::map_part(fd, 0, bytes)
    }

    fn map_part(fd: impl AsFd, from: usize, bytes: usize) -> Result<Self, Errno> {
        assert!(bytes.is_multiple_of(HUGE_PAGE_BYTES) && bytes <= SLOT_BYTES - from);
        let start = reserve(bytes)?;
        let replaced = MapFlags::SHARED | MapFlags::NORESERVE | MapFlags::FIXED;
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: this replaces the mapping that `reserve` has just made, which is not used yet.
        let mapped = unsafe {
            rustix::mm::mmap(
                start.as_ptr().cast(),
                bytes,
                access,
                replaced,
                fd,
                from as u64,
            )
        };
        // From here on it is unmapped when it is dropped.
        let window = Self { start, bytes };
        let at = mapped?;
        for advice in [Advice::LinuxDontDump, Advice::LinuxDontFork] {
            // SAFETY: about dumps and forks only; the range is the mapping's.
            let _ = unsafe { rustix::mm::madvise(at, bytes, advice) };
        }
        Ok(window)
    }

    /// Returns the address in this process of `len` bytes of the slot at an offset, if all of them
    /// are in the window. It is valid for reads and writes as long as `self`; others may change the
    /// bytes at any time.
    #[inline]
    #[must_use]
    pub fn at(&self, offset: usize, len: usize) -> Option<NonNull<u8>> {
        if offset > self.bytes || len > self.bytes - offset {
            return None;
        }
        // SAFETY: within the mapping, or at its end.
        Some(unsafe { self.start.add(offset) })
    }
}

/// The table of the remapped ranges of a slot, mapped at any free address.
#[derive(Debug)]
pub struct TableWindow {
    ranges: RemappedRanges,
    _mapped: SlotWindow,
}

impl TableWindow {
    /// Maps the table.
    ///
    /// # Errors
    /// The kernel's answer.
    pub fn map(fd: impl AsFd) -> Result<Self, Errno> {
        let window = SlotWindow::map_part(fd, HEAP_BYTES, SLOT_BYTES - HEAP_BYTES)?;
        Ok(Self {
            // SAFETY: mapped as long as `self`, and longer than the table.
            ranges: unsafe { RemappedRanges::at(window.start) },
            _mapped: window,
        })
    }

    /// Returns the table, valid as long as `self`.
    #[inline]
    #[must_use]
    pub fn ranges(&self) -> &RemappedRanges {
        &self.ranges
    }
}

/// Maps the pages of a window that will be written next. A store that faults maps one page; a load
/// also maps those pages around it that the slot has. So this makes a load for each such stretch.
/// (To copy to a mebibyte that this process has never touched takes 200 to 260 µs, and 440 to 550
/// without this.)
///
/// # Safety
/// This many bytes may be read there.
pub unsafe fn prefault(start: NonNull<u8>, len: usize) {
    let first = start.addr().get();
    let after = (first | (AROUND_BYTES - 1)) + 1 - first;
    let stretches = (after..len).step_by(AROUND_BYTES);
    for offset in std::iter::once(0).chain(stretches).filter(|_| len > 0) {
        // SAFETY: one of the bytes.
        let byte = unsafe { start.add(offset) };
        // SAFETY: the caller's promise. Concurrent stores there do no harm, because the value is
        // not used.
        unsafe { byte.as_ptr().read_volatile() };
    }
}

impl Drop for SlotWindow {
    fn drop(&mut self) {
        // SAFETY: the mapping belongs to this value, and no address in it outlives self.
        let _ = unsafe { rustix::mm::munmap(self.start.as_ptr().cast(), self.bytes) };
    }
}

/// Reserves addresses that begin at a multiple of a huge page.
fn reserve(bytes: usize) -> Result<NonNull<u8>, Errno> {
    let taken = bytes + HUGE_PAGE_BYTES;
    let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
    let anywhere = std::ptr::null_mut();
    // SAFETY: a fresh mapping at an address of the kernel's choice aliases nothing.
    let first = unsafe { rustix::mm::mmap_anonymous(anywhere, taken, ProtFlags::empty(), flags) }?;
    let before = first.addr().next_multiple_of(HUGE_PAGE_BYTES) - first.addr();
    give_back(first, before);
    let start = first.wrapping_byte_add(before);
    give_back(start.wrapping_byte_add(bytes), taken - bytes - before);
    Ok(NonNull::new(start.cast()).expect("the kernel does not map page zero"))
}

fn give_back(start: *mut c_void, bytes: usize) {
    if bytes > 0 {
        // SAFETY: a part of the new mapping, which is not used.
        let _ = unsafe { rustix::mm::munmap(start, bytes) };
    }
}

#[cfg(test)]
mod tests {
    use super::super::OwnSlot;
    use super::*;

    #[test]
    fn a_window_is_the_same_memory_at_another_address() {
        let own = OwnSlot::make(102).unwrap();
        let window = SlotWindow::map(own.fd(), 2 * HUGE_PAGE_BYTES).unwrap();
        assert_eq!(window.start.addr().get() % HUGE_PAGE_BYTES, 0);
        let last = 2 * HUGE_PAGE_BYTES - 8;
        let theirs = (own.slot().base() + last) as *mut u64;
        // SAFETY: in the slot, which only this test knows.
        unsafe { theirs.write(7) };
        let ours = window.at(last, 8).unwrap();
        for len in [0, 1, 8] {
            // SAFETY: in the window.
            unsafe { prefault(ours, len) };
        }
        // SAFETY: in the window, and a word.
        assert_eq!(unsafe { ours.cast::<u64>().read() }, 7);
        // SAFETY: all of the window.
        unsafe { prefault(window.at(1, last).unwrap(), last) };
        for (offset, len) in [(last, 9), (last + 9, 0), (usize::MAX, 2), (0, usize::MAX)] {
            assert!(window.at(offset, len).is_none(), "{offset:#x} {len:#x}");
        }
        assert!(window.at(last + 8, 0).is_some());
    }
}
