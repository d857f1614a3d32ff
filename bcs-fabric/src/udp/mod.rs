//! Nodes on several machines, over datagrams (UDP).
//!
//! Each pair of nodes has a [`Link`](link::Link), a state machine without clock and socket. It
//! carries a stream of control messages, each once and in order, and bulk transfers, whose bytes
//! may come in any order. A PUT, a Compare-And-Write and their answers are control messages; data
//! of messages are transfers. The link stores no copy of a transfer: if bytes are lost, the sender
//! reads them again, from the rank's memory where they stay until the receiver has them all.
//!
//! | file | has |
//! |---|---|
//! | `datagram.rs` | header and frames |
//! | `received_numbers.rs` | which datagrams have come: for acknowledgements, and against repetition |
//! | `round_trip.rs` | the times after which a datagram counts as lost |
//! | `control_stream.rs` | control messages as a stream |
//! | `link.rs` | what is sent when, and what was lost |
//! | `message.rs` | the messages between processes |
//! | `hub/` | all links of a process, and the operations on them |
//! | `port.rs` | a NIC thread's port |
//! | `seal.rs` | the tag of a datagram, against attackers |
//! | `path.rs` | the longest datagram to a peer |
//! | `socket.rs` | the one socket of a process |
//! | `interface.rs` | the address by which a machine is reached |
//! | `datagram_source.rs` | the source of datagrams: the socket, or a test |
//! | `scatter_plan.rs` | what the kernel may put where it belongs |
//! | `datagram_filter.rs` | which datagrams are taken, and how many are not |
//! | `batch.rs` | datagrams that go in one call |
//! | `endpoint.rs` | hub, tags and socket together |
//! | `joining.rs` | endpoints from what all processes advertise |
//! | `poller_gate.rs` | which OS thread polls the socket |
//! | `datagram_network.rs` | a network in virtual time |
//! | `cluster.rs` | hubs joined by it |
//! | `attacker.rs`, `forgery_injector.rs` | an attacker without the key; a cluster under attack |
//!
//! **Why not QUIC.** Its streams copy what they send and store it, which for bulk data is a copy
//! more than a receiver's network card needs. Its handshake and its keys are for unknown peers,
//! where a job has one key. The network need not find out how much may be sent, since the budget of
//! a slice limits it. QUIC's lessons about losses (numbers that are never used twice, ranges that
//! are acknowledged, when to ask again) are applied here as well.

pub mod attacker;
mod batch;
pub mod cluster;
pub mod control_stream;
pub mod datagram;
pub mod datagram_filter;
pub mod datagram_network;
pub mod datagram_source;
mod endpoint;
pub mod forgery_injector;
pub mod hub;
mod interface;
mod joining;
pub mod link;
pub mod message;
pub mod path;
mod poller_gate;
mod port;
pub mod received_numbers;
pub mod round_trip;
pub mod scatter_plan;
pub mod seal;
pub mod socket;

pub use datagram_filter::RejectedDatagrams;
pub use endpoint::{PeerAddress, SealSettings, UdpEndpoint};
pub use hub::{Hub, HubConfig, InboundBytes, PathLimits};
pub use interface::{UnknownInterface, choose_address};
pub use joining::{AdvertisedSocket, JoinError};
pub use link::LinkSettings;
pub use port::UdpPort;
pub use seal::{Crypto, JobKey};
