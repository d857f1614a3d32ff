//! The end of a rank whose node manager is gone, if that is not its parent.
//!
//! The rank keeps one end of a pair of sockets, over which nothing is ever sent. It gives the other
//! end to its node manager. When that is closed, however its owner has ended, the kernel sends the
//! signal that the rank has chosen (`F_SETSIG`): SIGKILL. So no OS thread of the rank has to wait
//! for it.
#![expect(unsafe_code, reason = "calls of fcntl that no crate has")]

use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use std::os::fd::{AsRawFd as _, OwnedFd};

/// The rank's end.
#[derive(Debug)]
pub(crate) struct Lifeline {
    _held: OwnedFd,
}

impl Lifeline {
    /// Makes a lifeline. Returns it, and the node manager's end.
    pub(crate) fn new() -> Result<(Self, OwnedFd), Errno> {
        let flags = SocketFlags::CLOEXEC;
        let (held, theirs) = socketpair(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
        let own = rustix::process::getpid().as_raw_nonzero().get();
        for (command, argument) in [
            (libc::F_SETOWN, own),
            (F_SETSIG, libc::SIGKILL),
            (libc::F_SETFL, libc::O_ASYNC),
        ] {
            // SAFETY: changes how this open socket of ours notifies this process; the argument is
            // an integer.
            if unsafe { libc::fcntl(held.as_raw_fd(), command, argument) } < 0 {
                let errno = std::io::Error::last_os_error().raw_os_error();
                return Err(Errno::from_raw_os_error(errno.unwrap_or(libc::EINVAL)));
            }
        }
        Ok((Self { _held: held }, theirs))
    }
}

/// The same on all architectures of Linux; the crate libc lacks it.
const F_SETSIG: libc::c_int = 10;
