//! The untyped core of MPI over the BCS API, on which the safe Rust layer and a C ABI are built.
//!
//! | module | is |
//! |---|---|
//! | [`error`], `constants`, `live_objects` | errors, named constants, the number of live objects |
//! | `account` | the attached buffers of buffered sends |
//! | [`datatype`], [`op`], [`group`], [`info`] | what is known without a communicator (chapters 5, 6.9.5, 7, 10) |
//! | [`buffer`], [`Blocks`], [`pack`](Comm::pack), [`external32`] | data described by a datatype |
//! | [`objects`], [`topology`] | what a process, a communicator and its topology are made of |
//! | [`process`], [`threads`], [`error_codes`] | this rank: initialise, finalise, abort; its threads; its own errors (chapters 11, 9.5) |
//! | [`comm`], [`attributes`], [`error_handler`] | communicators, and what a program keeps with them (chapters 7, 7.7, 9.3) |
//! | [`environment`] | host and versions (chapter 9) |
//! | [`statistics`] | a rank's counters (chapter 15.3) |
//! | `checks` | what a checked job checks in calls |
//! | [`request`], [`status`], `leaks` | operations that were started, their outcome, and what is left at the end |
//! | [`generalized_request`] | operations that the program performs (13.2) |
//! | [`point_to_point`](Comm::send), [`buffered`], [`probe`](Comm::probe), [`matched`] | messages (chapter 3) |
//! | [`create`](Comm::split), [`create_group`](Comm::create_group), [`create_from_group`](Process::create_from_group), [`duplication`](Comm::idup), [`free`](Comm::free) | how communicators come and go (7.4) |
//! | [`collective`](Comm::barrier), [`exchange`] | collectives (chapter 6) |
//! | [`intercommunicator`](Comm::intercomm_create) | communicators of two groups that talk to each other (7.6) |
//! | [`spawn`] | processes that processes start, ports (chapter 11.8, 11.9) |
//! | [`neighborhood`](Comm::neighbor_alltoall) | grids and graphs, and collectives among neighbours (chapter 8) |
//! | [`window`] | one-sided communication (chapter 12) |
//! | [`persistent`] | messages and collectives to be started again (3.9, 6.13) |
//!
//! A folder imports from those above it in this list, never from one below.
//!
//! Messages are named as in C, by address, count and datatype. The
//! [manual](crate::manual::functions) lists where each function of the standard is.
//!
//! ```
//! use bcs_core::reduction::Datatype as Elementary;
//! use bcs_mpi::mpi::{Buffer, Datatype, Process};
//!
//! # fn main() -> bcs_mpi::Result<()> {
//! let process = Process::init()?; // MPI_Init
//! let world = process.world(); // MPI_COMM_WORLD
//!
//! // Every third number, of ten. (MPI_Type_vector, MPI_Type_commit)
//! let thirds = Datatype::from(Elementary::Int32).vector(10, 1, 3)?;
//! thirds.commit()?;
//! let mut out: Vec<i32> = (0..30).collect();
//! let mut into = [0i32; 10];
//! let (me, tag) = (world.rank(), 7);
//! // SAFETY: `out` stays during the call that it is given to.
//! let from = unsafe { Buffer::new(out.as_mut_ptr(), 1, &thirds) };
//! // SAFETY: `into` stays, and is not looked at, until the request is done.
//! let to = unsafe { Buffer::new(into.as_mut_ptr(), 10, Elementary::Int32) };
//! let mut request = world.irecv(to, me, tag)?; // MPI_Irecv
//! world.send(from, me, tag)?; // MPI_Send
//! let status = request.wait()?; // MPI_Wait
//! assert_eq!((into[9], status.count(&thirds)), (27, Some(1)));
//! process.finalize() // MPI_Finalize
//! # }
//! ```
//!
//! Ranks and tags are `i32` as in C, with the wildcards and codes of the standard's ABI (MPI 5.0,
//! chapter 20). A [`Buffer`] names memory by address. Making one is unsafe: the caller promises
//! that the memory stays as long as an operation has it. So the calls are safe.

mod account;
pub mod attributes;
mod block_checks;
mod blocks;
pub mod buffer;
mod buffer_claims;
pub mod buffered;
mod call_records;
mod checked_windows;
mod checks;
mod collective;
pub mod comm;
mod compared_blocks;
mod constants;
mod create;
mod create_from_group;
mod create_group;
pub mod datatype;
mod duplication;
pub mod environment;
pub mod error;
mod error_class;
pub mod error_codes;
pub mod error_handler;
pub mod external32;
mod free;
pub mod generalized_request;
pub mod group;
pub mod info;
mod intercommunicator;
mod leaks;
mod live_objects;
pub mod matched;
mod neighborhood;
pub mod objects;
pub mod op;
mod pack;
pub mod persistent;
mod point_to_point;
mod probe;
pub mod process;
pub mod request;
pub mod spawn;
pub mod statistics;
pub mod status;
mod this_rank;
pub mod threads;
pub mod topology;
pub mod window;

pub use account::AttachedBuffer;
pub use attributes::Keyval;
pub use bcs_core::reduction::Op;
pub use blocks::Blocks;
pub use buffer::Buffer;
pub use collective::{InvalidArguments, exchange};
pub use constants::{ANY_SOURCE, ANY_TAG, PROC_NULL, ROOT, TAG_UB, UNDEFINED};
pub use datatype::Datatype;
pub use error::{Error, ErrorClass, Result};
pub use error_handler::ErrorHandler;
pub use group::{Comparison, Group};
pub use info::Info;
pub use matched::Message;
pub use objects::handles::{Comm, Process};
pub use op::{AnyOp, UserOp, reduce_local};
pub use persistent::{PartitionedMessage, Persistent};
pub use request::Request;
pub use spawn::{Command, SpawnOutcome};
pub use status::Status;
pub use threads::ThreadLevel;
