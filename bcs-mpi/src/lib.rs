//! What a program links: MPI over Buffered Coscheduling.
//!
//! ```
//! use bcs_mpi::{Op, Source, Tag, Universe};
//!
//! # fn main() -> bcs_mpi::Result<()> {
//! let universe = Universe::init()?;
//! let world = universe.world();
//! let mut sum = [0.0];
//! world.allreduce(&[world.rank() as f64], &mut sum, Op::Sum)?;
//! println!("rank {} of {}: {}", world.rank(), world.size(), sum[0]);
//! universe.finalize()
//! # }
//! ```
//!
//! | layer | is |
//! |---|---|
//! | the root of the crate | a safe MPI over typed slices |
//! | [`mpi`] | the untyped core of MPI: buffers by address and datatype, the standard's error classes |
//! | [`bcs`] | the BCS API of the paper over NIC memory |
//!
//! A program started by `bcs run` finds its node manager by an inherited socket and gets its NIC
//! memory from it. Without a launcher it is a world of one: the same library over a NIC of its own.

mod attachment;
pub mod bcs;
mod loopback;
pub mod mpi;
mod recording;
mod rust;
pub mod smartmap;

pub use mpi::process::wtime;
pub use mpi::{Comparison, Error, ErrorClass, Group, Op, Result};
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
pub use rust::scope::{ReceiveRequest, Scope, SendRequest, scope};
pub use rust::universe::Universe;

#[cfg(test)]
mod tests;
