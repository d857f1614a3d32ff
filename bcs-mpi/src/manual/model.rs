//! The model: between nodes a call leaves a note, and the network cards do the rest; within a node
//! ranks read each other's memory.
//!
//! A job is a number of *ranks*, each a process, on a number of *nodes*. Each node has a network
//! card (NIC), here an emulated one.
//!
//! # Between nodes
//!
//! No call communicates: it writes a *descriptor* of a few words (what, from where, to whom) into
//! memory that the card reads, and returns or waits. The cards of all nodes act together, in *time
//! slices*. In each one they
//!
//! 1. exchange the descriptors that were posted before it began,
//! 2. match messages with receives, and decide what moves in this slice,
//! 3. move the data from the memory of one rank to that of another,
//! 4. do barriers and broadcasts, and
//! 5. reductions.
//!
//! So a message needs no help from its sender once it is posted, nor from its receiver once the
//! receive is: both may compute. (Data in small pieces are the exception: their receiver unpacks
//! them in a call.) All that was posted before a slice is seen by it, in an order that does not
//! depend on what arrived first. The cards of all nodes end a collective in the same slice.
//!
//! # Within a node: SMARTMAP
//!
//! Messages between ranks of one node, and collectives of communicators whose members are all on
//! one, do not go by the card. Ranks do them in each other's memory, at once:
//!
//! - They know no slices and no beat, also with fixed strobes. `bcs run -n 4 program` on one node
//!   strikes no slice at all.
//! - They move inside calls. A sender of an eager message need not wait. But a longer one is
//!   fetched by its receiver, in whatever call that makes: while the receiver computes, such a
//!   message waits, and so does a sender that waits for it. A collective goes on in the calls of
//!   its members.
//! - They are not in what the cards record; the calls of the ranks are.
//!
//! `--intranode nic` has them go by the card, in slices, like all others. A receive from any source
//! takes from both, and collectives of several nodes are *hierarchical*: the ranks of a node do
//! their part in each other's memory, and one of them goes to the card for all
//! (`--collectives nic`: each goes for itself).
//!
//! **The allocator.** A rank reads its neighbour's memory by a plain copy where that lies in a
//! *slot*: in the heap of a program that has this line, outside of its functions.
//!
//! ```
//! bcs_mpi::slot_heap!();
//! # fn main() { drop(vec![1, 2, 3]); }
//! ```
//!
//! Other memory (stacks, statics, and all of a program without the line) is copied by the kernel,
//! which takes about twice as long for messages of 8 to 64 KiB. The program computes the same
//! results either way. `bcs run -v` says how many ranks have their heap in a slot, and `bcs doctor`
//! whether this machine allows it. On a terminal a hint names a rank that has none, when others
//! have copied much from it.
//!
//! # An example
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
//! A send of up to 4 KiB (`--eager-limit`) is done when it is posted: its data were copied. (A
//! blocking one within a node is up to 128 KiB, 32 times the limit.) A longer one is done when its
//! data have moved, so it waits for the receive. A program must not rely on the former;
//! [`Communicator::ssend`](crate::Communicator::ssend) always waits, and `--eager-limit 0` makes
//! all sends do so.
