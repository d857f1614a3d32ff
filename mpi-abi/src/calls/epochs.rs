//! Synchronisation of windows (MPI 5.0, 12.5).

use super::calls;
use crate::answer::{error, run_on_window};
use crate::c::*;
use crate::objects::{group, put};
use bcs_mpi::mpi::window::LockKind;
use bcs_mpi::mpi::{ErrorClass, Result};
use std::ffi::c_int;

const ASSERTIONS: c_int =
    MPI_MODE_NOCHECK | MPI_MODE_NOSTORE | MPI_MODE_NOPUT | MPI_MODE_NOPRECEDE | MPI_MODE_NOSUCCEED;

/// Checks assertions.
fn assertions(assert: c_int) -> Result<c_int> {
    if assert & !ASSERTIONS == 0 {
        return Ok(assert);
    }
    Err(error(
        ErrorClass::Assert,
        format!("{assert:#x} is no assertion about windows"),
    ))
}

/// Returns the kind of a lock.
fn kind(lock_type: c_int) -> Result<LockKind> {
    match lock_type {
        MPI_LOCK_EXCLUSIVE => Ok(LockKind::Exclusive),
        MPI_LOCK_SHARED => Ok(LockKind::Shared),
        other => Err(error(
            ErrorClass::Locktype,
            format!("{other} is no kind of lock"),
        )),
    }
}

calls! {
    fn PMPI_Win_fence(assert: c_int, win: MPI_Win) {
        run_on_window(win, |entry| entry.window.fence(assertions(assert)?))
    }

    fn PMPI_Win_post(group: MPI_Group, assert: c_int, win: MPI_Win) {
        run_on_window(win, |entry| entry.window.post(&super::group(group)?, assertions(assert)?))
    }

    fn PMPI_Win_start(group: MPI_Group, assert: c_int, win: MPI_Win) {
        run_on_window(win, |entry| entry.window.start(&super::group(group)?, assertions(assert)?))
    }

    fn PMPI_Win_complete(win: MPI_Win) {
        run_on_window(win, |entry| entry.window.complete())
    }

    fn PMPI_Win_wait(win: MPI_Win) {
        run_on_window(win, |entry| entry.window.wait())
    }

    fn PMPI_Win_test(win: MPI_Win, flag: *mut c_int) {
        run_on_window(win, |entry| put(flag, c_int::from(entry.window.test()?)))
    }

    fn PMPI_Win_lock(lock_type: c_int, rank: c_int, assert: c_int, win: MPI_Win) {
        run_on_window(win, |entry| entry.window.lock(kind(lock_type)?, rank, assertions(assert)?))
    }

    fn PMPI_Win_unlock(rank: c_int, win: MPI_Win) {
        run_on_window(win, |entry| entry.window.unlock(rank))
    }

    fn PMPI_Win_lock_all(assert: c_int, win: MPI_Win) {
        run_on_window(win, |entry| entry.window.lock_all(assertions(assert)?))
    }

    fn PMPI_Win_unlock_all(win: MPI_Win) {
        run_on_window(win, |entry| entry.window.unlock_all())
    }

    fn PMPI_Win_flush(rank: c_int, win: MPI_Win) {
        run_on_window(win, |entry| entry.window.flush(rank))
    }

    fn PMPI_Win_flush_all(win: MPI_Win) {
        run_on_window(win, |entry| entry.window.flush_all())
    }

    fn PMPI_Win_flush_local(rank: c_int, win: MPI_Win) {
        run_on_window(win, |entry| entry.window.flush_local(rank))
    }

    fn PMPI_Win_flush_local_all(win: MPI_Win) {
        run_on_window(win, |entry| entry.window.flush_local_all())
    }

    fn PMPI_Win_sync(win: MPI_Win) {
        run_on_window(win, |entry| entry.window.sync())
    }
}
