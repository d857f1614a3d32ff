//! The socket of one rank.

use rustix::io::Errno;
use rustix::net::{AddressFamily, SendFlags, SocketFlags, SocketType, send, socketpair};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// The node manager's end of the PMI socket of one rank.
#[derive(Debug)]
pub(crate) struct PmiConnection {
    pub(crate) socket: OwnedFd,
}

impl PmiConnection {
    /// Opens a connection. Returns it, and the rank's end of the socket.
    pub(crate) fn open() -> Result<(Self, OwnedFd), Errno> {
        let flags = SocketFlags::CLOEXEC;
        let (socket, rank_end) = socketpair(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
        Ok((Self { socket }, rank_end))
    }

    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// Sends a line. A rank that is gone meanwhile needs none.
    pub(crate) fn send(&self, mut line: String) -> Result<(), Errno> {
        line.push('\n');
        let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
        let mut rest = line.as_bytes();
        while !rest.is_empty() {
            match send(&self.socket, rest, flags) {
                Ok(sent) => rest = &rest[sent..],
                Err(Errno::INTR) => {}
                Err(Errno::PIPE | Errno::CONNRESET) => return Ok(()),
                Err(errno) => return Err(errno),
            }
        }
        Ok(())
    }
}
