//! The node daemon: spawns, feeds and guards the ranks of its nodes and hosts their NIC.
//!
//! ```text
//!                 Start, Input, Signal, Finish, Terminate
//!        bcs run ─────────────── control ──────────────► agent ── NicHost (OS threads)
//!                ◄────────────────────────────────────── │  ▲
//!                  lines of output, failures, AllDone    │  │ pidfd, stdout, stderr
//!                                                 spawn  ▼  │ conversation (Hello, Finalized)
//!                                                        ranks
//! ```
//!
//! One process per node; with the shared driver one process, the *NIC host*, for all nodes of the
//! machine. One OS thread and one epoll do everything but the NIC: it is the thread that spawns
//! the ranks, because the kernel kills a rank when the *thread* that made it dies.
//!
//! How nothing is left, whatever dies:
//!
//! | who is killed | who ends the rest |
//! |---|---|
//! | a rank | its node manager reports it, `bcs run` ends the job |
//! | a node manager | the kernel kills its ranks (PR_SET_PDEATHSIG); what those had started falls to `bcs run`, which kills it (subreaper) |
//! | `bcs run` | every node manager finds its control socket closed and kills its ranks and what they had started (subreaper) |
//!
//! Nothing has a name in a file system: sockets are pairs, memory is memfds.

mod agent;
mod byte_stream;
pub mod control;
mod conversation;
pub mod cores;
mod crew;
mod dumps;
mod foreign_mpi;
mod frames;
mod inherited;
mod keeper;
mod leftovers;
mod library_path;
pub mod limits;
mod link;
mod looks;
mod lost_launcher;
pub mod machine_profile;
mod meeting;
pub mod nic;
mod nursery;
mod output;
pub mod preload;
mod process;
pub mod program_file;
pub mod rank_cores;
mod rank_process;
pub mod reaper;
mod recorder;
mod shared_input;
mod shortage;
pub mod slot_folder;
mod slots;
pub mod spawn;
pub mod survey;
mod surveyor;
mod threads;
mod watch;

pub use process::{FAR_ROLE, run, run_far};
