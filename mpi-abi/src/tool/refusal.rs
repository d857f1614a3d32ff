//! Why a function refuses (MPI 5.0, 15.3.10). No error handler is asked: the code goes back, and that is all.

use crate::c::*;
use std::ffi::c_int;

/// What a function comes to.
pub type Outcome<T = ()> = Result<T, Refusal>;

/// Why it does not do what it was asked for.
#[repr(i32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// Nobody has initialised the interface.
    NotInitialized = MPI_T_ERR_NOT_INITIALIZED,
    /// It is there, and not known now.
    NotAccessible = MPI_T_ERR_NOT_ACCESSIBLE,
    /// A place for a result is nowhere, or a length is negative.
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
