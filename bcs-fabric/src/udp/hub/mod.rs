//! A hub: the communication of a process's NICs with those of processes on other machines.
//!
//! - **Owns** a link to each process on another machine that hosts NICs, operations that are in
//!   flight on them, and the number of the sequencer's writes that this process knows of.
//! - **Takes** calls of ports ([`super::port`]), datagrams whose tag is right, the time; demands of
//!   ranks, from the machine page.
//! - **Emits** datagrams; PUTs and writes in the global memory of the process's nodes; bytes in the
//!   memory of its ranks; bells of threads that have got something to poll.
//! - **Invariants.** Messages of one process to another take effect in the order in which they were
//!   sent. A PUT takes effect after all writes of the sequencer that its sender knew of. A PUT is
//!   complete when it is sent, or when the peer has acknowledged it ([`put_counts`]); every other
//!   operation when the peer has answered.
//!
//! **All or none.** A link loses nothing, and a node that is cut off for good ends the job. So
//! either all nodes of a set get a PUT, or the job ends.
//!
//! **One order.** One sequencer decides all Compare-And-Writes of a job. It compares variables of
//! remote nodes as these have last reported them (`shm/write_log.rs`). So a comparison sees all
//! that its requester's node has stored before, since both take the same path. It sees the
//! variables of another node as they were some time before. It need not see all that the node had
//! stored before it sent a message to a third one that has since sent one to the sequencer. The
//! state machines of the NIC need no more: a condition that became true is reported, and evaluated
//! again. All processes get the writes of the sequencer as one numbered sequence. The messages to
//! and from the sequencer and the Strobe Sender go along a [tree] of processes, whose head argues
//! why it keeps these laws.
//!
//! There is no clock and no socket inside.

mod demand_news;
mod demand_relay;
mod eager_cache;
mod handle;
mod inbound_bytes;
mod message_handlers;
mod operations;
mod outside_slice;
mod peer;
mod put_counts;
mod report_aggregator;
mod state;
mod tree;
mod tree_relay;

pub use handle::Hub;
pub use inbound_bytes::InboundBytes;
pub(super) use operations::FIRST_TICKET;
pub use state::{BrokenPeer, HubConfig, PathLimits};
