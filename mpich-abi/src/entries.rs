//! The functions of the standard ABI, by their symbols in the crate `mpi-abi`.

use mpi_abi::c::*;
use std::ffi::{c_char, c_int, c_void};

// The crate has these symbols.
use mpi_abi as _;

/// Functions of data representations, of which the crate `mpi-abi` has no types yet.
pub type MPI_Datarep_conversion_function = usize;
pub type MPI_Datarep_conversion_function_c = usize;
pub type MPI_Datarep_extent_function = usize;

include!(concat!(env!("OUT_DIR"), "/entries.rs"));
