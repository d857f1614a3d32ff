//! Programs of the project: SWEEP3D, the benchmark of the paper's section 6.3, and small ones.
//!
//! Every program is generic over [`MessagePassing`], an application's view of an MPI, so that the
//! same code runs over our runtime, over a foreign MPI to compare with, and over threads in tests.

pub mod bcs;
pub mod beat;
pub mod bench;
mod byte_passing;
mod computation;
pub mod doze;
pub mod hello;
pub mod message_passing;
pub mod pingpong;
pub mod send_cost;
pub mod spin;
pub mod sweep3d;
mod usage;

pub use byte_passing::BytePassing;
pub use message_passing::MessagePassing;
pub use usage::Seconds;
