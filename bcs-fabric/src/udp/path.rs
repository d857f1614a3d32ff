//! The path to a peer: the longest datagram that it takes.

use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};

use rustix::net::sockopt;

/// The longest datagram of all: the payload in the 65,535 bytes of an IPv4 packet.
pub const MAX_UDP_PAYLOAD_BYTES: usize = 65_507;

/// Returns the bytes of the longest packet that goes from here to a peer in one piece, as far as
/// the kernel knows. That is the interface's limit until a router on the path has refused a longer
/// one.
///
/// # Errors
/// When there is no such address here, or no route to the peer.
pub fn mtu_of(local: IpAddr, to: SocketAddr) -> io::Result<usize> {
    let probe = UdpSocket::bind((local, 0))?;
    probe.connect(to)?;
    let mtu = match to {
        SocketAddr::V4(_) => sockopt::ip_mtu(&probe)?,
        SocketAddr::V6(_) => sockopt::ipv6_mtu(&probe)?,
    };
    Ok(mtu as usize)
}

/// Returns the bytes of the longest datagram, with its tag, that such a packet holds.
#[must_use]
pub fn longest_datagram(mtu: usize, to: IpAddr) -> usize {
    const UDP_HEADER: usize = 8;
    let ip_header = match to {
        IpAddr::V4(_) => 20,
        IpAddr::V6(_) => 40,
    };
    mtu.saturating_sub(ip_header + UDP_HEADER)
        .min(MAX_UDP_PAYLOAD_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{Ipv4Addr, Ipv6Addr};

    #[test]
    fn a_packet_holds_its_headers_and_a_datagram() {
        let (four, six) = (Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into());
        assert_eq!(longest_datagram(1_500, four), 1_472);
        assert_eq!(longest_datagram(1_500, six), 1_452);
        assert_eq!(longest_datagram(65_536, four), MAX_UDP_PAYLOAD_BYTES);
        assert_eq!(longest_datagram(65_536, six), 65_488);
        assert_eq!(longest_datagram(10, six), 0);
    }

    #[test]
    fn the_kernel_knows_the_loopback() {
        let local = IpAddr::from(Ipv4Addr::LOCALHOST);
        // IPv4 requires every network to take as many (RFC 791), and nobody limits the loopback
        // further.
        assert!(mtu_of(local, (local, 9).into()).unwrap() >= 576);
        let local = IpAddr::from(Ipv6Addr::LOCALHOST);
        if UdpSocket::bind((local, 0)).is_ok() {
            assert!(mtu_of(local, (local, 9).into()).unwrap() >= 1_280);
        }
    }

    /// A byte more, and no datagram of that length arrives.
    #[test]
    fn the_loopback_takes_what_its_interface_takes() {
        let Ok(mtu) = std::fs::read_to_string("/sys/class/net/lo/mtu") else {
            return;
        };
        let mtu: usize = mtu.trim().parse().unwrap();
        let local = IpAddr::from(Ipv4Addr::LOCALHOST);
        // A packet of IPv4 has no more bytes than its length can hold (RFC 791).
        assert_eq!(mtu_of(local, (local, 9).into()).unwrap(), mtu.min(65_535));
    }

    #[test]
    fn an_address_of_others_has_no_path_from_here() {
        // It is an address for documentation (RFC 5737), so this machine does not have it.
        let foreign = IpAddr::from(Ipv4Addr::new(203, 0, 113, 7));
        assert!(mtu_of(foreign, (foreign, 9).into()).is_err());
    }
}
