//! Error handlers: what a program wants done about the errors of a communicator (MPI 5.0, 9.3).
//!
//! The calls of this module's core always return errors. A layer above that must not (a C ABI) gives
//! each to [`Comm::handle`], which does what the communicator's handler says.

use super::error::{Error, Operation};
use super::{Comm, Result};
use std::fmt;
use std::sync::Arc;

/// A handler of the program's (`MPI_Comm_errhandler_function`).
pub type HandleError = dyn Fn(&Comm, &Error) + Send + Sync;

/// What is to be done about an error.
#[derive(Clone, Default)]
pub enum ErrorHandler {
    /// `MPI_ERRORS_ARE_FATAL`: the job ends.
    #[default]
    Fatal,
    /// `MPI_ERRORS_ABORT`: as if the program called `MPI_Abort` on the communicator, which here
    /// ends the job, too: ranks of one job depend on each other.
    Abort,
    /// `MPI_ERRORS_RETURN`: the call returns the error.
    Return,
    /// What `MPI_Comm_create_errhandler` made: the function is called, then the call returns.
    User(Arc<HandleError>),
}

impl fmt::Debug for ErrorHandler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Fatal => "Fatal",
            Self::Abort => "Abort",
            Self::Return => "Return",
            Self::User(_) => "User",
        })
    }
}

impl ErrorHandler {
    /// `MPI_Comm_create_errhandler`.
    #[must_use]
    pub fn create(function: impl Fn(&Comm, &Error) + Send + Sync + 'static) -> Self {
        Self::User(Arc::new(function))
    }
}

impl Comm {
    /// `MPI_Comm_set_errhandler`. Communicators made of this one afterwards have the same.
    ///
    /// # Errors
    /// When the communicator was freed.
    pub fn set_error_handler(&self, handler: ErrorHandler) -> Result<()> {
        self.usable(Operation::plain("MPI_Comm_set_errhandler"))?;
        *self.0.kept.error_handler() = handler;
        Ok(())
    }

    /// `MPI_Comm_get_errhandler`.
    #[must_use]
    pub fn error_handler(&self) -> ErrorHandler {
        self.0.kept.error_handler().clone()
    }

    /// `MPI_Comm_call_errhandler`, and what a call does that fails: the communicator's handler is
    /// asked, with no lock held. It comes back with what the call is to return.
    ///
    /// # Errors
    /// The error, unless the job ends.
    pub fn handle<T>(&self, outcome: Result<T>) -> Result<T> {
        let error = match outcome {
            Ok(value) => return Ok(value),
            Err(error) => error,
        };
        match self.error_handler() {
            ErrorHandler::Return => {}
            ErrorHandler::User(function) => function(self, &error),
            ErrorHandler::Fatal | ErrorHandler::Abort => {
                let reason = format!("rank {} of {}: {error}", self.rank(), self.title());
                self.process().abort(error.class.code(), &reason);
            }
        }
        Err(error)
    }

    /// How messages name it.
    fn title(&self) -> String {
        match self.name() {
            name if name.is_empty() => format!("a communicator of {} ranks", self.size()),
            name => name,
        }
    }
}
