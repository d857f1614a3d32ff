//! The model: a call leaves a note, and the network cards do the rest.
//!
//! A job is a number of *ranks*, each a process, on a number of *nodes*. Each node has a network card
//! (NIC), here an emulated one. No call communicates: it writes a *descriptor* of a few words (what,
//! from where, to whom) into memory that the card reads, and returns or waits. The cards of all nodes
//! act together, in *time slices*. In each one they
//!
//! 1. exchange the descriptors that were posted before it began,
//! 2. match messages with receives, and decide what moves in this slice,
//! 3. move the data from the memory of one rank to that of another,
//! 4. do barriers and broadcasts, and
//! 5. reductions.
//!
//! So a message needs no help from its sender once it is posted, nor from its receiver: both may
//! compute. All that was posted before a slice is seen by it, in an order that does not depend on
//! what arrived first, and all ranks that wait for the same collective leave it in the same slice.
//!
//! ```
//! use bcs_mpi::{Op, Source, Tag, Universe};
//!
//! # fn main() -> bcs_mpi::Result<()> {
//! let universe = Universe::init()?; // MPI_Init
//! let world = universe.world(); // MPI_COMM_WORLD
//! let (me, ranks) = (world.rank(), world.size());
//!
//! // To the rank on the right, from the one on the left.
//! let (right, left) = ((me + 1) % ranks, (me + ranks - 1) % ranks);
//! let mut from_left = [0.0];
//! world.sendrecv(
//!     (&[me as f64], right, 0),
//!     (&mut from_left, Source::Rank(left), Tag::Is(0)),
//! )?;
//! assert_eq!(from_left[0], left as f64);
//!
//! let mut largest = [0.0];
//! world.allreduce(&from_left, &mut largest, Op::Max)?;
//! assert_eq!(largest[0], (ranks - 1) as f64);
//! universe.finalize() // MPI_Finalize
//! # }
//! ```
//!
//! `bcs run -n 4 --nodes 2 ./program` runs it as four ranks on two nodes; without a launcher it is
//! a world of one.
//!
//! A send of up to 4 KiB (`--eager-limit`) is done when it is posted: its data were copied. A longer
//! one is done when its data have moved, so it waits for the receive. A program must not rely on the
//! former; [`Communicator::ssend`](crate::Communicator::ssend) always waits, and `--eager-limit 0`
//! makes all sends do so.
