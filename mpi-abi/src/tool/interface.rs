//! Who uses the interface (MPI 5.0, 15.3.4), and that one function does at a time.
//!
//! Any thread may call. A function holds the turn from its beginning to its end, so nobody frees what it works with. It
//! may take the lock of the rank's endpoint meanwhile. Whoever has that one never comes here.

use super::{Outcome, Refusal, control, sessions};
use crate::answer::abort_after_panic;
use crate::c::MPI_SUCCESS;
use bcs_core::lockstep;
use std::ffi::c_int;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;

/// The turn, and how often the interface was initialised more than finalized.
static USES: Mutex<u64> = Mutex::new(0);

/// `MPI_T_init_thread`.
pub fn begin() {
    *lockstep::lock(&USES) += 1;
}

/// `MPI_T_finalize`. With the last one all sessions and handles are over.
///
/// # Errors
/// When it was called as often as [`begin`].
pub fn end() -> Outcome {
    let mut uses = lockstep::lock(&USES);
    *uses = uses.checked_sub(1).ok_or(Refusal::NotInitialized)?;
    if *uses == 0 {
        control::forget();
        sessions::forget();
    }
    Ok(())
}

/// Runs a function that needs no initialisation; `name` is its name with the P.
pub fn enter(name: &'static str, body: impl FnOnce() -> Outcome) -> c_int {
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => MPI_SUCCESS,
        Ok(Err(refusal)) => refusal.code(),
        Err(_) => abort_after_panic(&name[1..]),
    }
}

/// Runs any other function, when it is its turn.
pub fn call(name: &'static str, body: impl FnOnce() -> Outcome) -> c_int {
    enter(name, || {
        let uses = lockstep::lock(&USES);
        match *uses {
            0 => Err(Refusal::NotInitialized),
            _ => body(),
        }
    })
}
