//! Memory that processes share, and its layouts.
//!
//! | what | mapped by | module |
//! |---|---|---|
//! | NIC memory of a rank: rings, request slots, eager payload slots | that rank and its NIC | [`nic_memory`] |
//! | node memory: bells of ranks, send queues | the ranks of a node, and its NIC | [`node_memory`] |
//! | machine page: bells, demand, hunger, who is awake, arrival hints | all ranks and NICs of the job on a machine | [`machine_page`] |
//! | slots: the heaps of ranks | that rank, and the ranks of its node that need it | [`slot`] |
//! | global memory and fabric state | NICs only | [`crate::fabric::shm`] |
//!
//! All of it is anonymous memfds, passed as file descriptors: nothing has a name in a file
//! system, so nothing is left when processes die.

pub mod loan;
pub mod machine_page;
mod mapping;
pub mod nic_memory;
pub mod node_memory;
pub mod packing;
pub mod shared_copy;
pub mod slot;

pub use machine_page::MachinePage;
pub(crate) use mapping::sealed_memfd;
pub use mapping::{MapError, MappedArray, MappedWords, Mapping};
pub use nic_memory::{Claimant, NicMemory};
pub use node_memory::{MappedRecord, NodeMemory, READ_ONLY};
pub use slot::{ForeignSlot, OwnSlot, Slot};
