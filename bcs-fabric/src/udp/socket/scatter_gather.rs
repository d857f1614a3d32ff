//! System calls of a socket that receive into many places, peek at what comes next, and send from
//! many places. quinn-udp takes only one place for a message.
#![expect(
    unsafe_code,
    reason = "recvmsg and sendmsg with places that are named by address"
)]

use super::super::datagram_source::{CoalescedDatagrams, ScatterList};
use std::io;
use std::mem;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsRawFd, BorrowedFd};

use socket2::SockAddr;

/// Room for the kernel's control messages, in words: those that quinn-udp has requested, a type of
/// service, an address, and the length of each datagram.
const CONTROL_WORDS: usize = 16;

/// Receives a piece into these places, or peeks at its first bytes.
///
/// # Errors
/// The kernel's answer.
pub(super) fn receive(
    socket: BorrowedFd<'_>,
    places: &ScatterList<'_>,
    takes: bool,
) -> io::Result<CoalescedDatagrams> {
    let mut control = [0_u64; CONTROL_WORDS];
    // SAFETY: zeros are an address of no family.
    let mut from: libc::sockaddr_storage = unsafe { mem::zeroed() };
    // SAFETY: zeros are a message of nothing.
    let mut message: libc::msghdr = unsafe { mem::zeroed() };
    message.msg_name = (&raw mut from).cast();
    message.msg_namelen = length(mem::size_of_val(&from));
    message.msg_iov = places.as_slice().as_ptr().cast_mut();
    message.msg_iovlen = places.as_slice().len();
    message.msg_control = control.as_mut_ptr().cast();
    message.msg_controllen = mem::size_of_val(&control);
    let flags = match takes {
        true => libc::MSG_DONTWAIT,
        // The kernel returns the whole length, however few bytes it copies.
        false => libc::MSG_DONTWAIT | libc::MSG_PEEK | libc::MSG_TRUNC,
    };
    let bytes = loop {
        // SAFETY: the places are valid for writes: ours are borrowed, and those of ranks are lent.
        // All else lives here.
        let received = unsafe { libc::recvmsg(socket.as_raw_fd(), &raw mut message, flags) };
        match usize::try_from(received) {
            Ok(bytes) => break bytes,
            Err(_) => {
                let error = io::Error::last_os_error();
                if error.kind() != io::ErrorKind::Interrupted {
                    return Err(error);
                }
            }
        }
    };
    Ok(CoalescedDatagrams {
        from: address(&from),
        bytes,
        each: each(&message).unwrap_or(bytes),
    })
}

/// Sends datagrams of one length, but for the last one, from these places.
///
/// # Errors
/// The kernel's answer.
pub(super) fn send(
    socket: BorrowedFd<'_>,
    to: SocketAddr,
    places: &ScatterList<'_>,
    each: Option<u16>,
) -> io::Result<()> {
    let to = SockAddr::from(to);
    let mut control = [0_u64; CONTROL_WORDS];
    // SAFETY: zeros are a message of nothing.
    let mut message: libc::msghdr = unsafe { mem::zeroed() };
    message.msg_name = to.as_ptr().cast_mut().cast();
    message.msg_namelen = to.len();
    message.msg_iov = places.as_slice().as_ptr().cast_mut();
    message.msg_iovlen = places.as_slice().len();
    if let Some(each) = each {
        let bytes = u32::try_from(mem::size_of::<u16>()).expect("it is short");
        message.msg_control = control.as_mut_ptr().cast();
        // SAFETY: it only computes.
        message.msg_controllen = unsafe { libc::CMSG_SPACE(bytes) } as usize;
        // SAFETY: there is room for it, which is aligned.
        let head = unsafe { libc::CMSG_FIRSTHDR(&raw const message) };
        // SAFETY: it only computes.
        let cmsg_len = unsafe { libc::CMSG_LEN(bytes) } as usize;
        let filled = libc::cmsghdr {
            cmsg_len,
            cmsg_level: libc::SOL_UDP,
            cmsg_type: libc::UDP_SEGMENT,
        };
        // SAFETY: there is room for a head.
        unsafe { head.write(filled) };
        // SAFETY: a head with data.
        let data = unsafe { libc::CMSG_DATA(head) };
        // SAFETY: there is room for a number.
        unsafe { data.cast::<u16>().write_unaligned(each) };
    }
    loop {
        // SAFETY: the places are valid for reads: ours are borrowed, and those of ranks are lent.
        // All else lives here.
        let sent =
            unsafe { libc::sendmsg(socket.as_raw_fd(), &raw const message, libc::MSG_DONTWAIT) };
        if sent >= 0 {
            return Ok(());
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

fn length(bytes: usize) -> libc::socklen_t {
    libc::socklen_t::try_from(bytes).expect("it is short")
}

/// Returns the length of each datagram, if several were joined.
fn each(message: &libc::msghdr) -> Option<usize> {
    // SAFETY: the kernel has filled in the message, and its room is there.
    let mut next = unsafe { libc::CMSG_FIRSTHDR(message) };
    while !next.is_null() {
        // SAFETY: a head that the kernel has written; it is a multiple of words from the first.
        let head = unsafe { next.read() };
        if (head.cmsg_level, head.cmsg_type) == (libc::SOL_UDP, libc::UDP_GRO) {
            // SAFETY: such a head.
            let data = unsafe { libc::CMSG_DATA(next) };
            // SAFETY: it is a number.
            let each = unsafe { data.cast::<libc::c_int>().read_unaligned() };
            return usize::try_from(each).ok().filter(|&each| each > 0);
        }
        // SAFETY: as for the first.
        next = unsafe { libc::CMSG_NXTHDR(message, next) };
    }
    None
}

/// Returns the address of the sender, or the unspecified one if it is not an IP address.
fn address(from: &libc::sockaddr_storage) -> SocketAddr {
    let from = &raw const *from;
    // SAFETY: it has a family, whatever it is.
    match i32::from(unsafe { (*from).ss_family }) {
        libc::AF_INET => {
            // SAFETY: the address is one of this family.
            let from = unsafe { from.cast::<libc::sockaddr_in>().read() };
            let ip = Ipv4Addr::from(u32::from_be(from.sin_addr.s_addr));
            SocketAddr::from((ip, u16::from_be(from.sin_port)))
        }
        libc::AF_INET6 => {
            // SAFETY: the address is one of this family.
            let from = unsafe { from.cast::<libc::sockaddr_in6>().read() };
            let ip = Ipv6Addr::from(from.sin6_addr.s6_addr);
            SocketAddr::from((ip, u16::from_be(from.sin6_port)))
        }
        _ => SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0)),
    }
}
