//! What a program asks of its surroundings (MPI 5.0, chapter 9), and this process's rank in them.

use super::Process;
use std::sync::{Arc, OnceLock, Weak};

/// The version of the standard: of `MPI_Get_version`.
pub const VERSION: (i32, i32) = (5, 0);

/// The rank that this process is.
static THE_RANK: OnceLock<TheRank> = OnceLock::new();

struct TheRank {
    world_rank: u32,
    process: Weak<Process>,
}

/// This process is a rank from now on. Ranks that are threads of one process are not said: there, errors name none.
pub(super) fn begins(process: &Arc<Process>) {
    let _first_one = THE_RANK.set(TheRank {
        world_rank: process.world_rank(),
        process: Arc::downgrade(process),
    });
}

/// The rank in the world that this process is, if it has begun.
#[must_use]
pub fn world_rank() -> Option<u32> {
    THE_RANK.get().map(|rank| rank.world_rank)
}

/// `MPI_Initialized`: whether this process has become a rank, also if it has finalised since.
#[must_use]
pub fn is_initialized() -> bool {
    THE_RANK.get().is_some()
}

/// `MPI_Finalized`: whether this process was a rank and has left its job.
#[must_use]
pub fn is_finalized() -> bool {
    let over = |process: Option<Arc<Process>>| process.is_none_or(|process| process.is_finalized());
    THE_RANK
        .get()
        .is_some_and(|rank| over(rank.process.upgrade()))
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

/// `MPI_Get_processor_name`: the name of the host.
#[must_use]
pub fn processor_name() -> String {
    let names = rustix::system::uname();
    names.nodename().to_string_lossy().into_owned()
}

/// `MPI_Wtick`: seconds of the finest difference that [`wtime`](super::process::wtime) tells.
#[must_use]
pub fn wtick() -> f64 {
    1e-9
}
