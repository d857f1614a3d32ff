//! Threads that run one at a time, in virtual time: how the simulator runs ranks
//! (docs/simulator.md).
//!
//! A rank of the simulator is a thread that runs the same `bcs-mpi` as a process. When such a
//! thread would read the clock, spin, yield, sleep on a bell, ring one, or wait for a lock, it
//! calls this module instead, and hands its turn back to the *driver*: the one thread that owns the
//! time and decides, by a seed, which thread runs next. So one seed fixes everything between the
//! call of MPI and the fabric, and a failed seed repeats exactly.
//!
//! Threads are preempted only here. Everything between two such calls is one step for all other
//! threads: loom tests the interleavings within rings, queues and bells.
//!
//! A process that never makes a [`Lockstep`] pays one relaxed load when it reads the clock or is
//! about to wait, and nothing elsewhere.
//!
//! A thread that is [killed](Lockstep::kill) never runs again. It is not unwound, because the
//! memory that it shares must stay as it was, as after SIGKILL; its OS thread is parked until the
//! process ends.

mod context;
mod driver;
mod futex;
mod lock;
mod scope;
mod shared;
mod turn;

#[cfg(test)]
mod tests;

pub use driver::{Lockstep, ThreadStatus};
pub(crate) use futex::{sleep, wake};
pub use lock::{lock, notify_all, wait};
pub use scope::{Scope, ScopedThread, scope};
pub use shared::ThreadNumber;
pub(crate) use turn::now_ns;
pub use turn::{draw, is_active, kill_this_process, maybe_pause, pause, poll};
