//! Errors: what calls return, and what ends the job.
//!
//! Every call that can fail returns a [`Result`](crate::Result). An [`Error`](crate::Error) has a
//! [class](crate::ErrorClass) of the standard (MPI 5.0, 9.4), the rank in the world, the call with
//! its arguments, and the reason; printed it is a sentence, so a `main` that returns it tells its
//! user what happened.
//!
//! ```
//! use bcs_mpi::{ErrorClass, Source, Tag};
//! # fn main() -> bcs_mpi::Result<()> {
//! # let universe = bcs_mpi::Universe::init()?;
//! # let world = universe.world();
//! let me = world.rank();
//! world.send(&[1i32, 2], me, 7)?;
//! let mut one = [0i32];
//! let error = world.recv(&mut one, Source::Rank(me), Tag::Is(7)).unwrap_err();
//! assert_eq!(error.class, ErrorClass::Truncate);
//! assert!(error.to_string().starts_with("rank 0 failed to MPI_Recv 4 bytes"));
//!
//! // The communicator goes on.
//! world.barrier()?;
//! # Ok(())
//! # }
//! ```
//!
//! The safe layer and the untyped core always return errors. To have a communicator's [error
//! handler](crate::mpi::ErrorHandler) act on an error, call
//! [`Comm::handle`](crate::mpi::Comm::handle) with it.
//!
//! | what happens | who is told |
//! |---|---|
//! | an argument is wrong | the caller; nothing was posted |
//! | the same in a collective | the caller, and those who wait for it: which rank called what, with what kind of error |
//! | a message is longer than its receive | the receiver; what fits is there |
//! | ranks disagree about a length of a collective | whoever receives what it did not expect |
//! | ranks call different collectives, all on one node, or of the cards | all of them, with who called what |
//! | ranks call different collectives made of messages between nodes | `bcs run`, which ends the job |
//! | a buffer is not in the rank's memory | that rank, and all who need what should be there |
//!
//! Collectives of the cards are barriers, broadcasts, and reductions with predefined operations. On
//! one node a rank that only gives its part, as the root of a short broadcast, has left the
//! collective when the others find that it was another one; it is told in a later collective of
//! that communicator. Collectives made of messages are told apart when ranks wait for each other in
//! them; ranks of which none waits are not told.
//!
//! `bcs run --checked` finds more, and names both ranks and lines: types of a message that are not
//! those of its receive, and roots, operations, types and names of collectives that differ, before
//! anybody is in them. It also finds memory that two operations use at a time, and send buffers
//! that the program writes before the send is complete, with the lines of both calls.
//!
//! A job of which no rank can ever go on is ended by `bcs run`, which says who waits for whom.
//!
//! These end the job, with a message and an exit code that is not 0: a rank that ends without
//! [`finalize`](crate::Universe::finalize) or is killed, [`abort`](crate::Communicator::abort), a
//! panic in a function of a reduction or in a rank's `main`, and a receiver with more unmatched
//! messages than a card can hold. `bcs help exit-codes` lists the codes.
