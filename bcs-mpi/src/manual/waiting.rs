//! Waiting: what ends it, and what it costs.
//!
//! A call that waits passes its descriptors on, asks for a slice if strobes are elastic, and then
//! waits for its card, or a rank of its node, to ring. While all ranks and cards of the job that
//! are awake have a core each it spins, for a millisecond at most; otherwise, and after that, it
//! sleeps in the kernel and costs nothing. So there may be more ranks than cores, and a rank that
//! waits for long takes nobody's.
//!
//! Everything goes on during any wait: a call that waits moves the rank's own collectives, its held
//! back sends, and what its neighbours have for it. The cards need no call at all; within a node,
//! long messages and collectives do ([`model`](super::model)). To test in a loop is allowed, but
//! keeps a core busy; to compute and then wait is what the runtime is made for.
//!
//! ```
//! use bcs_mpi::{Source, Tag};
//! # fn main() -> bcs_mpi::Result<()> {
//! # let universe = bcs_mpi::Universe::init()?;
//! # let world = universe.world();
//! # let (me, ranks) = (world.rank(), world.size());
//! let (out, mut into) = (vec![me; 1000], vec![0; 1000]);
//! let next = (me + 1) % ranks;
//! let inner: usize = bcs_mpi::scope(|scope| {
//!     world.irecv(scope, &mut into, Source::Any, Tag::Is(1))?;
//!     world.isend(scope, &out, next, 1)?;
//!     Ok((0..1000).sum()) // computes; between nodes the cards move the data meanwhile
//! })?; // waits for both
//! # assert_eq!((inner, into), (499_500, vec![(me + ranks - 1) % ranks; 1000]));
//! # Ok(())
//! # }
//! ```
//!
//! A wait for what never comes lasts for ever, as in any MPI: a receive that nobody sends to, or a
//! collective that one rank does not call. Ranks that call *different* collectives are told, or the
//! job ends with who called what ([`errors`](super::errors)). If nothing moves for 10 seconds,
//! `bcs run` says where each rank is. If a rank dies, the job ends with a message.
