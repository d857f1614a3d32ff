//! The vocabulary of BCS-MPI: what ranks, NICs and managers share.
//!
//! | module | is |
//! |---|---|
//! | [`smartmap`] | what ranks of one node share without their NIC |
//! | [`wake`] | how threads sleep, wake each other, and share cores |
//! | [`memory`] | memory shared between processes: NIC memory, slots, rings |
//! | [`wait_state`] | what a blocked rank says about where it is |
//! | [`matching`] | which message a receive gets |
//! | [`descriptor`], [`request`] | what a rank posts, and what it gets back |
//! | [`check_bits`] | what a checked job says of a message |
//! | [`layout`] | where the bytes of a message lie that do not lie side by side |
//! | [`reduction`] | what a reduction computes, to the bit |
//! | [`job`] | jobs, nodes, microphases, how a rank is received |
//! | [`lockstep`], [`clock`] | threads that run one at a time, in virtual time: ranks of the simulator |
//! | [`mapped_code`] | which files the code of a process is of |
//! | [`limits`], [`fingerprint`], [`coded`] | bounds; what stands for something longer; enumerations as bytes |
//! | `prefetch`, `sync` | hints for caches; atomics, those of loom under test |
//!
//! Folders import in one direction, from above to below (`cargo xtask check layers`).

// Under loom only what is tested under it is compiled: its atomics cannot lie in shared memory.
#[cfg(not(loom))]
pub mod check_bits;
#[cfg(not(loom))]
pub mod clock;
#[cfg(not(loom))]
pub mod coded;
#[cfg(not(loom))]
pub mod descriptor;
pub mod fingerprint;
#[cfg(not(loom))]
pub mod job;
#[cfg(not(loom))]
pub mod layout;
pub mod limits;
#[cfg(not(loom))]
pub mod lockstep;
#[cfg(not(loom))]
pub mod mapped_code;
#[cfg(not(loom))]
pub mod matching;
pub mod memory;
mod prefetch;
#[cfg(not(loom))]
pub mod reduction;
#[cfg(not(loom))]
pub mod request;
pub mod smartmap;
mod sync;
#[cfg(not(loom))]
pub mod wait_state;
pub mod wake;
