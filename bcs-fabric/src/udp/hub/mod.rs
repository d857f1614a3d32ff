//! A hub: what the NICs of a process and those of processes on other machines say to each other.
//!
//! - **Owns** a link to each process elsewhere that hosts NICs, operations that are under way on them, and what this
//!   process knows of the writes of the sequencer.
//! - **Takes** what ports do ([`super::port`]), datagrams whose tag is right, the time; what ranks want, from the machine
//!   page.
//! - **Emits** datagrams; PUTs and writes in the global memory of the process's nodes; bytes in the memory of its
//!   ranks; bells of those who have got something to look at.
//! - **Invariants.** What one process says to another takes effect in the order in which it was said. A PUT takes effect
//!   when all writes of the sequencer have that its sender knew of. A PUT is complete when it is said, or when
//!   the peer has acknowledged it ([`puts`]); every other operation when the peer has answered.
//!
//! **All or none.** A link loses nothing, and a node that is cut off for good ends the job. So of the nodes of a
//! set either all get a PUT, or there is no job any more.
//!
//! **One order.** One sequencer decides all Compare-And-Writes of a job, on variables of nodes elsewhere as
//! these have last said them (`shm/ledger.rs`). So a comparison sees all that its asker's node has stored before, since both
//! go the same way; of another node it sees what that had stored some time before, and whatever that node has
//! said to anybody who has since said something to the sequencer is not necessarily in it. The machines of the NIC
//! need no more: a condition that became true is reported, and looked at again. What the sequencer writes goes to all processes as
//! one numbered sequence. What the sequencer and the Strobe Sender say and hear goes along a [tree] of processes, whose
//! head argues why it keeps these laws.
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
