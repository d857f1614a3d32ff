//! The vocabulary of BCS-MPI: what ranks, NICs and managers share.
//!
//! | module | is |
//! |---|---|
//! | [`smartmap`] | what ranks of one node share without their NIC |
//! | [`wake`] | how threads sleep, wake each other, and share cores |
//! | [`memory`] | memory shared between processes: NIC memory, slots, rings |
//! | [`wait_state`] | what a blocked rank reports about where it waits |
//! | [`matching`] | which message a receive gets |
//! | [`descriptor`], [`request`] | what a rank posts, and what it gets back |
//! | [`check_bits`] | what a checked job sends with each message |
//! | [`layout`] | the addresses of the bytes of a message that is not contiguous |
//! | [`one_sided`] | what the accumulate functions do to a target's memory |
//! | [`reduction`] | what a reduction computes, to the bit |
//! | [`job`] | jobs, nodes, microphases, the handshake of a rank with its node manager |
//! | [`lockstep`], [`clock`] | threads that run one at a time, in virtual time: ranks of the simulator |
//! | [`pmi`] | the lines by which launchers and programs of other MPIs find each other |
//! | [`mapped_code`] | the files from which the code of a process is mapped |
//! | [`limits`], [`fingerprint`], [`coded`] | bounds; hashes that stand for longer data; enumerations as bytes |
//! | `prefetch`, `sync` | hints for caches; atomics, those of loom under test |
//!
//! Folders import in one direction, from above to below (`cargo xtask check layers`).

// Under loom only the modules that loom tests are compiled: loom's atomics cannot lie in shared
// memory.
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
#[cfg(not(loom))]
pub mod one_sided;
#[cfg(not(loom))]
pub mod pmi;
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
