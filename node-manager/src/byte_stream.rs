//! Single non-blocking calls on a socket or a pipe.
//!
//! The other end of a control channel may be one of our sockets, or a pipe of sshd. We must not
//! make a descriptor non-blocking that other processes hold, too. So each call on a socket carries
//! the flag, and for everything else `poll` first reports whether a call would block. Nobody else
//! reads or writes there, so that answer stays true.

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};
use rustix::time::Timespec;
use std::os::fd::AsFd;

/// A pipe that poll calls writable takes this many bytes without blocking (PIPE_BUF).
const PIPE_BYTES: usize = 4096;

/// Reads once. 0 is the end; EAGAIN means that there is nothing yet.
pub(crate) fn read(from: impl AsFd, buffer: &mut [u8]) -> Result<usize, Errno> {
    match recv(&from, &mut *buffer, RecvFlags::DONTWAIT) {
        Ok((len, _)) => Ok(len),
        Err(Errno::NOTSOCK) => {
            is_ready(&from, PollFlags::IN)?;
            rustix::io::read(&from, buffer)
        }
        Err(errno) => Err(errno),
    }
}

/// Writes once. EAGAIN means that there is no room, EPIPE that nobody reads.
pub(crate) fn write(to: impl AsFd, bytes: &[u8]) -> Result<usize, Errno> {
    match send(&to, bytes, SendFlags::DONTWAIT | SendFlags::NOSIGNAL) {
        Err(Errno::NOTSOCK) => {
            is_ready(&to, PollFlags::OUT)?;
            // Rust ignores SIGPIPE, so here, too, a closed end is an error code.
            rustix::io::write(&to, &bytes[..bytes.len().min(PIPE_BYTES)])
        }
        sent => sent,
    }
}

fn is_ready(fd: impl AsFd, flags: PollFlags) -> Result<(), Errno> {
    let at_once = Timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    match poll(&mut [PollFd::new(&fd, flags)], Some(&at_once))? {
        0 => Err(Errno::AGAIN),
        _ => Ok(()),
    }
}
