//! The manual: what a program has to know of this MPI.
//!
//! | chapter | says |
//! |---|---|
//! | [`model`] | what a call does, and who moves the data |
//! | [`slice`](mod@slice) | how long a slice is, and how to choose |
//! | [`waiting`] | what ends a wait, and what it costs |
//! | [`requests`] | how to communicate while you compute, and why that is safe |
//! | [`determinism`] | what is the same in every run, and what is not |
//! | [`errors`] | what calls return, and what ends the job |
//! | [`threads`] | which threads may call what |
//! | [`functions`] | where each function of the standard is |
//!
//! Its examples run: each is a test of this crate, in a world of one.

pub mod determinism;
pub mod errors;
pub mod functions;
pub mod model;
pub mod requests;
pub mod slice;
pub mod threads;
pub mod waiting;
