//! Memory that processes share.
//!
//! | what | mapped by | module |
//! |---|---|---|
//! | NIC memory of a rank: rings, request slots, eager payload slots | that rank and its NIC | [`nic_memory`] |
//! | the record that a rank makes of its own calls, if any | that rank; its node manager reads it at the end | [`recorder`] |
//! | slots: the heaps of ranks | that rank, ranks of its node that need it, and NICs | [`slot`] |
//! | node memory: bells of ranks, send queues | the ranks of a node, and its NIC | [`crate::smartmap::node_memory`] |
//! | machine page: bells, demand, hunger, count of awake threads, arrival hints | all ranks and NICs of the job on a machine | [`crate::wake::machine_page`] |
//! | global memory and fabric state | NICs only | `bcs_fabric::shm` |
//!
//! All of it consists of anonymous memfds, passed as file descriptors. They have no name in a file
//! system, so nothing is left when processes die.

#[cfg(not(loom))]
mod guarded;
#[cfg(not(loom))]
mod mapping;
#[cfg(not(loom))]
pub mod nic_memory;
#[cfg(not(loom))]
pub mod recorder;
pub mod ring;
#[cfg(not(loom))]
pub mod slot;
pub mod streaming;
#[cfg(not(loom))]
mod update_lock;

#[cfg(not(loom))]
pub use guarded::GuardedBytes;
#[cfg(not(loom))]
pub use mapping::{MapError, MappedArray, MappedWord, MappedWords, Mapping, sealed_memfd};
#[cfg(not(loom))]
pub use nic_memory::{Claimant, NicMemory};
#[cfg(not(loom))]
pub use recorder::{RecorderFile, RecorderMemory};
#[cfg(not(loom))]
pub use slot::{ForeignSlot, OwnSlot, Slot};
#[cfg(not(loom))]
pub use update_lock::UpdateLock;
