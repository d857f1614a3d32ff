//! Named constants, with the values of the standard's ABI (MPI 5.0, chapter 20).

/// `MPI_ANY_SOURCE`.
pub const ANY_SOURCE: i32 = -1;
/// `MPI_PROC_NULL`: no process. Sends to it and receives from it complete at once.
pub const PROC_NULL: i32 = -3;
/// `MPI_ROOT`: in a collective on an intercommunicator, the root passes this, and the others of its
/// group pass [`PROC_NULL`].
pub const ROOT: i32 = -4;
/// `MPI_ANY_TAG`.
pub const ANY_TAG: i32 = -2;
/// `MPI_UNDEFINED`.
pub const UNDEFINED: i32 = -32766;
/// `MPI_TAG_UB`: the largest tag.
pub const TAG_UB: i32 = i32::MAX;

/// `MPI_MAX_OBJECT_NAME`, without the zero at the end of a C string.
pub const MAX_OBJECT_NAME: usize = 127;

/// `MPI_ERR_LASTCODE`: the last code that the standard reserves.
pub const ERR_LASTCODE: i32 = 0x3fff;
