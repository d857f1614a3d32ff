//! Requests: communication under way, and why its buffers are safe.
//!
//! A card, or a rank of the same node, reads and writes a rank's memory while the rank computes. In
//! C nothing keeps a program from using a buffer too early, or from freeing it. Here there are
//! three kinds of requests, and with none of them is that possible without `unsafe`.
//!
//! | | the buffer | if it is dropped |
//! |---|---|---|
//! | in a [`scope`](crate::scope()) | is borrowed until the scope ends | the scope waits for it |
//! | [`OwnedRequest`](crate::OwnedRequest) | is in the request, and comes back from the wait | it is cancelled or waited for |
//! | [`PersistentSend`](crate::PersistentSend), [`PersistentReceive`](crate::PersistentReceive), [`PersistentCollective`](crate::PersistentCollective) | is in the request, for many starts | it is cancelled or waited for |
//!
//! Forgetting a request (`std::mem::forget`) is harmless, too: a scope knows its requests itself,
//! and what owns its buffer leaks it.
//!
//! ```
//! use bcs_mpi::Op;
//! # fn main() -> bcs_mpi::Result<()> {
//! # let universe = bcs_mpi::Universe::init()?;
//! # let world = universe.world();
//! # let (me, ranks) = (world.rank(), world.size());
//! let (right, left) = ((me + 1) % ranks, (me + ranks - 1) % ranks);
//!
//! // Owned: requests can be kept in a list, and go where they are needed.
//! let send = world.isend_owned(vec![me; 10], right, 0)?;
//! let receive = world.irecv_owned(vec![0; 10], left, 0)?;
//! let (data, status) = receive.wait()?;
//! assert_eq!((data, status.source), (vec![left; 10], left));
//! send.wait()?;
//!
//! // Persistent: the same call again and again.
//! let mut sum = world.allreduce_init(vec![0; 2], vec![0; 2], Op::Sum)?;
//! for step in 0..3 {
//!     sum.input().fill(step);
//!     sum.start()?.wait()?;
//!     assert_eq!(sum.output(), [step * ranks; 2]);
//! }
//! # Ok(())
//! # }
//! ```
//!
//! Lists of either are waited for by [`wait_all`](crate::wait_all), [`wait_any`](crate::wait_any)
//! and [`wait_some`](crate::wait_some), and asked by [`test_all`](crate::test_all),
//! [`test_any`](crate::test_any) and [`test_some`](crate::test_some). A scope is one thread's;
//! threads that communicate at the same time have a scope each.
//!
//! A buffer that is on its way cannot be written:
//!
//! ```compile_fail,E0506
//! # fn send(world: &bcs_mpi::Communicator) -> bcs_mpi::Result<()> {
//! let mut data = [1, 2, 3];
//! bcs_mpi::scope(|scope| {
//!     world.isend(scope, &data, 0, 0)?;
//!     data[0] = 4; // `data` is borrowed
//!     Ok(())
//! })
//! # }
//! ```
//!
//! The [untyped core](crate::mpi) has [one kind](crate::mpi::Request), whose buffers are the
//! caller's care: to make one is `unsafe`.
