//! A word that two processes share.
#![expect(unsafe_code, reason = "mapping memory, and one atomic in it")]

use std::os::fd::BorrowedFd;
use std::sync::atomic::AtomicU32;

use anyhow::{Context, Result};
use rustix::mm::{MapFlags, ProtFlags, mmap};

/// The length of the shared memory: a page.
pub(super) const LENGTH: usize = 4096;

/// Maps the word in the memory that this process inherited as `fd`, for as long as the process
/// lives.
pub(super) fn map(fd: i32) -> Result<&'static AtomicU32> {
    // SAFETY: the parent process left the descriptor open for this process, and nothing here closes
    // it.
    let memory = unsafe { BorrowedFd::borrow_raw(fd) };
    let access = ProtFlags::READ | ProtFlags::WRITE;
    // SAFETY: the call requests no fixed address, so it replaces no mapping.
    let at = unsafe {
        mmap(
            std::ptr::null_mut(),
            LENGTH,
            access,
            MapFlags::SHARED,
            memory,
            0,
        )
    }
    .context("failed to map the shared word")?;
    // SAFETY: a mapping is aligned to pages and never unmapped here, and both processes use the
    // word as an atomic only.
    Ok(unsafe { AtomicU32::from_ptr(at.cast()) })
}
