//! The socket of a process: all its datagrams, to and from all peers, go through one.
//!
//! It is a thin driver: it never blocks, stores nothing for later, and leaves losses to the links.
//! Datagrams of one length to one peer go in one call, and the kernel and the network card cut them
//! apart as late as they can (GSO). One call takes what comes, several datagrams of a peer in one
//! piece (GRO).
//!
//! | the kernel's answer | its meaning |
//! |---|---|
//! | `EAGAIN` | [`SendFailureReason::Full`]: the caller waits until the socket is writable |
//! | `ENOBUFS`, `ENOMEM` | [`SendFailureReason::Busy`]: the caller tries again later; the socket may be writable all the while |
//! | `EMSGSIZE` | [`SendFailureReason::TooLong`]: the path takes less; the caller calls [`mtu_of`](super::path::mtu_of) again |
//! | `ECONNREFUSED` | counted, and the call's datagrams lost: an earlier one reached a host where nobody listens |
//! | `EPERM`, `EACCES` | counted as lost: a firewall's rule, which may change |
//! | `ENETUNREACH`, `EHOSTUNREACH`, `ENETDOWN`, `EHOSTDOWN` | counted as lost: a cable may be plugged in again |
//! | `EINTR` | nothing: the call is made again |
//! | `EIO`, `EINVAL` with several datagrams | no GSO from now on: these and all others go one by one |
//! | anything else | [`SendFailureReason::Failed`]: our own mistake |
//!
//! No datagram is fragmented (the don't-fragment bit is set), since the loss of any fragment would
//! be the loss of all.

mod scatter_gather;
#[cfg(test)]
mod tests;

use std::io::{self, IoSliceMut};
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::ops::RangeInclusive;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use quinn_udp::{RecvMeta, Transmit, UdpSockRef, UdpSocketState};
use rustix::io::Errno;
use rustix::net::sockopt::{self, Ipv4PathMtuDiscovery, Ipv6PathMtuDiscovery};

use super::datagram_source::{CoalescedDatagrams, DatagramSource, PIECE_BYTES, ScatterList};
use super::path::MAX_UDP_PAYLOAD_BYTES;

/// The requested size of each of the socket's buffers: the data of 10 ms on a network of 25 Gbit/s.
/// The kernel takes memory only for what is in them, and gives a smaller buffer unless
/// `net.core.rmem_max` allows it.
const BUFFER_BYTES: usize = 32 << 20;

/// The pieces that one call takes, each of one peer: 1 MiB at most, which an L2 cache holds.
const PIECES: usize = 16;

/// The traffic of a socket in one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SocketTraffic {
    /// Datagrams.
    pub datagrams: u64,
    /// Their bytes, with tags and without the headers of UDP and IP.
    pub bytes: u64,
    /// System calls that moved any.
    pub calls: u64,
}

impl SocketTraffic {
    fn add(&mut self, datagrams: usize, bytes: usize) {
        self.datagrams += datagrams as u64;
        self.bytes += bytes as u64;
        self.calls += 1;
    }
}

/// The traffic and the failures of a socket so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SocketCounters {
    /// Sent, as far as the kernel reports.
    pub sent: SocketTraffic,
    /// Received.
    pub received: SocketTraffic,
    /// Calls that found the send buffer full.
    pub full: u64,
    /// Calls that found the kernel or the network card without memory.
    pub busy: u64,
    /// Calls that found the datagram too long for its path.
    pub too_long: u64,
    /// Calls that reported a peer that does not listen.
    pub refused: u64,
    /// Datagrams that a firewall did not let out.
    pub forbidden: u64,
    /// Datagrams to hosts without a route.
    pub unreachable: u64,
}

/// The socket could not be bound.
#[derive(Debug, thiserror::Error)]
pub enum BindError {
    /// All ports are taken.
    #[error(
        "failed to bind a UDP port of {address}: none from {first} to {last} is free; \
         give another range, or end what holds them (ss -ulpn lists it)"
    )]
    Taken {
        /// The address of this machine.
        address: IpAddr,
        /// The first port.
        first: u16,
        /// The last.
        last: u16,
    },
    /// The kernel refuses.
    #[error(
        "failed to bind UDP port {port} of {address}: {error}; \
         give an address of this machine (ip address lists them) and a port that this user may have"
    )]
    Denied {
        /// The address, which should be of this machine.
        address: IpAddr,
        /// The port.
        port: u16,
        /// The kernel's answer.
        error: io::Error,
    },
}

/// The reason why a batch did not go on.
#[derive(Debug, thiserror::Error)]
pub enum SendFailureReason {
    /// The send buffer is full. It goes on when the socket is writable.
    #[error("the socket's send buffer is full")]
    Full,
    /// There is no memory for it now. It may go on at any time, and nothing notifies the caller.
    #[error("the kernel or the network card has no room")]
    Busy,
    /// The next datagram is longer than the path takes.
    #[error("the path takes no datagram of this length")]
    TooLong,
    /// An unexpected error.
    #[error(transparent)]
    Failed(io::Error),
}

/// A batch that did not go whole.
#[derive(Debug, thiserror::Error)]
#[error("failed to send a datagram: {why}")]
pub struct SendFailure {
    /// Bytes of the batch that have gone. Datagrams from there on have not.
    pub sent: usize,
    /// The reason.
    pub why: SendFailureReason,
}

/// A UDP socket.
#[derive(Debug)]
pub struct Socket {
    socket: UdpSocket,
    offload: UdpSocketState,
    address: SocketAddr,
    receive_bytes: usize,
    /// Room for what one call takes.
    room: Vec<u8>,
    counters: SocketCounters,
}

impl Socket {
    /// Binds a socket to the first of these ports that is free.
    ///
    /// # Errors
    /// [`BindError`].
    pub fn bind(address: IpAddr, ports: RangeInclusive<u16>) -> Result<Self, BindError> {
        for port in ports.clone() {
            let bound = UdpSocket::bind((address, port)).and_then(Self::new);
            match bound {
                Err(error) if error.kind() == io::ErrorKind::AddrInUse => (),
                Err(error) => {
                    return Err(BindError::Denied {
                        address,
                        port,
                        error,
                    });
                }
                Ok(socket) => return Ok(socket),
            }
        }
        let (first, last) = ports.into_inner();
        Err(BindError::Taken {
            address,
            first,
            last,
        })
    }

    fn new(socket: UdpSocket) -> io::Result<Self> {
        // Makes it non-blocking, and has the kernel join what comes.
        let offload = UdpSocketState::new(UdpSockRef::from(&socket))?;
        let address = socket.local_addr()?;
        // The kernel shall report what a router has refused on a path, not only the interface's
        // limit.
        match address {
            SocketAddr::V4(_) => sockopt::set_ip_mtu_discover(&socket, Ipv4PathMtuDiscovery::DO)?,
            SocketAddr::V6(_) => sockopt::set_ipv6_mtu_discover(&socket, Ipv6PathMtuDiscovery::DO)?,
        }
        // A privileged process may exceed the limit.
        sockopt::set_socket_recv_buffer_size_force(&socket, BUFFER_BYTES)
            .or_else(|_| sockopt::set_socket_recv_buffer_size(&socket, BUFFER_BYTES))?;
        sockopt::set_socket_send_buffer_size_force(&socket, BUFFER_BYTES)
            .or_else(|_| sockopt::set_socket_send_buffer_size(&socket, BUFFER_BYTES))?;
        // Linux doubles the size for its own overhead, and reports the doubled size.
        let receive_bytes = sockopt::socket_recv_buffer_size(&socket)? / 2;
        Ok(Self {
            socket,
            offload,
            address,
            receive_bytes,
            room: vec![0; PIECES * PIECE_BYTES],
            counters: SocketCounters::default(),
        })
    }

    /// Duplicates the socket for another OS thread. Each copy counts its own traffic.
    ///
    /// # Errors
    /// The kernel's answer.
    pub fn duplicate(&self) -> io::Result<Self> {
        Self::new(self.socket.try_clone()?)
    }

    /// Returns its descriptor, to wait for it.
    ///
    /// # Errors
    /// The kernel's answer.
    pub fn clone_fd(&self) -> io::Result<OwnedFd> {
        self.socket.as_fd().try_clone_to_owned()
    }

    /// Returns its address.
    #[must_use]
    pub fn local_addr(&self) -> SocketAddr {
        self.address
    }

    /// Returns the bytes of datagrams, of all peers together, that may come before a call takes
    /// them. The number is smaller for datagrams much shorter than 1,400 bytes, since each takes
    /// some hundred bytes beside its own.
    #[must_use]
    pub fn receive_bytes(&self) -> usize {
        self.receive_bytes
    }

    /// Returns the traffic and the failures so far.
    #[must_use]
    pub fn counters(&self) -> &SocketCounters {
        &self.counters
    }

    /// Sends datagrams to a peer: each of `datagram_bytes`, but for the last, which may be shorter.
    ///
    /// # Errors
    /// [`SendFailure`], when not all have gone or are counted as lost.
    ///
    /// # Panics
    /// When datagrams have no bytes, or more than there may be.
    pub fn send(
        &mut self,
        to: SocketAddr,
        batch: &[u8],
        datagram_bytes: usize,
    ) -> Result<(), SendFailure> {
        assert!(
            (1..=MAX_UDP_PAYLOAD_BYTES).contains(&datagram_bytes),
            "{datagram_bytes} bytes"
        );
        let mut sent = 0;
        while sent < batch.len() {
            let at_once = self
                .offload
                .max_gso_segments()
                .min(MAX_UDP_PAYLOAD_BYTES / datagram_bytes);
            let rest = &batch[sent..];
            let piece = &rest[..rest.len().min(at_once * datagram_bytes)];
            let datagrams = piece.len().div_ceil(datagram_bytes);
            let transmit = Transmit {
                destination: to,
                ecn: None,
                contents: piece,
                segment_size: (datagrams > 1).then_some(datagram_bytes),
                src_ip: None,
            };
            match self
                .offload
                .try_send(UdpSockRef::from(&self.socket), &transmit)
            {
                Ok(()) => self.counters.sent.add(datagrams, piece.len()),
                // The next turn offers them again, one by one.
                Err(_) if datagrams > self.offload.max_gso_segments() => continue,
                Err(error) => {
                    let lost = self.counters.handle_send_error(error, datagrams);
                    lost.map_err(|why| SendFailure { sent, why })?;
                }
            }
            sent += piece.len();
        }
        Ok(())
    }

    /// Sends datagrams that lie in pieces, in one call. Returns false if they did not go: then they
    /// are to be sent in one piece.
    pub fn send_pieces(
        &mut self,
        to: SocketAddr,
        places: &ScatterList<'_>,
        (bytes, datagram_bytes): (usize, usize),
    ) -> bool {
        let datagrams = bytes.div_ceil(datagram_bytes);
        let Ok(each) = u16::try_from(datagram_bytes) else {
            return false;
        };
        if datagrams > self.offload.max_gso_segments() || bytes > MAX_UDP_PAYLOAD_BYTES {
            return false;
        }
        let each = (datagrams > 1).then_some(each);
        let is_sent = scatter_gather::send(self.socket.as_fd(), to, places, each).is_ok();
        if is_sent {
            self.counters.sent.add(datagrams, bytes);
        }
        is_sent
    }

    /// Filters the kernel's answer to a receiving call. Returns `None` when there is nothing, or
    /// only the report that a peer does not listen.
    fn filter_receive_error<T>(&mut self, answer: io::Result<T>) -> io::Result<Option<T>> {
        match answer {
            Ok(received) => Ok(Some(received)),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                self.counters.refused += 1;
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }
}

impl DatagramSource for Socket {
    fn receive(
        &mut self,
        pieces: usize,
        each: &mut dyn FnMut(SocketAddr, &mut [u8]),
    ) -> io::Result<usize> {
        let most = pieces.min(PIECES);
        let mut heads = [RecvMeta::default(); PIECES];
        let mut room = std::mem::take(&mut self.room);
        let mut pieces = room.chunks_exact_mut(PIECE_BYTES).map(IoSliceMut::new);
        let mut pieces: [_; PIECES] = std::array::from_fn(|_| pieces.next().expect("as many"));
        let socket = UdpSockRef::from(&self.socket);
        let count = self.offload.recv(socket, &mut pieces[..most], &mut heads);
        let count = self.filter_receive_error(count);
        let (mut datagrams, mut bytes) = (0, 0);
        if let Ok(Some(count)) = count {
            for (piece, head) in pieces.iter_mut().zip(&heads[..count]) {
                for datagram in piece[..head.len].chunks_mut(head.stride.max(1)) {
                    datagrams += 1;
                    bytes += datagram.len();
                    each(head.addr, datagram);
                }
            }
            self.counters.received.add(datagrams, bytes);
        }
        self.room = room;
        count.map(|_| datagrams)
    }

    fn peek(&mut self, front: &mut [u8]) -> io::Result<Option<CoalescedDatagrams>> {
        let mut place = ScatterList::with_capacity(1);
        place.add(front);
        let seen = scatter_gather::receive(self.socket.as_fd(), &place, false);
        self.filter_receive_error(seen)
    }

    fn scatter(&mut self, places: &ScatterList<'_>) -> io::Result<Option<CoalescedDatagrams>> {
        let taken = scatter_gather::receive(self.socket.as_fd(), places, true);
        let taken = self.filter_receive_error(taken)?;
        if let Some(joined) = taken {
            let datagrams = joined.bytes.div_ceil(joined.each.max(1));
            self.counters.received.add(datagrams, joined.bytes);
        }
        Ok(taken)
    }
}

impl SocketCounters {
    /// Handles a send error: returns `Ok` if the datagrams count as lost on their path.
    fn handle_send_error(
        &mut self,
        error: io::Error,
        datagrams: usize,
    ) -> Result<(), SendFailureReason> {
        match Errno::from_io_error(&error) {
            Some(Errno::AGAIN) => {
                self.full += 1;
                Err(SendFailureReason::Full)
            }
            Some(Errno::NOBUFS | Errno::NOMEM) => {
                self.busy += 1;
                Err(SendFailureReason::Busy)
            }
            Some(Errno::MSGSIZE) => {
                self.too_long += 1;
                Err(SendFailureReason::TooLong)
            }
            Some(Errno::CONNREFUSED) => {
                self.refused += 1;
                Ok(())
            }
            Some(Errno::PERM | Errno::ACCESS) => {
                self.forbidden += datagrams as u64;
                Ok(())
            }
            Some(Errno::NETUNREACH | Errno::HOSTUNREACH | Errno::NETDOWN | Errno::HOSTDOWN) => {
                self.unreachable += datagrams as u64;
                Ok(())
            }
            _ => Err(SendFailureReason::Failed(error)),
        }
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
