//! Whether this process has called `MPI_Init` (MPI 5.0, 11.2).

use crate::answer::{Outcome, error};
use bcs_mpi::mpi::{Comm, ErrorClass, Process, Result, ThreadLevel};
use std::sync::{Arc, OnceLock};

struct Running {
    process: Arc<Process>,
    world: Comm,
    itself: Comm,
}

static RUNNING: OnceLock<Running> = OnceLock::new();

fn running() -> Outcome<&'static Running> {
    RUNNING
        .get()
        .ok_or_else(|| error(ErrorClass::Other, "called before MPI_Init").into())
}

/// `MPI_Init_thread`.
pub fn init(level: ThreadLevel) -> Result<()> {
    if RUNNING.get().is_some() {
        return Err(error(ErrorClass::Other, "MPI_Init was called before"));
    }
    let process = Process::init_thread(level)?;
    let (world, itself) = (process.world(), process.itself());
    let running = Running {
        process,
        world,
        itself,
    };
    let _one_of_two_threads_is_late = RUNNING.set(running);
    Ok(())
}

/// This rank.
pub fn process() -> Outcome<&'static Arc<Process>> {
    Ok(&running()?.process)
}

/// `MPI_COMM_WORLD`.
#[inline]
pub fn world() -> Outcome<&'static Comm> {
    Ok(&running()?.world)
}

/// `MPI_COMM_SELF`.
pub fn itself() -> Outcome<&'static Comm> {
    Ok(&running()?.itself)
}

/// `MPI_Initialized`.
pub fn is_initialized() -> bool {
    RUNNING.get().is_some()
}

/// `MPI_Finalized`.
pub fn is_finalized() -> bool {
    RUNNING
        .get()
        .is_some_and(|running| running.process.is_finalized())
}
