//! Threads: any thread may call anything at any time (`MPI_THREAD_MULTIPLE`).
//!
//! There is nothing to ask for at the start. A program of which only one thread calls MPI may say
//! so ([`Universe::init_thread`](crate::Universe::init_thread)): then `bcs run` need not wait for
//! the others where that one is in a deadlock. Communicators are handles that are [`Send`] and
//! [`Sync`], and so are requests; a [`scope`](crate::scope()) may be shared by the threads of a
//! [`std::thread::scope`].
//!
//! ```
//! use bcs_mpi::{Source, Tag, Universe};
//! # fn main() -> bcs_mpi::Result<()> {
//! let universe = Universe::init()?;
//! let world = universe.world();
//! let me = world.rank();
//! std::thread::scope(|threads| {
//!     for tag in 0..4 {
//!         threads.spawn(move || {
//!             // Each with a tag of its own: threads do not take each other's messages.
//!             world.send(&[tag], me, tag)?;
//!             let mut found = [0];
//!             world.recv(&mut found, Source::Rank(me), Tag::Is(tag))?;
//!             assert_eq!(found, [tag]);
//!             bcs_mpi::Result::Ok(())
//!         });
//!     }
//! });
//! universe.finalize()
//! # }
//! ```
//!
//! A rank has one lock for its calls, which no thread holds that sleeps, copies long data, or runs
//! a function of the program's. One of the waiting threads listens to card and neighbours and wakes
//! the others.
//!
//! As everywhere, the calls of one rank on one communicator that are collective must come in the
//! same order on all ranks: threads that call collectives at the same time need a communicator each
//! ([`dup`](crate::Communicator::dup)). Two threads that receive with the same source and tag get
//! messages in no particular order; a thread that probes and then receives should take the message
//! out with [`mprobe`](crate::Communicator::mprobe), which nobody can do before it.
