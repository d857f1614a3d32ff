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

/// The reason why the memory that a rank sent is no slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadSlot {
    /// It has another length.
    #[error("it has {0} bytes")]
    Length(i64),
    /// It is neither sealed as a memfd of a slot is, nor a file without a name that cannot be
    /// sealed. Its owner could shorten it while others have mapped it, or it could not be written.
    #[error("its seals are {0:#x}")]
    Seals(u32),
    /// It is not memory.
    #[error("it is a file of a file system of type {0:#x}")]
    NoMemory(u64),
    /// It cannot be written.
    #[error("it is open for reading only")]
    ReadOnly,
    /// It cannot be examined.
    #[error("it cannot be examined: {0}")]
    Kernel(#[from] Errno),
}

/// Checks that a received descriptor is one of a slot: memory of the right length. No process can
/// shorten a sealed memfd. A file of a `tmpfs` cannot be sealed: its creator can shorten it, and so
/// end the processes that read there with SIGBUS. These are the ranks of its node and their NIC, of
/// the same user and job, to which it could as well send a signal.
///
/// # Errors
/// The property that is wrong.
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
    // A file in a mounted file system has exactly this seal from its beginning, and so has a memfd
    // that was made so.
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
    /// Maps the slot.
    ///
    /// # Errors
    /// The kernel's answer: EEXIST when another mapping lies there.
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
            // SAFETY: the mapping was made here, and its address is not published.
            let _ = unsafe { rustix::mm::munmap(at, SLOT_BYTES) };
            return Err(Errno::EXIST);
        }
        // Its owner dumps it. A child of this process must not use it.
        for advice in [Advice::LinuxDontDump, Advice::LinuxDontFork] {
            // SAFETY: about dumps and forks only; the range is the mapping's.
            let _ = unsafe { rustix::mm::madvise(at, SLOT_BYTES, advice) };
        }
        Ok(Self { slot })
    }

    /// Returns which slot it is.
    #[must_use]
    pub fn slot(&self) -> Slot {
        self.slot
    }

    /// Returns the table of the owner's remapped ranges, valid as long as `self`.
    #[must_use]
    pub fn remapped(&self) -> RemappedRanges {
        // SAFETY: mapped as long as `self`; the caller keeps to that.
        unsafe { RemappedRanges::of(self.slot) }
    }
}

impl Drop for ForeignSlot {
    fn drop(&mut self) {
        // SAFETY: the mapping belongs to this value; all addresses in it came from this value.
        let _ = unsafe { rustix::mm::munmap(self.slot.base() as *mut c_void, SLOT_BYTES) };
    }
}
