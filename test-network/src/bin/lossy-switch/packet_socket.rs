//! A socket that receives and sends the frames of an interface.
//!
//! *Offloads.* A sender's kernel leaves two tasks to its device: the checksums of UDP and TCP, and
//! the cutting of long segments into frames. A veth passes both on undone. The socket completes the
//! checksums (`PACKET_VNET_HDR` locates them), since to switch this offload off takes an `ioctl` on
//! each host, or the program `ethtool`. The host cuts the segments, since its `eth0` has
//! `gso_max_segs 1`, which `ip` can set. So datagrams that are sent in one call (`UDP_SEGMENT`)
//! have a fate each, and TCP costs what it costs on a device without offloads.

#![expect(
    unsafe_code,
    reason = "no library knows addresses and options of AF_PACKET"
)]

use std::ffi::c_int;
use std::io;
use std::mem::size_of;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::netdevice::name_to_index;
use rustix::net::sockopt::set_socket_recv_buffer_size_force;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};
use test_network::finish_checksum;

/// The size of `struct virtio_net_hdr`, which precedes each frame.
const HEADER: usize = 10;
const NEEDS_CHECKSUM: u8 = 1;
const NOT_SEGMENTED: u8 = 0;

/// Room for a header and a frame of any length.
pub(super) const FRAME: usize = HEADER + (64 << 10) + 64;

/// The buffer for frames that come before the switch gets a core: some thousand, for which the
/// kernel counts 2 KiB and more each.
const RECEIVE_BUFFER: usize = 16 << 20;

/// A socket for all frames of an interface.
#[derive(Debug)]
pub(super) struct PacketSocket {
    socket: OwnedFd,
}

impl AsFd for PacketSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl PacketSocket {
    /// Opens the socket of an interface of this network namespace.
    pub(super) fn open(interface: &str) -> io::Result<Self> {
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        // Without a protocol it receives nothing until it is bound to the interface.
        let socket = socket_with(AddressFamily::PACKET, SocketType::RAW, flags, None)?;
        let index = name_to_index(&socket, interface)?;
        set_socket_recv_buffer_size_force(&socket, RECEIVE_BUFFER)?;
        let socket = Self { socket };
        socket.set(libc::PACKET_VNET_HDR)?;
        socket.set(libc::PACKET_IGNORE_OUTGOING)?;
        socket.bind(index)?;
        Ok(socket)
    }

    /// Switches an option on.
    fn set(&self, option: c_int) -> io::Result<()> {
        let on: c_int = 1;
        // SAFETY: the kernel reads as many bytes as `on` has.
        let done = unsafe {
            libc::setsockopt(
                self.socket.as_raw_fd(),
                libc::SOL_PACKET,
                option,
                (&raw const on).cast(),
                length_of::<c_int>(),
            )
        };
        succeeded(done)
    }

    fn bind(&self, index: u32) -> io::Result<()> {
        let address = libc::sockaddr_ll {
            sll_family: u16::try_from(libc::AF_PACKET).expect("it is 17"),
            sll_protocol: u16::try_from(libc::ETH_P_ALL).expect("it is 3").to_be(),
            sll_ifindex: i32::try_from(index).map_err(io::Error::other)?,
            sll_hatype: 0,
            sll_pkttype: 0,
            sll_halen: 0,
            sll_addr: [0; 8],
        };
        // SAFETY: the kernel reads as many bytes as `address` has.
        let done = unsafe {
            libc::bind(
                self.socket.as_raw_fd(),
                (&raw const address).cast(),
                length_of::<libc::sockaddr_ll>(),
            )
        };
        succeeded(done)
    }

    /// Returns how many unread frames the kernel has dropped since the last call.
    pub(super) fn overrun(&self) -> io::Result<u64> {
        let mut found = libc::tpacket_stats {
            tp_packets: 0,
            tp_drops: 0,
        };
        let mut length = length_of::<libc::tpacket_stats>();
        // SAFETY: the kernel writes at most as many bytes as `length` says, and `found` has these.
        let done = unsafe {
            libc::getsockopt(
                self.socket.as_raw_fd(),
                libc::SOL_PACKET,
                libc::PACKET_STATISTICS,
                (&raw mut found).cast(),
                &raw mut length,
            )
        };
        succeeded(done).map(|()| found.tp_drops.into())
    }

    /// Receives the next frame, with its checksum, if there is one.
    pub(super) fn receive<'a>(&self, buffer: &'a mut [u8]) -> io::Result<Option<&'a [u8]>> {
        let length = match rustix::io::read(&self.socket, &mut *buffer) {
            Ok(length) => length,
            // The port is cut. The kernel reports this once.
            Err(Errno::AGAIN | Errno::INTR | Errno::NETDOWN) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let Some((header, frame)) = buffer[..length].split_first_chunk_mut::<HEADER>() else {
            return Err(io::Error::other("a frame has come without its header"));
        };
        let [flags, segmented, _, _, _, _, start @ .., offset_0, offset_1] = *header;
        if segmented != NOT_SEGMENTED {
            return Err(io::Error::other(format!(
                "segments of kind {segmented} have come: give the host's eth0 `gso_max_segs 1`"
            )));
        }
        let start = u16::from_ne_bytes(start).into();
        let offset = u16::from_ne_bytes([offset_0, offset_1]).into();
        if flags & NEEDS_CHECKSUM != 0 && !finish_checksum(frame, start, offset) {
            return Err(io::Error::other("a frame ends before its checksum"));
        }
        Ok(Some(frame))
    }

    /// Sends a frame. Returns whether the kernel has taken it; it does so unless the port is cut.
    pub(super) fn send(&self, frame: &[u8]) -> io::Result<bool> {
        // No work is left for a device: the header is zero.
        let header = io::IoSlice::new(&[0; HEADER]);
        match rustix::io::writev(&self.socket, &[header, io::IoSlice::new(frame)]) {
            Ok(_) => Ok(true),
            Err(Errno::NETDOWN | Errno::NXIO | Errno::NOBUFS | Errno::AGAIN) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
}

fn length_of<T>() -> libc::socklen_t {
    libc::socklen_t::try_from(size_of::<T>()).expect("it is short")
}

fn succeeded(done: c_int) -> io::Result<()> {
    match done {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
