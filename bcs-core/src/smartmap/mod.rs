//! SMARTMAP: what the ranks of one node share, without their NIC.
//!
//! | what | module |
//! |---|---|
//! | node memory and its layout | [`node_memory`] |
//! | the area of a rank in it | [`RankArea`] |
//! | how a rank announces its sends to another rank | [`send_queue`] |
//! | how a rank knows which queues to poll | [`known_senders`] |
//! | messages that a sender lends for a moment | [`loan`] |
//! | sends that are cancelled | [`cancellation`] |
//! | copies that both ends share | [`shared_copy`] |
//! | messages that are fetched while they are packed | [`packing`] |
//! | collectives in shared records | [`coll_info`] |

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
