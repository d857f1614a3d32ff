//! What is to be done about the errors of an object, `O` (MPI 5.0, 9.3), which a function of the program's is
//! given.

use crate::mpi::error::Error;
use std::fmt;
use std::sync::Arc;

/// A handler of the program's (`MPI_Comm_errhandler_function`).
pub type HandleError<O> = dyn Fn(&O, &Error) + Send + Sync;

/// What is to be done about an error.
#[derive(Default)]
pub enum ErrorHandler<O> {
    /// `MPI_ERRORS_ARE_FATAL`: the job ends.
    #[default]
    Fatal,
    /// `MPI_ERRORS_ABORT`: as if the program called `MPI_Abort` on the communicator, which here
    /// ends the job, too: ranks of one job depend on each other.
    Abort,
    /// `MPI_ERRORS_RETURN`: the call returns the error.
    Return,
    /// What `MPI_Comm_create_errhandler` made: the function is called, then the call returns.
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
    /// `MPI_Comm_create_errhandler`.
    #[must_use]
    pub fn create(function: impl Fn(&O, &Error) + Send + Sync + 'static) -> Self {
        Self::User(Arc::new(function))
    }
}
