//! Determinism: what is the same in every run, and why.
//!
//! | what | is the same to the bit |
//! |---|---|
//! | reductions with predefined operations ([`Op`](crate::Op)) | in every run on the same number of ranks and nodes |
//! | of those, integers, minima and maxima, logical operations | in every layout |
//! | reductions with operations of the program's ([`UserOp`](crate::UserOp)), and all scans | in every layout |
//! | which message meets a receive that names its source | always |
//! | which message meets a receive from anybody, between nodes | within a slice: of the lowest rank, and of its messages the first |
//! | the same within a node | nothing: it depends on when messages come |
//!
//! **Reductions.** Sums of floating point numbers depend on the order of the additions. The
//! contributions of the ranks of one node are added first, in the order of the communicator, and
//! the sums of the nodes then along a tree over the nodes. That order is given by the layout and by
//! nothing else: not by who comes first, nor by who is the root, nor by whether ranks or cards add.
//! Whether a card computes in software or on the processor, the bits are the same, too. With
//! another number of nodes the tree is another, and so may be the last bits.
//!
//! Functions of the program's are called by the ranks, not by cards, from the left in the order of
//! the communicator. If a sum has to be the same in every layout, that is a way to have it:
//!
//! ```
//! use bcs_mpi::{Op, UserOp};
//! # fn main() -> bcs_mpi::Result<()> {
//! # let universe = bcs_mpi::Universe::init()?;
//! # let world = universe.world();
//! # let part = [0.1 * world.rank() as f64];
//! let mut sum = [0.0];
//! world.allreduce(&part, &mut sum, Op::Sum)?; // fast; the same for this layout
//!
//! let in_order = UserOp::new(|left: f64, right: f64| left + right);
//! world.allreduce(&part, &mut sum, &in_order)?; // ((x0 + x1) + x2) + ..., in every layout
//! # Ok(())
//! # }
//! ```
//!
//! **Messages.** Between nodes, a card sees all messages of a slice at once and takes them in the
//! order of their senders' ranks, never in the order of arrival. Still, in which slice a message
//! falls depends on when it was posted. So a program that receives from
//! [anybody](crate::Source::Any) may see other orders in another run; one that names its sources
//! computes the same.
