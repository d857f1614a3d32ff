//! SMARTMAP: what the ranks of one node share, without their NIC.
//!
//! | what | module |
//! |---|---|
//! | node memory: all of it, and where what lies | [`node_memory`] |
//! | where in it a rank sits | [`RankArea`] |
//! | how a rank tells another one what it sends | [`send_queue`] |
//! | how a rank knows whose queues to look at | [`introductions`] |
//! | messages that are lent for a moment | [`loan`] |
//! | sends that are cancelled | [`cancellation`] |
//! | copies of which both sides do a part | [`shared_copy`] |
//! | messages that are fetched while they are packed | [`packing`] |
//! | collectives in each other's memory | [`coll_info`] |

#[cfg(not(loom))]
pub mod cancellation;
pub mod coll_info;
pub mod known_senders;
#[cfg(not(loom))]
pub mod loan;
#[cfg(not(loom))]
pub mod node_memory;
#[cfg(not(loom))]
pub mod packing;
pub mod send_queue;
#[cfg(not(loom))]
pub mod shared_copy;

#[cfg(not(loom))]
pub use node_memory::{MappedRecord, NodeMemory, READ_ONLY, RankArea};
