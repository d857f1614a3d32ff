//! The node daemon: it spawns, feeds and guards the ranks of its nodes and hosts their NIC.
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
//! Agents that have started others relay between them and `bcs run` ([`launch_tree`]).
//!
//! One process per node; with the shared driver one process, the *NIC host*, for all nodes of the
//! machine. One OS thread and one epoll do everything but the NIC. This OS thread also spawns the
//! ranks, because the kernel kills a rank when the *thread* that made it dies.
//!
//! How all processes end, whichever is killed:
//!
//! | killed | what ends the others |
//! |---|---|
//! | a rank | its node manager reports it, `bcs run` ends the job |
//! | a node manager | the kernel kills its ranks (PR_SET_PDEATHSIG); `bcs run` adopts and kills their children (subreaper) |
//! | an agent that has started others | the same, and those below it find the end of their links and end as if `bcs run` were gone ([`launch_tree`]) |
//! | `bcs run` | every node manager finds its control socket closed and kills its ranks and their children (subreaper) |
//!
//! Nothing has a name in a file system: sockets are pairs, memory is memfds.

mod adoption;
mod agent;
mod agent_error;
mod byte_stream;
pub mod control;
pub mod control_group;
pub mod cores;
mod dumps;
mod event_poll;
mod foreign_mpi;
mod frames;
mod handshake;
mod input_pipes;
mod job_memory;
pub mod launch_tree;
mod launcher_link;
mod leak_collector;
mod library_path;
pub mod limits;
mod local_ranks;
mod lost_launcher;
pub mod machine_profile;
pub mod mpi_libraries;
pub mod nic;
mod output;
pub mod pmi;
mod pmi_messages;
mod pmi_service;
pub mod preload;
mod process;
pub mod program_file;
mod rank_connection;
pub mod rank_cores;
mod rank_process;
mod rank_spawner;
pub mod reaper;
mod recorder;
mod roles;
mod shortage;
pub mod slot_folder;
mod slots;
pub mod spawn;
mod subtree;
mod supervisor;
pub mod survey;
mod surveyor;
mod threads;
mod wait_state_report;

pub use job_memory::take as take_inherited;
pub use process::{run, run_far};
pub use roles::{ADOPTING, FAR_ROLE};
