//! What a program asks of its surroundings (MPI 5.0, chapter 9).

use super::{Process, this_rank};
use bcs_core::job::handshake::{NODE_NAME_VARIABLE, host_name};
use std::sync::{Arc, OnceLock, Weak};

pub use super::this_rank::world_rank;

/// The version of the standard: of `MPI_Get_version`.
pub const VERSION: (i32, i32) = (5, 0);

/// The job that this process is in, or was.
static JOB: OnceLock<Weak<Process>> = OnceLock::new();

/// This process is a rank from now on. Ranks that are threads of one process are not said: there, errors name none.
pub(super) fn set_process(process: &Arc<Process>) {
    let _first_one = JOB.set(Arc::downgrade(process));
    this_rank::set_world_rank(process.world_rank());
}

/// `MPI_Initialized`: whether this process has become a rank, also if it has finalised since.
#[must_use]
pub fn is_initialized() -> bool {
    JOB.get().is_some()
}

/// `MPI_Finalized`: whether this process was a rank and has left its job.
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

/// `MPI_Get_version`: version and subversion of the standard.
#[must_use]
pub fn version() -> (i32, i32) {
    VERSION
}

/// `MPI_Get_library_version`.
#[must_use]
pub fn library_version() -> &'static str {
    concat!("BCS-MPI ", env!("CARGO_PKG_VERSION"))
}

/// `MPI_Get_processor_name`: the name of the node. That is the host's (or what `BCS_HOST_NAME` says) where the host has
/// one node of the job; else the node's number follows it, as in `host/n1`. So ranks with one name are those that
/// `MPI_Comm_split_type` puts together with `MPI_COMM_TYPE_SHARED`.
#[must_use]
pub fn processor_name() -> String {
    let told = std::env::var(NODE_NAME_VARIABLE).ok();
    told.filter(|name| !name.is_empty())
        .unwrap_or_else(host_name)
}

/// `MPI_Wtick`: seconds of the finest difference that [`wtime`](super::process::wtime) tells.
#[must_use]
pub fn wtick() -> f64 {
    1e-9
}
