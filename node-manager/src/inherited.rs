//! The descriptors that a node manager is born with.
#![expect(unsafe_code, reason = "a descriptor number becomes a descriptor")]

use crate::control::{CONTROL_FD, PAGE_FD, SEGMENT_FD};
use rustix::io::{Errno, FdFlags};
use std::os::fd::{BorrowedFd, FromRawFd, OwnedFd, RawFd};

/// The shared memory of the job that `bcs run` made.
#[derive(Debug)]
pub(crate) struct Inherited {
    pub(crate) page: OwnedFd,
    pub(crate) segment: OwnedFd,
}

impl Inherited {
    /// Takes them, and the control socket. To be called once, before anything else in the
    /// process opens a file.
    pub(crate) fn take() -> Result<(OwnedFd, Self), Errno> {
        Ok((
            take(CONTROL_FD)?,
            Self {
                page: take(PAGE_FD)?,
                segment: take(SEGMENT_FD)?,
            },
        ))
    }
}

fn take(number: RawFd) -> Result<OwnedFd, Errno> {
    // SAFETY: only lent to a call that finds out whether it is open.
    let lent = unsafe { BorrowedFd::borrow_raw(number) };
    // Ranks must not inherit it: they would keep the control socket open, or write the segment.
    rustix::io::fcntl_setfd(lent, FdFlags::CLOEXEC)?;
    // SAFETY: it is open, and by the promise of `Inherited::take` nobody else in this process
    // knows it.
    Ok(unsafe { OwnedFd::from_raw_fd(number) })
}
