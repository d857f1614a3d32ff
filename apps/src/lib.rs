//! Programs of the project: SWEEP3D and a SAGE-like application, those of the paper's chapter 6,
//! and small ones.
//!
//! Every program is generic over [`MessagePassing`], an application's view of an MPI. The same code
//! therefore runs over our runtime, over a foreign MPI to compare with, and over threads in tests.
//!
//! | module | contains |
//! |---|---|
//! | [`message_passing`] | the view: the calls that our programs make |
//! | [`mod@bcs`] | our MPI through that view |
//! | [`abi`] | a library with the standard ABI of MPI 5.0 through that view, loaded at run time |
//! | [`hello`] | the smallest program, to test that a job starts everywhere |
//! | [`pingpong`] | latency and bandwidth between two ranks |
//! | [`sweep3d`] | SWEEP3D, a neutron transport benchmark |
//! | [`sage`] | gas dynamics on an adaptive mesh, like SAGE |
//! | [`beat`], [`doze`], [`send_cost`], [`spin`] | programs that measure the runtime, for `cargo xtask check` |
//!
//! `bcs run -n 4 hello` runs one by its name. Each program has a `command` that takes arguments and
//! returns an exit code, so your own program over any MPI can be as short as this:
//!
//! ```
//! use std::process::ExitCode;
//!
//! fn main() -> ExitCode {
//!     let universe = bcs_mpi::Universe::init().expect("a world of one at least");
//!     apps::hello::command(universe.world(), &["--where".to_owned()])
//! }
//! ```
//!
//! `apps/examples` contains programs to read, of ten to a hundred lines: `ring`, `pi`, `heat`,
//! `master_worker`, `sample_sort`.

pub mod abi;
pub mod bcs;
pub mod beat;
pub mod bench;
pub mod builtin;
mod byte_passing;
mod computation;
pub mod doze;
pub mod hello;
pub mod message_passing;
pub mod pingpong;
pub mod sage;
pub mod send_cost;
mod shared_text;
pub mod spin;
pub mod sweep3d;
mod usage;

pub use byte_passing::{BytePassing, MessageWindow};
pub use message_passing::MessagePassing;
pub use usage::Seconds;
