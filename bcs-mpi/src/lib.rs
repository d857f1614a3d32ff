//! What a program links: MPI over Buffered Coscheduling.
//!
//! ```
//! use bcs_mpi::{Op, Universe};
//!
//! #[global_allocator]
//! static HEAP: slot_heap::SlotHeap = slot_heap::SlotHeap;
//!
//! fn main() -> bcs_mpi::Result<()> {
//!     let universe = Universe::init()?;
//!     let world = universe.world();
//!     let mut sum = [0.0];
//!     world.allreduce(&[world.rank() as f64], &mut sum, Op::Sum)?;
//!     println!("rank {} of {}: {}", world.rank(), world.size(), sum[0]);
//!     universe.finalize()
//! }
//! ```
//!
//! Make this the `main.rs` of a crate that depends on `bcs-mpi` and `slot-heap`, and run it as four ranks
//! on two nodes. (The allocator lets ranks of one node read each other's heaps: [`manual::model`].)
//!
//! ```sh
//! cargo build --release && bcs run -n 4 --nodes 2 target/release/program
//! ```
//!
//! A program started by `bcs run` finds its node manager by an inherited socket and gets its NIC
//! memory from it. Without a launcher it is a world of one: a node of one rank, and no NIC.
//!
//! **New here?** Read the [`manual`]: [what a call does](manual::model),
//! [how to choose the slice](mod@manual::slice), [requests](manual::requests), and
//! [where each function of the standard is](manual::functions).
//!
//! | to | see |
//! |---|---|
//! | begin and end | [`Universe`] |
//! | send and receive, split communicators, make grids | [`Communicator`] |
//! | say from whom, with which tag, and see what came | [`Source`], [`Tag`], [`Status`], [`Message`] |
//! | communicate while computing | [`scope()`], [`OwnedRequest`], [`BarrierRequest`] |
//! | do the same again and again | [`PersistentSend`], [`PersistentReceive`], [`PersistentCollective`] |
//! | combine | [`Op`], [`UserOp`], [`Operation`], [`reduce_local`] |
//! | send your own structures | [`equivalence!`], [`Equivalence`] |
//! | exchange blocks of different lengths | [`Blocks`] |
//! | understand what failed | [`Error`], [`ErrorClass`] |
//!
//! | layer | is |
//! |---|---|
//! | the root of the crate | a safe MPI over typed slices |
//! | [`mpi`] | the untyped core of MPI: buffers by address and datatype, the standard's error classes |
//! | [`bcs`] | the BCS API of the paper over NIC memory |
//! | [`data`] | where the bytes of messages lie, and how they are copied |
//! | [`roads::smartmap`] | ranks of one node, in each other's memory |

mod attachment;
pub mod bcs;
mod call_site;
mod checked;
mod collective;
pub mod data;
mod endpoint;
mod foreign;
mod forked;
pub mod manual;
pub mod mpi;
mod recording;
pub mod roads;
mod rust;
mod schedules;
mod sent_from;
pub mod shared_memory;
mod steps;

pub use mpi::process::wtime;
pub use mpi::{Comparison, Error, ErrorClass, Group, Op, Result};
pub use rust::barrier::BarrierRequest;
pub use rust::collectives::{Blocks, CollectiveRequest};
pub use rust::communicator::Communicator;
pub use rust::equivalence::Equivalence;
#[doc(hidden)]
pub use rust::equivalence::{field, structure};
pub use rust::intercommunicator::{Intercommunicator, Root};
pub use rust::matched::Message;
pub use rust::matching::{Source, Status, Tag};
pub use rust::neighborhoods::Neighbors;
pub use rust::numbers::{Complex, DoubleInt, FloatInt, LongInt, ShortInt, TwoInt};
pub use rust::operation::{Operation, UserOp, reduce_local};
pub use rust::owned::OwnedRequest;
pub use rust::persistent::{PersistentCollective, Started};
pub use rust::persistent_messages::{
    PersistentReceive, PersistentSend, StartedReceive, StartedSend,
};
pub use rust::scope::{ReceiveRequest, Scope, SendRequest, scope};
pub use rust::universe::Universe;

#[cfg(test)]
mod tests;
