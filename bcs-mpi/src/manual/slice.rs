//! The slice, and how to choose it.
//!
//! A program does not see slices; whoever runs it chooses them. They are for what goes between
//! nodes: within a node nothing waits for a slice ([`model`](super::model)), unless
//! `--intranode nic` is given.
//!
//! | option of `bcs run` | default | is |
//! |---|---|---|
//! | `--strobe elastic` | yes | a slice begins as soon as somebody waits for it |
//! | `--strobe fixed` | | slices begin at multiples of the time slice only, as in the paper |
//! | `--time-slice D` | `500us` | the time slice, 50 µs to 100 ms |
//!
//! **Elastic.** A blocked rank asks for a slice, and it begins at once: a short message takes some
//! microseconds, a chain of messages as many slices as it has links. An operation that no rank
//! waits for (a non-blocking send of a rank that computes) has to wait for a slice that somebody
//! else asked for, a time slice at the longest. This is for programs that wait for each other
//! often.
//!
//! **Fixed.** All that was posted during a slice is moved in the next one, and is known to be done
//! when the one after it begins: a blocking message between nodes takes two slices on average,
//! whether it is short or fills them. In return all nodes communicate in lockstep, nothing disturbs
//! them in between, and a slice that nobody needs is not struck at all. (To schedule messages
//! within a node in slices, too, as in the paper, add `--intranode nic`.) This is for programs that
//! post, compute for many slices, and then wait; and for people who study a job slice by slice.
//!
//! How long? With fixed strobes a call that waits costs about 1.5 to 2 time slices, and each slice
//! in which something is posted costs the card some tens of microseconds of a core. So the time
//! slice should be a small part of what the program computes between two waits, and long against
//! those microseconds: for steps of 10 ms, 500 µs to 1 ms. With elastic strobes leave it as it is,
//! unless ranks post without waiting: then it is the longest that this may be put off.
//!
//! A time slice also bounds how much moves in it: `--link-bandwidth` times its length may enter a
//! node. A longer message takes several slices.
//!
//! A program that waits less often needs fewer slices. These two exchanges take as many slices as
//! one, because all four messages are posted before anybody waits:
//!
//! ```
//! # use bcs_mpi::{Source, Tag};
//! # fn main() -> bcs_mpi::Result<()> {
//! # let universe = bcs_mpi::Universe::init()?;
//! # let world = universe.world();
//! # let (me, ranks) = (world.rank(), world.size());
//! # let (right, left) = ((me + 1) % ranks, (me + ranks - 1) % ranks);
//! let (up, down) = ([1.0; 100], [2.0; 100]);
//! let (mut from_left, mut from_right) = ([0.0; 100], [0.0; 100]);
//! bcs_mpi::scope(|scope| {
//!     world.irecv(scope, &mut from_left, Source::Rank(left), Tag::Is(1))?;
//!     world.irecv(scope, &mut from_right, Source::Rank(right), Tag::Is(2))?;
//!     world.isend(scope, &up, right, 1)?;
//!     world.isend(scope, &down, left, 2)?;
//!     Ok(())
//! })?; // waits for all of them
//! # assert_eq!((from_left, from_right), (up, down));
//! # Ok(())
//! # }
//! ```
//!
//! Cards do the barriers, broadcasts, and reductions with predefined operations of several nodes. A
//! communicator has one such collective in a slice, and different communicators have theirs at the
//! same time. So reduce three numbers as one slice of three. All other collectives of several nodes
//! are messages, and any number of them share a slice.
