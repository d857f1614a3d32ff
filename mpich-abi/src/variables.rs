//! Variables that MPICH's library exports. Programs read constants from them.

use mpi_abi::c::{UNWEIGHTED, WEIGHTS_EMPTY};
use std::ffi::c_int;

/// A constant of C that is an address.
#[repr(transparent)]
#[derive(Clone, Copy, Debug)]
pub struct Address(pub usize);

/// The address of an object. It is never dereferenced here.
#[repr(transparent)]
#[derive(Clone, Copy, Debug)]
pub struct Place(pub *const [c_int; 5]);
// SAFETY: it is a number that programs compare.
unsafe impl Sync for Place {}

/// The library decides what stands for the weights, so these have the standard's values.
#[unsafe(no_mangle)]
pub static MPI_UNWEIGHTED: Address = Address(UNWEIGHTED);
#[unsafe(no_mangle)]
pub static MPI_WEIGHTS_EMPTY: Address = Address(WEIGHTS_EMPTY);
#[unsafe(no_mangle)]
pub static MPI_T_PVAR_ALL_HANDLES: Address = Address(1);

/// Statuses that stand for an ignored one, for the Fortran 2008 interface.
#[unsafe(no_mangle)]
pub static MPIR_F08_MPI_STATUS_IGNORE_OBJ: [c_int; 5] = [0; 5];
#[unsafe(no_mangle)]
pub static MPIR_F08_MPI_STATUSES_IGNORE_OBJ: [[c_int; 5]; 1] = [[0; 5]];
#[unsafe(no_mangle)]
pub static MPI_F08_STATUS_IGNORE: Place = Place(&raw const MPIR_F08_MPI_STATUS_IGNORE_OBJ);
#[unsafe(no_mangle)]
pub static MPI_F08_STATUSES_IGNORE: Place =
    Place((&raw const MPIR_F08_MPI_STATUSES_IGNORE_OBJ).cast());

/// Variables that Fortran programs ignore. Its library stores the addresses here when it is loaded:
/// without it there is no Fortran in the program.
#[unsafe(no_mangle)]
pub static mut MPI_F_STATUS_IGNORE: usize = 0;
#[unsafe(no_mangle)]
pub static mut MPI_F_STATUSES_IGNORE: usize = 0;

/// The launcher knows this library by this symbol.
#[unsafe(no_mangle)]
pub static bcs_mpich_abi: c_int = 12;
