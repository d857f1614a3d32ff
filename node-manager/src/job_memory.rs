//! The descriptors that a node manager inherits.
#![expect(unsafe_code, reason = "a descriptor number becomes a descriptor")]

use crate::control::{CONTROL_FD, PAGE_FD, SEGMENT_FD};
use rustix::fs::{Mode, OFlags};
use rustix::io::{Errno, FdFlags};
use std::os::fd::{BorrowedFd, FromRawFd, OwnedFd, RawFd};

/// The shared memory of the job that `bcs run` made.
#[derive(Debug)]
pub(crate) struct SharedJobMemory {
    pub(crate) page: OwnedFd,
    pub(crate) segment: OwnedFd,
}

impl SharedJobMemory {
    /// Takes them, and the channel. Call it once, before anything else in the process opens a file.
    pub(crate) fn take() -> Result<(ControlChannel, Self), Errno> {
        let input = take(CONTROL_FD)?;
        let inherited = Self {
            page: take(PAGE_FD)?,
            segment: take(SEGMENT_FD)?,
        };
        // After the others: the new descriptor might take their numbers.
        let output = rustix::io::fcntl_dupfd_cloexec(&input, FIRST_OWN)?;
        Ok((ControlChannel { input, output }, inherited))
    }
}

/// The two directions of the channel to the launcher. A socket is both.
#[derive(Debug)]
pub(crate) struct ControlChannel {
    /// The launcher's messages.
    pub(crate) input: OwnedFd,
    /// Our messages.
    pub(crate) output: OwnedFd,
}

/// Takes the channel of a node manager of several machines: its standard input and output, of
/// whatever kind. Under ssh they are pipes, or two sockets.
///
/// Call it once, before anything else in the process opens a file.
pub(crate) fn take_standard() -> Result<ControlChannel, Errno> {
    let channel = ControlChannel {
        input: rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), FIRST_OWN)?,
        output: rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdout(), FIRST_OWN)?,
    };
    let null = rustix::fs::open("/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())?;
    rustix::stdio::dup2_stdin(&null)?;
    rustix::stdio::dup2_stdout(&null)?;
    Ok(channel)
}

/// The first number after the standard descriptors.
const FIRST_OWN: RawFd = 3;

/// Takes an inherited descriptor. Call it once for each, before anything else opens a file.
///
/// # Errors
/// There is no such descriptor.
pub fn take(number: RawFd) -> Result<OwnedFd, Errno> {
    // SAFETY: lent only to a call that tests whether it is open.
    let lent = unsafe { BorrowedFd::borrow_raw(number) };
    // Ranks must not inherit it: they would keep the control socket open, or write the segment.
    rustix::io::fcntl_setfd(lent, FdFlags::CLOEXEC)?;
    // SAFETY: it is open, and the caller of `SharedJobMemory::take` promises that nobody else in
    // this process uses it.
    Ok(unsafe { OwnedFd::from_raw_fd(number) })
}
