//! The descriptors that a node manager is born with.
#![expect(unsafe_code, reason = "a descriptor number becomes a descriptor")]

use crate::control::{CONTROL_FD, PAGE_FD, SEGMENT_FD};
use rustix::fs::{Mode, OFlags};
use rustix::io::{Errno, FdFlags};
use rustix::net::{AddressFamily, Shutdown, SocketFlags, SocketType, socketpair};
use std::fs::File;
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

/// The control socket of a node manager of several machines: its standard input and output.
///
/// To be called once, before anything else in the process opens a file.
pub(crate) fn take_standard() -> Result<OwnedFd, Errno> {
    let input = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), FIRST_OWN)?;
    let output = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdout(), FIRST_OWN)?;
    let null = rustix::fs::open("/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())?;
    rustix::stdio::dup2_stdin(&null)?;
    rustix::stdio::dup2_stdout(&null)?;
    if rustix::net::sockopt::socket_type(&input).is_ok() {
        return Ok(input);
    }
    let flags = SocketFlags::CLOEXEC;
    let (near, far) = socketpair(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    let also_far = far.try_clone().map_err(|_| Errno::MFILE)?;
    pump("bcs-in", File::from(input), File::from(also_far));
    pump("bcs-out", File::from(far), File::from(output));
    Ok(near)
}

/// Copies all that comes from one to the other, and shuts that when there is no more.
fn pump(name: &str, mut from: File, mut to: File) {
    let copy = move || {
        // Whatever ends it, there is no more.
        let _ended = std::io::copy(&mut from, &mut to);
        let _shut = rustix::net::shutdown(&to, Shutdown::Write);
    };
    // Without it nothing is heard, and the launcher gives up.
    let _running = std::thread::Builder::new()
        .name(name.to_owned())
        .spawn(copy);
}

/// The first number of descriptors that are not the standard ones.
const FIRST_OWN: RawFd = 3;

fn take(number: RawFd) -> Result<OwnedFd, Errno> {
    // SAFETY: only lent to a call that finds out whether it is open.
    let lent = unsafe { BorrowedFd::borrow_raw(number) };
    // Ranks must not inherit it: they would keep the control socket open, or write the segment.
    rustix::io::fcntl_setfd(lent, FdFlags::CLOEXEC)?;
    // SAFETY: it is open, and by the promise of `Inherited::take` nobody else in this process
    // knows it.
    Ok(unsafe { OwnedFd::from_raw_fd(number) })
}
