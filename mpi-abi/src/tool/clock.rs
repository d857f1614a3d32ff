//! The one source of time (MPI 5.0, 15.3.8), that of `MPI_Wtime`. All ranks of a host share it.

use crate::c::MPI_Count;

pub const NAME: &str = "bcs_clock";
pub const ABOUT: &str = "nanoseconds of the machine's clock, as MPI_Wtime has them";
pub const TICKS_PER_SECOND: MPI_Count = 1_000_000_000;

/// Returns nanoseconds since some time.
pub fn now() -> MPI_Count {
    MPI_Count::try_from(bcs_core::clock::now_ns()).unwrap_or(MPI_Count::MAX)
}
