//! The choice of the address by which a machine is reached.

use if_addrs::{IfAddr, Interface, get_if_addrs};
use std::net::IpAddr;

/// This machine has no address that fits the request.
#[derive(Debug, thiserror::Error)]
pub enum UnknownInterface {
    /// No address matches.
    #[error(
        "--host-interface {asked} is no interface, address or network of this machine: it has {there}"
    )]
    NotThere {
        /// The request.
        asked: String,
        /// The addresses that there are.
        there: String,
    },
    /// There is no address but the loopback.
    #[error(
        "this machine has no address but those of its loopback: --host-interface lo takes that"
    )]
    None,
    /// The kernel does not list the addresses.
    #[error("the kernel does not say which addresses this machine has: {0}")]
    Unknown(std::io::Error),
}

/// Chooses the address that is requested by itself, by the name of its interface or by its network
/// (10.0.0.0/8). Without a request it takes the first that is not of the loopback, IPv4 before
/// IPv6.
///
/// # Errors
/// [`UnknownInterface`].
pub fn choose_address(asked: Option<&str>) -> Result<IpAddr, UnknownInterface> {
    let mut all = get_if_addrs().map_err(UnknownInterface::Unknown)?;
    // A link-local address needs a scope that no other machine knows.
    all.retain(|one| !is_link_local(&one.ip()));
    all.sort_by_key(|one| one.ip().is_ipv6());
    let found = match asked {
        None => all.iter().find(|one| !one.is_loopback()),
        Some(asked) => all.iter().find(|one| is_asked(one, asked)),
    };
    match (found, asked) {
        (Some(found), _) => Ok(found.ip()),
        (None, None) => Err(UnknownInterface::None),
        (None, Some(asked)) => {
            let there = all.iter().map(|one| format!("{} ({})", one.name, one.ip()));
            Err(UnknownInterface::NotThere {
                asked: asked.to_owned(),
                there: there.collect::<Vec<_>>().join(", "),
            })
        }
    }
}

fn is_link_local(ip: &IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => ip.is_link_local(),
        IpAddr::V6(ip) => ip.is_unicast_link_local(),
    }
}

fn is_asked(one: &Interface, asked: &str) -> bool {
    if one.name == asked || asked.parse() == Ok(one.ip()) {
        return true;
    }
    let Some((network, length)) = asked.split_once('/') else {
        return false;
    };
    let bits = |ip: IpAddr| match ip {
        IpAddr::V4(ip) => (u128::from(ip.to_bits()) << 96, 32),
        IpAddr::V6(ip) => (ip.to_bits(), 128),
    };
    let (Ok(network), Ok(length)) = (network.parse::<IpAddr>(), length.parse::<u32>()) else {
        return false;
    };
    let is_of_its_kind = matches!(
        (&one.addr, network),
        (IfAddr::V4(_), IpAddr::V4(_)) | (IfAddr::V6(_), IpAddr::V6(_))
    );
    let ((ours, most), (theirs, _)) = (bits(one.ip()), bits(network));
    let mask = u128::MAX.checked_shl(128 - length.min(128)).unwrap_or(0);
    is_of_its_kind && length <= most && (ours ^ theirs) & mask == 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    #[test]
    fn the_loopback_is_found_by_name_address_and_network_and_not_by_itself() {
        let lo = IpAddr::V4(Ipv4Addr::LOCALHOST);
        for asked in ["lo", "127.0.0.1", "127.0.0.0/8", "127.0.0.1/32"] {
            assert_eq!(choose_address(Some(asked)).ok(), Some(lo), "{asked}");
        }
        for asked in ["nowhere0", "203.0.113.7", "203.0.113.0/24", "127.0.0.0/x"] {
            let error = choose_address(Some(asked)).unwrap_err().to_string();
            assert!(error.contains("127.0.0.1"), "{error}");
        }
        if let Ok(chosen) = choose_address(None) {
            assert!(!chosen.is_loopback());
        }
    }
}
