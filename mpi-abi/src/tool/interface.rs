//! The use of the interface (MPI 5.0, 15.3.4), by one function at a time.
//!
//! Any thread may call. A function holds the turn from its beginning to its end, so no other one
//! frees the objects that it uses. It may take the lock of the rank's endpoint meanwhile. A thread
//! that holds that lock never waits for the turn.

use super::{Refusal, ToolOutcome, control, sessions};
use crate::answer::abort_after_panic;
use crate::c::MPI_SUCCESS;
use bcs_core::lockstep;
use std::ffi::c_int;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;

/// The turn; it protects the number of initialisations minus that of finalizations.
static USES: Mutex<u64> = Mutex::new(0);

/// Implements `MPI_T_init_thread`.
pub fn begin() {
    *lockstep::lock(&USES) += 1;
}

/// Implements `MPI_T_finalize`. The last call ends all sessions and handles.
///
/// # Errors
/// If it was called as often as [`begin`].
pub fn end() -> ToolOutcome {
    let mut uses = lockstep::lock(&USES);
    *uses = uses.checked_sub(1).ok_or(Refusal::NotInitialized)?;
    if *uses == 0 {
        control::forget();
        sessions::forget();
    }
    Ok(())
}

/// Runs a function that needs no initialisation; `name` is its name with the P.
pub fn enter(name: &'static str, body: impl FnOnce() -> ToolOutcome) -> c_int {
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => MPI_SUCCESS,
        Ok(Err(refusal)) => refusal.code(),
        Err(_) => abort_after_panic(&name[1..]),
    }
}

/// Runs any other function, when it has the turn.
pub fn call(name: &'static str, body: impl FnOnce() -> ToolOutcome) -> c_int {
    enter(name, || {
        let uses = lockstep::lock(&USES);
        match *uses {
            0 => Err(Refusal::NotInitialized),
            _ => body(),
        }
    })
}
