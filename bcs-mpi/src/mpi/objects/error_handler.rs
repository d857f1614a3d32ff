//! The action after an error of an object, `O` (MPI 5.0, 9.3), which a handler function of the
//! program gets.

use crate::mpi::error::Error;
use std::fmt;
use std::sync::Arc;

/// An error handler function of the program (`MPI_Comm_errhandler_function`).
pub type HandleError<O> = dyn Fn(&O, &Error) + Send + Sync;

/// The action after an error.
#[derive(Default)]
pub enum ErrorHandler<O> {
    /// `MPI_ERRORS_ARE_FATAL`: the job ends.
    #[default]
    Fatal,
    /// `MPI_ERRORS_ABORT`: as if the program called `MPI_Abort` on the communicator. Here this ends
    /// the job, because ranks of one job depend on each other.
    Abort,
    /// `MPI_ERRORS_RETURN`: the call returns the error.
    Return,
    /// A handler of `MPI_Comm_create_errhandler`: the function is called, then the call returns.
    User(Arc<HandleError<O>>),
}

impl<O> Clone for ErrorHandler<O> {
    fn clone(&self) -> Self {
        match self {
            Self::Fatal => Self::Fatal,
            Self::Abort => Self::Abort,
            Self::Return => Self::Return,
            Self::User(function) => Self::User(function.clone()),
        }
    }
}

impl<O> fmt::Debug for ErrorHandler<O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Fatal => "Fatal",
            Self::Abort => "Abort",
            Self::Return => "Return",
            Self::User(_) => "User",
        })
    }
}

impl<O> ErrorHandler<O> {
    /// `MPI_Comm_create_errhandler`: makes a handler of a function.
    #[must_use]
    pub fn create(function: impl Fn(&O, &Error) + Send + Sync + 'static) -> Self {
        Self::User(Arc::new(function))
    }
}
