//! The slot of another rank.
#![expect(unsafe_code, reason = "mmap at a fixed address, madvise")]

use super::{RemappedRanges, SLOT_BYTES, Slot};
use rustix::fs::{OFlags, SealFlags};
use rustix::io::Errno;
use rustix::mm::{Advice, MapFlags, ProtFlags};
use std::ffi::c_void;
use std::os::fd::AsFd;

/// The file system that memfds lie in (`TMPFS_MAGIC` of Linux).
pub(super) const TMPFS: u64 = 0x0102_1994;

/// What a rank alleges to be its slot is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadSlot {
    /// Another length.
    #[error("it has {0} bytes")]
    Length(i64),
    /// Neither sealed as a memfd of a slot is, nor a file that cannot be sealed and has no name: it could be cut off under
    /// those who map it, or not be written.
    #[error("its seals are {0:#x}")]
    Seals(u32),
    /// Not memory.
    #[error("it is a file of a file system of type {0:#x}")]
    NoMemory(u64),
    /// Cannot be written.
    #[error("it is open for reading only")]
    ReadOnly,
    /// Cannot be looked at.
    #[error("it cannot be examined: {0}")]
    Kernel(#[from] Errno),
}

/// Checks that a descriptor that somebody has sent is what a slot is made of: memory of the right
/// length. Nobody can cut a sealed memfd off. A file of a `tmpfs` cannot be sealed: who has made it can cut it off, and so
/// end with SIGBUS who looks there, which are the ranks of its node and their NIC, of the same user and job, whom it could
/// as well send a signal.
///
/// # Errors
/// What is wrong with it.
pub fn check(fd: impl AsFd) -> Result<(), BadSlot> {
    let stat = rustix::fs::fstat(&fd)?;
    let length = stat.st_size;
    if length != SLOT_BYTES.cast_signed() as i64 {
        return Err(BadSlot::Length(length));
    }
    let kind = rustix::fs::fstatfs(&fd)?.f_type;
    let kind = kind.cast_unsigned();
    if kind != TMPFS {
        return Err(BadSlot::NoMemory(kind));
    }
    let seals = rustix::fs::fcntl_get_seals(&fd)?;
    let is_sealed = seals == SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL;
    // What lies in a mounted file system has this one seal, from its beginning, as has a memfd that was made so.
    let cannot_be_sealed = seals == SealFlags::SEAL && stat.st_nlink == 0;
    if !(is_sealed || cannot_be_sealed) {
        return Err(BadSlot::Seals(seals.bits()));
    }
    let mode = rustix::fs::fcntl_getfl(&fd)? & OFlags::RWMODE;
    if mode != OFlags::RDWR {
        return Err(BadSlot::ReadOnly);
    }
    Ok(())
}

/// Another rank's slot, mapped at the address where that rank has it, and left out of core dumps.
#[derive(Debug)]
pub struct ForeignSlot {
    slot: Slot,
}

impl ForeignSlot {
    /// Maps it.
    ///
    /// # Errors
    /// The kernel's answer: EEXIST when something else lies there.
    pub fn map(slot: Slot, fd: impl AsFd) -> Result<Self, Errno> {
        let flags = MapFlags::SHARED | MapFlags::NORESERVE | MapFlags::FIXED_NOREPLACE;
        // SAFETY: FIXED_NOREPLACE replaces nothing, so it aliases nothing of this process.
        let at = unsafe {
            rustix::mm::mmap(
                slot.base() as *mut c_void,
                SLOT_BYTES,
                ProtFlags::READ | ProtFlags::WRITE,
                flags,
                fd,
                0,
            )
        }?;
        if at as usize != slot.base() {
            // SAFETY: the mapping was made here, and nobody knows it.
            let _ = unsafe { rustix::mm::munmap(at, SLOT_BYTES) };
            return Err(Errno::EXIST);
        }
        // Its owner dumps it. And a child of ours has no business there.
        for advice in [Advice::LinuxDontDump, Advice::LinuxDontFork] {
            // SAFETY: about dumps and forks only; the range is the mapping's.
            let _ = unsafe { rustix::mm::madvise(at, SLOT_BYTES, advice) };
        }
        Ok(Self { slot })
    }

    /// Which one.
    #[must_use]
    pub fn slot(&self) -> Slot {
        self.slot
    }

    /// Where its owner has other memory. Of use as long as `self`.
    #[must_use]
    pub fn remapped(&self) -> RemappedRanges {
        // SAFETY: mapped as long as `self`, which the caller heeds.
        unsafe { RemappedRanges::of(self.slot) }
    }
}

impl Drop for ForeignSlot {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours; whoever has an address in it got it from us.
        let _ = unsafe { rustix::mm::munmap(self.slot.base() as *mut c_void, SLOT_BYTES) };
    }
}
