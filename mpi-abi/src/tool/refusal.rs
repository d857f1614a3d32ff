//! The error codes of functions (MPI 5.0, 15.3.10). No error handler is called: the function
//! returns the code.

use crate::c::*;
use std::ffi::c_int;

/// The result of a function.
pub type ToolOutcome<T = ()> = Result<T, Refusal>;

/// The reason why a function refuses.
#[repr(i32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The interface is not initialised.
    NotInitialized = MPI_T_ERR_NOT_INITIALIZED,
    /// The variable exists, but its value is not known now.
    NotAccessible = MPI_T_ERR_NOT_ACCESSIBLE,
    /// The place for a result is missing, or a length is negative.
    Invalid = MPI_T_ERR_INVALID,
    InvalidIndex = MPI_T_ERR_INVALID_INDEX,
    InvalidName = MPI_T_ERR_INVALID_NAME,
    InvalidHandle = MPI_T_ERR_INVALID_HANDLE,
    InvalidSession = MPI_T_ERR_INVALID_SESSION,
    SetNever = MPI_T_ERR_CVAR_SET_NEVER,
    NoStartStop = MPI_T_ERR_PVAR_NO_STARTSTOP,
    NoWrite = MPI_T_ERR_PVAR_NO_WRITE,
    NoAtomic = MPI_T_ERR_PVAR_NO_ATOMIC,
}

impl Refusal {
    pub fn code(self) -> c_int {
        self as c_int
    }
}
