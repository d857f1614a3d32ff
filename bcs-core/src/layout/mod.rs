//! Layouts: where the bytes of a message lie in a rank's memory when they do not lie side by side.
//!
//! A derived datatype (MPI 5.0, chapter 5) is compiled to a list of *runs*. A run is `count` blocks
//! of `block` bytes each, `stride` bytes from one start to the next; so a vector is one run, however
//! long it is, and what lies side by side is one block. A message is so many elements as its length
//! says, `extent` bytes from one to the next, and each has all runs of the list.
//!
//! ```text
//! word    0     1     2       3      4       5      6       7      8 ...
//!         runs  size  extent  start  offset  block  stride  count  the next run
//!                             └ of run 0 ┘
//! ```
//!
//! The words are what a rank and its NIC share: a descriptor names their address in the rank's
//! memory. `start` is how many bytes of an element come before the run, so whoever wants to begin
//! in the middle of a message finds the place by bisection ([`Cursor`]). A rank reads its own words
//! ([`DataLayout`]); to the NIC they are an allegation, of which it reads what it needs and checks each
//! run ([`RemoteRuns`]).
//!
//! Addresses that come of it are computed modulo 2^64. That is no hole: they are addresses in the
//! memory of the rank that wrote the words, and the kernel says which of them there are.

mod blocks;
mod builder;
mod cursor;
mod data_layout;
mod location;
mod remote;
mod run;
#[cfg(test)]
mod tests;

pub use blocks::copy_blocks;
pub use builder::{LayoutBuilder, TooManyRuns};
pub use cursor::{Cursor, Runs, Strip};
pub use data_layout::{DataLayout, LocalRuns};
pub use location::Location;
pub use remote::RemoteRuns;
pub use run::{BadLayout, BlockRun};
