//! The library that a program links: MPI over Buffered Coscheduling.
//!
//! ```
//! use bcs_mpi::{Op, Universe};
//!
//! bcs_mpi::slot_heap!();
//!
//! fn main() -> bcs_mpi::Result<()> {
//!     let universe = Universe::init()?;
//!     let world = universe.world();
//!     let sum = world.allreduce_one(world.rank(), Op::Sum)?;
//!     println!("rank {} of {}: {sum}", world.rank(), world.size());
//!     universe.finalize()
//! }
//! ```
//!
//! Make this the `main.rs` of a crate that depends on `bcs-mpi`, and run it as four ranks on two
//! nodes. ([`slot_heap!`] lets ranks of one node read each other's heaps: [`manual::model`].)
//!
//! ```sh
//! cargo build --release && bcs run -n 4 --nodes 2 target/release/program
//! ```
//!
//! A program started by `bcs run` finds its node manager by an inherited socket and gets its NIC
//! memory from it. Without a launcher it is a world of one: a node of one rank, and no NIC.
//!
//! **New here?** Read the [`manual`]: [what a call does](manual::model), [how to choose the
//! slice](mod@manual::slice), [requests](manual::requests), and [where each function of the
//! standard is](manual::functions).
//!
//! | to | see |
//! |---|---|
//! | begin and end | [`Universe`] |
//! | send and receive, split communicators, make grids | [`Communicator`] |
//! | name the peer of a message, and see what came | [`Destination`], [`Source`], [`Tag`], [`Status`], [`Message`] |
//! | send and receive rows, columns and other parts of arrays | [`Section`], [`View`], [`ViewMut`] |
//! | exchange the halo (ghost cells) of a stencil on a grid | [`shift`](Communicator::shift), [`shift_view`](Communicator::shift_view) for columns, [`cart_shift`](Communicator::cart_shift) for the peers; `apps/examples/heat.rs` does it under computation |
//! | communicate while computing | [`scope()`], [`OwnedRequest`], [`BarrierRequest`] |
//! | wait for several requests | [`wait_all`], [`wait_any`], [`wait_some`], [`test_all`], [`test_any`], [`test_some`] |
//! | do the same again and again | [`PersistentSend`], [`PersistentReceive`], [`PersistentCollective`] |
//! | combine | [`Op`], [`UserOp`], [`Operation`], [`reduce_local`] |
//! | send your own structures and enumerations | [`derive(Equivalence)`](derive@Equivalence), [`equivalence!`] |
//! | make a grid for all ranks | [`dims_create`] |
//! | ask for the environment | [`processor_name`], [`version`], [`library_version`], [`is_initialized`], [`wtime`], [`wtick`] |
//! | exchange blocks of different lengths | [`Blocks`] |
//! | understand what failed | [`Error`], [`ErrorClass`] |
//!
//! | layer | is |
//! |---|---|
//! | the root of the crate | a safe MPI over typed slices |
//! | [`mpi`] | the untyped core of MPI: buffers by address and datatype, the standard's error classes |
//! | [`bcs`] | the BCS API of the paper over NIC memory |
//! | [`data`] | where the bytes of messages lie, and how they are copied |
//! | [`transport::smartmap`] | messages and collectives of the ranks of one node, in each other's memory |

mod adoption;
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
mod other_launchers;
mod pmi_variables;
mod recording;
mod rust;
mod schedules;
mod send_sites;
pub mod shared_memory;
mod steps;
mod thread_usage;
pub mod transport;

#[cfg(feature = "derive")]
pub use bcs_mpi_derive::Equivalence;
pub use mpi::environment::{
    is_finalized, is_initialized, library_version, processor_name, version, wtick,
};
pub use mpi::process::wtime;
pub use mpi::window::{AccumulateOp, LockKind};
pub use mpi::{Comparison, Error, ErrorClass, Group, Op, Result};
pub use rust::barrier::BarrierRequest;
pub use rust::collectives::{Blocks, CollectiveRequest};
pub use rust::communicator::Communicator;
pub use rust::equivalence::Equivalence;
#[doc(hidden)]
pub use rust::equivalence::{
    amend_field, datatype_of, enumeration, field, is_field_checked, structure,
};
pub use rust::grids::dims_create;
pub use rust::intercommunicator::{Intercommunicator, Root};
pub use rust::matched::Message;
pub use rust::matching::{Destination, Source, Status, Tag};
pub use rust::neighborhoods::Neighbors;
pub use rust::numbers::{Complex, DoubleInt, FloatInt, LongInt, ShortInt, TwoInt};
pub use rust::operation::{Operation, UserOp, reduce_local};
pub use rust::owned::OwnedRequest;
pub use rust::persistent::{PersistentCollective, Started};
pub use rust::persistent_messages::{
    PersistentReceive, PersistentSend, StartedReceive, StartedSend,
};
pub use rust::scope::{Scope, scope};
pub use rust::scoped_messages::{ReceiveRequest, SendRequest};
pub use rust::section::Section;
pub use rust::spawning::SpawnedProgram;
pub use rust::universe::Universe;
pub use rust::views::{ReceiveViewRequest, View, ViewMut, ViewsApart};
pub use rust::waiting::{Pending, test_all, test_any, test_some, wait_all, wait_any, wait_some};
pub use rust::window::{Epoch, FenceWindow, LockWindow};

/// The allocator that [`slot_heap!`] makes the program's global one.
#[cfg(feature = "heap")]
pub use slot_heap::SlotHeap;

/// Puts the heap of a program into a slot, where the ranks of its node can read and write it. They
/// copy messages from and to it without a system call. Use it once in a program, outside of
/// functions. A process that is not a rank has an ordinary heap.
///
/// ```
/// bcs_mpi::slot_heap!();
/// # fn main() { drop(vec![1, 2, 3]); }
/// ```
#[cfg(feature = "heap")]
#[macro_export]
macro_rules! slot_heap {
    () => {
        #[global_allocator]
        static SLOT_HEAP: $crate::SlotHeap = $crate::SlotHeap;
    };
}

/// The code that `derive(Equivalence)` generates names the crate as its users do.
#[cfg(test)]
extern crate self as bcs_mpi;

#[cfg(test)]
mod tests;
