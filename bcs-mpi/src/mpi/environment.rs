//! Inquiries about the environment (MPI 5.0, chapter 9).

use super::{Process, this_rank};
use crate::adoption;
use bcs_core::job::handshake::{NODE_NAME_VARIABLE, host_name};
use std::sync::{Arc, OnceLock, Weak};

pub use super::this_rank::world_rank;

/// The version of the standard, for `MPI_Get_version`.
pub const VERSION: (i32, i32) = (5, 0);

/// The job that this process is in, or was.
static JOB: OnceLock<Weak<Process>> = OnceLock::new();

/// Makes this process a rank. Ranks that are threads of one process do not call this: there, errors
/// name no rank.
pub(super) fn set_process(process: &Arc<Process>) {
    let _first_one = JOB.set(Arc::downgrade(process));
    this_rank::set_world_rank(process.world_rank());
}

/// `MPI_Initialized`: returns whether this process has become a rank, also if it has finalised
/// since.
#[must_use]
pub fn is_initialized() -> bool {
    JOB.get().is_some()
}

/// `MPI_Finalized`: returns whether this process was a rank and has left its job.
///
/// ```
/// # fn main() -> bcs_mpi::Result<()> {
/// let universe = bcs_mpi::Universe::init()?;
/// assert!(!bcs_mpi::is_finalized());
/// universe.finalize()?;
/// assert!(bcs_mpi::is_finalized());
/// # Ok(())
/// # }
/// ```
#[must_use]
pub fn is_finalized() -> bool {
    let over = |process: Option<Arc<Process>>| process.is_none_or(|process| process.is_finalized());
    JOB.get().is_some_and(|process| over(process.upgrade()))
}

/// `MPI_Get_version`: returns version and subversion of the standard.
#[must_use]
pub fn version() -> (i32, i32) {
    VERSION
}

/// `MPI_Get_library_version`.
#[must_use]
pub fn library_version() -> &'static str {
    concat!("BCS-MPI ", env!("CARGO_PKG_VERSION"))
}

/// `MPI_Get_processor_name`: returns the name of the node. If the host has one node of the job,
/// that is the host's name (or the value of `BCS_HOST_NAME`). Else the node's number follows it, as
/// in `host/n1`. So `MPI_Comm_split_type` with `MPI_COMM_TYPE_SHARED` puts the ranks with one name
/// together.
#[must_use]
pub fn processor_name() -> String {
    let told = adoption::name_of_node();
    let told = told.or_else(|| std::env::var(NODE_NAME_VARIABLE).ok());
    told.filter(|name| !name.is_empty())
        .unwrap_or_else(host_name)
}

/// `MPI_Wtick`: returns the resolution of [`wtime`](super::process::wtime) in seconds.
#[must_use]
pub fn wtick() -> f64 {
    1e-9
}

/// Returns " at program+0x11b9" for the return address of a call, if its file is known. `bcs run`
/// prints the line of the source instead.
#[must_use]
pub fn describe_address(address: u64) -> String {
    crate::checked::describe_address(address)
}
