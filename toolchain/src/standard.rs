//! The standard's lists, from which the crate `mpi-abi` is generated, too.

pub use abi_lists::{Constant, FUNCTIONS, constants};
