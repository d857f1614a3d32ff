//! The untyped core of MPI over the BCS API: what the safe Rust layer and a C ABI stand on.
//!
//! | module | is |
//! |---|---|
//! | [`process`], [`threads`] | this rank: initialise, finalise, abort; its threads |
//! | [`group`], [`comm`], [`create`](Comm::split), [`create_group`](Comm::create_group), [`free`](Comm::free), [`context_ids`] | groups and communicators (chapter 7) |
//! | [`intercommunicator`](Comm::intercomm_create) | communicators of two groups that talk to each other (7.6) |
//! | [`topology`] | who is whose neighbour: grids and graphs (chapter 8) |
//! | [`point_to_point`](Comm::send), [`buffered`], [`matched`], [`persistent`] | messages (MPI 5.0, chapter 3) |
//! | [`request`], [`status`] | what was started, and what came of it |
//! | [`collective`](Comm::barrier), [`exchange`] | collectives (chapter 6) |
//! | [`neighborhood`](Comm::neighbor_alltoall) | collectives among neighbours (8.6) |
//! | [`persistent_collectives`](Comm::barrier_init) | collectives to be started again (6.13) |
//! | [`datatype`] | datatypes (chapter 5) |
//! | [`op`] | operations that the program makes (6.9.5) |
//! | [`attributes`], [`info`], [`error_handler`], [`error_codes`] | what a program keeps with a communicator, and its own errors (chapters 7.7, 10, 9) |
//! | [`buffer`], [`error`] | data described by a datatype, and what can go wrong with it |
//!
//! Messages are named as in C, by address, count and datatype. Where each function of the standard is
//! says the [manual](crate::manual::functions).
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
//! let from = Buffer::new(out.as_mut_ptr(), 1, &thirds);
//! let to = Buffer::new(into.as_mut_ptr(), 10, Elementary::Int32);
//! // SAFETY: `into` stays, and is not looked at, until the request is done.
//! let mut request = unsafe { world.irecv(to, me, tag)? }; // MPI_Irecv
//! // SAFETY: `out` stays during the call.
//! unsafe { world.send(from, me, tag)? }; // MPI_Send
//! let status = request.wait()?; // MPI_Wait
//! assert_eq!((into[9], status.count(&thirds)), (27, Some(1)));
//! process.finalize() // MPI_Finalize
//! # }
//! ```
//!
//! Ranks and tags are `i32` as in C, with the wildcards and codes of the standard's ABI (MPI 5.0,
//! chapter 20). Calls that hand over a buffer by address are unsafe: it must stay until the
//! request is done.

pub mod attributes;
pub mod buffer;
pub mod buffered;
mod collective;
pub mod comm;
mod context_ids;
mod create;
mod create_group;
pub mod datatype;
pub mod error;
mod error_class;
pub mod error_codes;
pub mod error_handler;
pub mod exchange;
mod free;
pub mod group;
pub mod info;
mod intercommunicator;
mod kept;
pub mod matched;
mod members;
mod neighborhood;
pub mod op;
pub mod persistent;
mod persistent_collectives;
mod point_to_point;
pub mod process;
pub mod request;
pub mod status;
pub mod threads;
pub mod topology;

pub use attributes::Keyval;
pub use bcs_core::reduction::Op;
pub use buffer::Buffer;
pub use comm::Comm;
pub use datatype::Datatype;
pub use error::{Error, ErrorClass, Result};
pub use error_handler::ErrorHandler;
pub use exchange::Blocks;
pub use group::{Comparison, Group};
pub use info::Info;
pub use matched::Message;
pub use op::{AnyOp, UserOp, reduce_local};
pub use persistent::Persistent;
pub use process::Process;
pub use request::Request;
pub use status::Status;
pub use threads::ThreadLevel;

/// `MPI_ANY_SOURCE`.
pub const ANY_SOURCE: i32 = -1;
/// `MPI_PROC_NULL`: nobody. Sends to it and receives from it are done at once.
pub const PROC_NULL: i32 = -3;
/// `MPI_ROOT`: of a collective on an intercommunicator, the root says this, and the others of its
/// group say [`PROC_NULL`].
pub const ROOT: i32 = -4;
/// `MPI_ANY_TAG`.
pub const ANY_TAG: i32 = -2;
/// `MPI_UNDEFINED`.
pub const UNDEFINED: i32 = -32766;
/// `MPI_TAG_UB`: the largest tag.
pub const TAG_UB: i32 = i32::MAX;
