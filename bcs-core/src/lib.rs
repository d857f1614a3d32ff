//! The vocabulary of BCS-MPI: what ranks, NICs and managers share.
//!
//! | module | is |
//! |---|---|
//! | [`job`], [`node`], [`phase`], [`limits`] | jobs, nodes, microphases, bounds |
//! | [`memory`], [`ring`], [`bell`], [`waiting`], [`clock`] | memory shared between processes, and how to wait in it |
//! | [`lockstep`] | threads that run one at a time, in virtual time: ranks of the simulator |
//! | [`owner_lock`] | a lock for what one thread uses, and others could |
//! | [`send_queue`] | how ranks of one node tell each other what they send |
//! | [`scheduling`], [`home_core`] | what a job asks of the kernel's scheduler; where ranks belong that share cores |
//! | [`descriptor`], [`request`] | what a rank posts, and what it gets back |
//! | [`layout`] | where the bytes of a message lie that do not lie side by side |
//! | [`fabric`] | the three primitives, on shared memory and in simulation |
//! | [`matching`] | which message a receive gets |
//! | [`datatype`], [`op`], [`arithmetic`] | what a reduction computes, to the bit |
//! | [`welcome`] | how a rank is received by its node manager |
//! | [`whereabouts`] | what a blocked rank says about where it is |

// Under loom only what is tested under it is compiled: its atomics cannot lie in shared memory.
#[cfg(not(loom))]
pub mod arithmetic;
pub mod bell;
#[cfg(not(loom))]
pub mod clock;
pub mod coll_info;
#[cfg(not(loom))]
pub mod datatype;
#[cfg(not(loom))]
pub mod descriptor;
#[cfg(not(loom))]
pub mod fabric;
pub mod fingerprint;
#[cfg(not(loom))]
pub mod home_core;
pub mod introductions;
#[cfg(not(loom))]
pub mod job;
#[cfg(not(loom))]
pub mod layout;
#[cfg(not(loom))]
pub mod limits;
#[cfg(not(loom))]
pub mod lockstep;
#[cfg(not(loom))]
pub mod matching;
#[cfg(not(loom))]
pub mod memory;
#[cfg(not(loom))]
pub mod node;
#[cfg(not(loom))]
pub mod op;
pub mod owner_lock;
#[cfg(not(loom))]
pub mod phase;
mod prefetch;
#[cfg(not(loom))]
pub mod request;
pub mod ring;
#[cfg(not(loom))]
pub mod scheduling;
pub mod send_queue;
mod sync;
#[cfg(not(loom))]
pub mod waiting;
#[cfg(not(loom))]
pub mod welcome;
#[cfg(not(loom))]
pub mod whereabouts;
