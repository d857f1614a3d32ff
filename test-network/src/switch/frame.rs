//! The parts of frames that the switch reads and writes: addresses, UDP datagrams, checksums.

use std::ops::Range;

use etherparse::{IpNumber, NetSlice, SlicedPacket, UdpHeader, UdpSlice};

use super::fate::ByteCorruption;

/// The length of an Ethernet address.
const ADDRESS: usize = 6;
const UDP_CHECKSUM: Range<usize> = 6..8;
const UDP_HEADER: usize = 8;

/// An Ethernet address.
pub(super) type Address = [u8; ADDRESS];

/// Returns the destination and the source of a frame, unless it is too short.
pub(super) fn addresses(frame: &[u8]) -> Option<(Address, Address)> {
    let (to, rest) = frame.split_first_chunk()?;
    Some((*to, *rest.first_chunk()?))
}

/// Returns whether an address is one of many hosts.
pub(super) fn is_group(address: Address) -> bool {
    address[0] & 1 == 1
}

/// A datagram of UDP in a frame, or a fragment of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Datagram {
    /// The place of its header and its payload in the frame. A fragment has none: the checksum of
    /// the whole datagram could not be corrected.
    whole: Option<Range<usize>>,
}

impl Datagram {
    /// Finds the datagram in a frame. A malformed frame has none.
    pub(super) fn find(frame: &[u8]) -> Option<Self> {
        let packet = SlicedPacket::from_ethernet(frame).ok()?;
        let ip = packet.net.as_ref()?.ip_payload_ref()?;
        if ip.ip_number != IpNumber::UDP {
            return None;
        }
        let start = ip.payload.as_ptr().addr() - frame.as_ptr().addr();
        let length = UdpSlice::from_slice(ip.payload).map(|udp| udp.slice().len());
        let whole = length.ok().filter(|_| !ip.fragmented);
        Some(Self {
            whole: whole.map(|length| start..start + length),
        })
    }

    /// Changes a byte of the payload, and corrects the checksum. Returns whether there was a byte.
    pub(super) fn corrupt(&self, frame: &mut [u8], change: ByteCorruption) -> bool {
        let Some(whole) = self.whole.clone() else {
            return false;
        };
        let carried = &mut frame[whole.clone()][UDP_HEADER..];
        if carried.is_empty() {
            return false;
        }
        carried[change.place(carried.len())] ^= change.flip;
        let checksum = whole.start + UDP_CHECKSUM.start..whole.start + UDP_CHECKSUM.end;
        // Over IPv4 a sender may omit the checksum.
        if frame[checksum.clone()] != [0, 0] {
            let right = udp_checksum(frame).expect("a datagram was found in it");
            frame[checksum].copy_from_slice(&right.to_be_bytes());
        }
        true
    }
}

/// Computes the checksum that the datagram in this frame should have.
pub(super) fn udp_checksum(frame: &[u8]) -> Option<u16> {
    let packet = SlicedPacket::from_ethernet(frame).ok()?;
    let net = packet.net.as_ref()?;
    let udp = UdpSlice::from_slice(net.ip_payload_ref()?.payload).ok()?;
    let header: UdpHeader = udp.to_header();
    let checksum = match net {
        NetSlice::Ipv4(ip) => {
            let ip = ip.header();
            header.calc_checksum_ipv4_raw(ip.source(), ip.destination(), udp.payload())
        }
        NetSlice::Ipv6(ip) => {
            let ip = ip.header();
            header.calc_checksum_ipv6_raw(ip.source(), ip.destination(), udp.payload())
        }
        NetSlice::Arp(_) => return None,
    };
    checksum.ok()
}

/// Computes the checksum that the kernel of the sender has left to its device. It covers all from
/// `start`, with the value that the kernel has put into the field at `offset` from there. Returns
/// false if that is not in the frame.
#[must_use]
pub fn finish_checksum(frame: &mut [u8], start: usize, offset: usize) -> bool {
    let Some(summed) = frame.get_mut(start..) else {
        return false;
    };
    let words = summed.chunks(2).map(|pair| match *pair {
        [high, low] => u64::from(u16::from_be_bytes([high, low])),
        [high] => u64::from(u16::from_be_bytes([high, 0])),
        _ => 0,
    });
    let mut sum: u64 = words.sum();
    while sum > u64::from(u16::MAX) {
        sum = (sum & u64::from(u16::MAX)) + (sum >> 16);
    }
    let sum = u16::try_from(sum).expect("it was folded");
    // In UDP 0 means that there is no checksum. In TCP both mean the same.
    let checksum = if sum == u16::MAX { sum } else { !sum };
    match summed.get_mut(offset..offset + 2) {
        Some(field) => {
            field.copy_from_slice(&checksum.to_be_bytes());
            true
        }
        None => false,
    }
}
