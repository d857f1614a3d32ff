//! How a process builds its UDP endpoint from the addresses that all processes advertise.

use super::endpoint::{PeerAddress, SealSettings, UdpEndpoint};
use super::hub::{Hub, HubConfig, PathLimits};
use super::link::LinkSettings;
use super::path::{longest_datagram, mtu_of};
use super::socket::Socket;
use bcs_core::clock::now_ns;
use bcs_core::wake::profile::RelativeTime;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

/// The socket by which a process is reached, as it advertises it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AdvertisedSocket {
    /// Its socket.
    pub socket: SocketAddr,
    /// The capacity of the socket's receive buffer, in bytes.
    pub receive_bytes: usize,
}

/// Processes cannot be joined.
#[derive(Debug, thiserror::Error)]
pub enum JoinError {
    /// There is no route to another process.
    #[error("no datagram gets to {to}: {error}; --host-interface says which way to take")]
    Path {
        /// Its socket.
        to: SocketAddr,
        /// The kernel's answer.
        error: io::Error,
    },
    /// The kernel has no descriptor for the endpoint.
    #[error("the wires cannot be set up: {0}")]
    Wires(io::Error),
}

/// How long an acknowledgement waits for something to go with it. Only a sender of much data waits
/// for one.
const ACKNOWLEDGEMENT_DELAY: RelativeTime = RelativeTime::Wakes(30);

/// The most by which an answer may be late: its sender may have to be woken, and others before it.
const ANSWER_DELAY: RelativeTime = RelativeTime::Wakes(20);

/// The sending time of one burst: timers are coarser than that, and each is a wake.
const BURST: RelativeTime = RelativeTime::Wakes(10);

impl UdpEndpoint {
    /// Builds the endpoint of a hub whose configuration lacks only links and paths, to each party
    /// of another machine. `timeout` is how long a node may be silent.
    ///
    /// # Errors
    /// [`JoinError`].
    pub fn join(
        socket: Socket,
        sealing: &SealSettings,
        mut hub: HubConfig,
        reached: &[AdvertisedSocket],
        timeout: Duration,
    ) -> Result<Self, JoinError> {
        let here = socket.local_addr().ip();
        let far = |party: &usize| !hub.machine.contains(hub.parties[*party][0]);
        let far: Vec<usize> = (0..hub.parties.len()).filter(far).collect();
        let mut addresses = Vec::new();
        hub.paths = vec![None; hub.parties.len()];
        for &party in &far {
            let AdvertisedSocket {
                socket: to,
                receive_bytes,
            } = reached[party];
            let mtu = mtu_of(here, to).map_err(|error| JoinError::Path { to, error })?;
            let bytes = longest_datagram(mtu, to.ip()) - sealing.crypto.tag_bytes();
            hub.paths[party] = Some(PathLimits {
                datagram_bytes: bytes,
                window_bytes: (receive_bytes / far.len()) as u64,
            });
            addresses.push(PeerAddress {
                party,
                node: hub.parties[party][0],
                socket: to,
            });
        }
        let thresholds = hub.page.thresholds();
        hub.link = LinkSettings {
            epoch: sealing.epoch,
            acknowledge_ns: thresholds.ns(ACKNOWLEDGEMENT_DELAY),
            grain_ns: thresholds.ns(ANSWER_DELAY),
            burst_ns: thresholds.ns(BURST),
            quiet_ns: u64::try_from(timeout.as_nanos() / 6).unwrap_or(u64::MAX),
            ..hub.link
        };
        let hub = Hub::new(hub, now_ns());
        Self::new(hub, socket, sealing, &addresses).map_err(JoinError::Wires)
    }
}
