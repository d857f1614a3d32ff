//! Generalized requests (MPI 5.0, 13.2): the program executes their operations, and reports
//! completion.

use crate::answer::{call_user_function, failed_with};
use crate::c::*;
use crate::calls::{status_of, tell};
use bcs_core::lockstep;
use bcs_mpi::mpi::generalized_request::GeneralizedCompletion;
use bcs_mpi::mpi::{Result, Status};
use std::ffi::{c_int, c_void};
use std::ptr::with_exposed_provenance_mut;
use std::sync::Mutex;

/// The functions of a generalized request, and their extra argument.
#[derive(Debug)]
pub struct GeneralizedRequest {
    query: MPI_Grequest_query_function,
    free: MPI_Grequest_free_function,
    cancel: MPI_Grequest_cancel_function,
    extra: usize,
    completion: GeneralizedCompletion,
    state: Mutex<GeneralizedState>,
}

#[derive(Debug, Default)]
struct GeneralizedState {
    completed: bool,
    /// Whether the program has freed its handle.
    freed: bool,
}

impl GeneralizedRequest {
    pub fn new(
        functions: (
            MPI_Grequest_query_function,
            MPI_Grequest_free_function,
            MPI_Grequest_cancel_function,
        ),
        extra: *mut c_void,
        completion: GeneralizedCompletion,
    ) -> Self {
        let (query, free, cancel) = functions;
        Self {
            query,
            free,
            cancel,
            extra: extra.expose_provenance(),
            completion,
            state: Mutex::default(),
        }
    }

    fn extra(&self) -> *mut c_void {
        with_exposed_provenance_mut(self.extra)
    }

    /// Returns the status of the operation from the program's query function.
    ///
    /// # Errors
    /// If that function fails.
    pub fn query(&self) -> Result<Status> {
        let mut status = MPI_Status {
            MPI_SOURCE: MPI_UNDEFINED,
            MPI_TAG: MPI_UNDEFINED,
            MPI_ERROR: MPI_SUCCESS,
            internal: [0; 5],
        };
        tell(&raw mut status, Status::EMPTY);
        if let Some(query) = self.query {
            // SAFETY: the program's promise: it is a function of this type.
            let code = call_user_function(|_| unsafe { query(self.extra(), &raw mut status) });
            succeeded(code)?;
        }
        status_of(&raw const status)
    }

    /// Returns whether the program has completed the operation.
    #[must_use]
    pub fn is_completed(&self) -> bool {
        lockstep::lock(&self.state).completed
    }

    /// Completes the operation (`MPI_Grequest_complete`). The caller must hold no lock of ours.
    ///
    /// # Errors
    /// If the program's free function fails.
    pub fn complete(&self) -> Result<()> {
        let freed = {
            let mut state = lockstep::lock(&self.state);
            state.completed = true;
            state.freed
        };
        self.completion.complete();
        match freed {
            true => self.let_go(),
            false => Ok(()),
        }
    }

    /// Notes that the program has freed its handle. Frees the program's state as soon as the
    /// operation is complete.
    ///
    /// # Errors
    /// If the program's free function fails.
    pub fn free(&self) -> Result<()> {
        let completed = {
            let mut state = lockstep::lock(&self.state);
            state.freed = true;
            state.completed
        };
        match completed {
            true => self.let_go(),
            false => Ok(()),
        }
    }

    fn let_go(&self) -> Result<()> {
        let Some(free) = self.free else {
            return Ok(());
        };
        // SAFETY: the program's promise: it is a function of this type.
        succeeded(call_user_function(|_| unsafe { free(self.extra()) }))
    }

    /// Calls the program's cancel function (`MPI_Cancel`).
    ///
    /// # Errors
    /// If the program's function fails.
    pub fn cancel(&self) -> Result<()> {
        let completed = lockstep::lock(&self.state).completed;
        let Some(cancel) = self.cancel else {
            return Ok(());
        };
        // SAFETY: the program's promise: it is a function of this type.
        succeeded(call_user_function(|_| unsafe {
            cancel(self.extra(), c_int::from(completed))
        }))
    }
}

fn succeeded(code: c_int) -> Result<()> {
    match code {
        MPI_SUCCESS => Ok(()),
        code => Err(failed_with(code)),
    }
}
