//! Nodes on several machines, over datagrams (UDP).
//!
//! Each pair of nodes has a [`Link`](link::Link), a state machine without clock and socket: a stream of control messages,
//! each once and in order, and bulk transfers, whose bytes may come in any order. A PUT, a Compare-And-Write and what
//! answers them are control messages; data of messages are transfers. So nothing is kept twice: of what is lost of a
//! transfer the sender reads the bytes again, from the rank's memory where they stay until the receiver has them all.
//!
//! | file | has |
//! |---|---|
//! | `datagram.rs` | header and frames |
//! | `seen.rs` | which datagrams have come: for acknowledgements, and against repetition |
//! | `round_trip.rs` | how long is too long |
//! | `control.rs` | control messages as a stream |
//! | `link.rs` | who sends what when, and what was lost |
//! | `message.rs` | what processes say to each other |
//! | `hub/` | all links of a process, and the operations on them |
//! | `port.rs` | a NIC thread's port |
//! | `seal.rs` | the tag of a datagram, against strangers |
//! | `path.rs` | how long a datagram may be on its way to a peer |
//! | `socket.rs` | the one socket of a process |
//! | `interface.rs` | by which address a machine is reached |
//! | `inlet.rs` | where datagrams come from: the socket, or a test |
//! | `placing.rs` | what the kernel may put where it belongs |
//! | `entrance.rs` | what is taken of all that comes, and how much is not |
//! | `batch.rs` | datagrams that go in one call |
//! | `wires.rs` | hub, tags and socket together |
//! | `joining.rs` | wires of what all processes have said of themselves |
//! | `lookout.rs` | which OS thread looks for what comes |
//! | `wire.rs` | a network in virtual time |
//! | `cluster.rs` | hubs joined by it |
//! | `stranger.rs`, `siege.rs` | somebody without the key; what becomes of a cluster among such |
//!
//! **Why not QUIC.** Its streams copy what they send and keep it, which for bulk data is a copy more than a receiver's
//! network card needs; its handshake and its keys are for strangers, where a job has one key; and how much may be sent
//! is not for the network to find out, since the budget of a slice says it. What QUIC has learnt about losses
//! (numbers that are never used twice, ranges that are acknowledged, when somebody asks again) is here as well.

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
