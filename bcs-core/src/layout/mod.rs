//! Layouts: the places of a message's bytes in a rank's memory when they are not contiguous.
//!
//! A derived datatype (MPI 5.0, chapter 5) is compiled to a list of *runs*. A run is `count` blocks
//! of `block` bytes each, `stride` bytes from one start to the next. So a vector is one run,
//! however long it is, and contiguous data are one block. The length of a message determines its
//! number of elements. They lie `extent` bytes apart, and each has all runs of the list.
//!
//! ```text
//! word    0     1     2       3      4       5      6       7      8 ...
//!         runs  size  extent  start  offset  block  stride  count  the next run
//!                             └ of run 0 ┘
//! ```
//!
//! A rank and its NIC share these words: a descriptor holds their address in the rank's memory.
//! `start` is the number of bytes of an element that come before the run, so a walk that begins in
//! the middle of a message finds its place by bisection ([`Cursor`]). A rank reads its own words
//! ([`DataLayout`]). The NIC does not trust them: it reads what it needs and checks each run
//! ([`RemoteRuns`]).
//!
//! The resulting addresses are computed modulo 2^64. That is not a security hole: they are
//! addresses in the memory of the rank that wrote the words, and the kernel checks them.

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
