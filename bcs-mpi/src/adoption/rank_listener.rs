//! The socket to which the ranks of a node connect. Its first rank opens it, and gives it to the
//! node manager. Ranks may connect before that has started.

use super::error::{AdoptionError, kernel};
use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind, listen, socket_with, sockopt,
};
use std::fmt::Write as _;
use std::io::Read as _;
use std::os::fd::OwnedFd;

/// The random bytes of a name. Nobody guesses it.
const NAME_BYTES: usize = 16;

/// Connections that may wait: all ranks of the largest node. The kernel may allow fewer
/// (`net.core.somaxconn`); a rank waits then.
const BACKLOG: i32 = 4096;

/// The listening socket.
#[derive(Debug)]
pub(super) struct RankListener(pub(super) OwnedFd);

impl RankListener {
    /// Opens a rank listener. Returns it, and its name.
    pub(super) fn open() -> Result<(Self, String), AdoptionError> {
        let name = random_name()?;
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let rank_listener = socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)
            .map_err(kernel("make a socket"))?;
        // Connections inherit this. It must hold before the first message: the kernel adds the
        // sender's id when a message is sent.
        sockopt::set_socket_passcred(&rank_listener, true).map_err(kernel("prepare a socket"))?;
        bind(&rank_listener, &address(&name)?).map_err(kernel("bind a socket"))?;
        listen(&rank_listener, BACKLOG).map_err(kernel("listen at a socket"))?;
        Ok((Self(rank_listener), name))
    }
}

/// Connects to the rank listener of this name.
pub(super) fn connect(name: &str) -> Result<OwnedFd, AdoptionError> {
    let flags = SocketFlags::CLOEXEC;
    let socket = socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)
        .map_err(kernel("make a socket"))?;
    let address = address(name)?;
    rustix::io::retry_on_intr(|| rustix::net::connect(&socket, &address))
        .map_err(kernel("connect to the node manager of this node"))?;
    let peer = sockopt::socket_peercred(&socket).map_err(kernel("ask who listens at a socket"))?;
    match peer.uid == rustix::process::geteuid() {
        true => Ok(socket),
        false => Err(AdoptionError::Stranger),
    }
}

/// Returns the address of a rank listener, which has no name in a file system.
fn address(name: &str) -> Result<SocketAddrUnix, AdoptionError> {
    SocketAddrUnix::new_abstract_name(name.as_bytes()).map_err(kernel("name a socket"))
}

fn random_name() -> Result<String, AdoptionError> {
    let mut bytes = [0; NAME_BYTES];
    let read = std::fs::File::open("/dev/urandom").and_then(|mut file| file.read_exact(&mut bytes));
    read.map_err(|error| {
        let errno = rustix::io::Errno::from_io_error(&error);
        kernel("read random bytes")(errno.unwrap_or(rustix::io::Errno::IO))
    })?;
    let mut name = "bcs-".to_owned();
    for byte in bytes {
        let _never_fails = write!(name, "{byte:02x}");
    }
    Ok(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_connect_before_anybody_accepts() {
        let (rank_listener, name) = RankListener::open().unwrap();
        let first = connect(&name).unwrap();
        let _second = connect(&name).unwrap();
        assert!(rustix::net::accept(&rank_listener.0).is_ok());
        drop(first);
        drop(rank_listener);
        assert!(connect(&name).is_err(), "the rank_listener is closed");
    }
}
