//! Error handlers: what happens after an error of a communicator (MPI 5.0, 9.3).
//!
//! The calls of this core always return errors. A layer above that may not return them (a C ABI)
//! passes each to [`Comm::handle`], which applies the communicator's handler.

use super::Comm;
use super::error::{Operation, Result};
use super::objects::error_handler as of;

/// An error handler function of the program (`MPI_Comm_errhandler_function`).
pub type HandleError = of::HandleError<Comm>;

/// The error handler of a communicator.
pub type ErrorHandler = of::ErrorHandler<Comm>;

impl Comm {
    /// `MPI_Comm_set_errhandler`. Communicators made of this one afterwards have the same.
    ///
    /// # Errors
    /// When the communicator was freed.
    pub fn set_error_handler(&self, handler: ErrorHandler) -> Result<()> {
        self.usable(&Operation::plain("MPI_Comm_set_errhandler"))?;
        *self.0.properties.error_handler() = handler;
        Ok(())
    }

    /// `MPI_Comm_get_errhandler`.
    #[must_use]
    pub fn error_handler(&self) -> ErrorHandler {
        self.0.properties.error_handler().clone()
    }

    /// `MPI_Comm_call_errhandler`, which a failing call uses, too: calls the communicator's
    /// handler, with no lock held. Returns what the call is to return.
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
                let reason = format!(
                    "rank {} of {}: {}",
                    self.rank(),
                    self.title(),
                    error.of_itself()
                );
                self.process().abort(error.code(), &reason);
            }
        }
        Err(error)
    }

    /// Returns the communicator's name in messages.
    fn title(&self) -> String {
        match self.name() {
            name if name.is_empty() => format!("a communicator of {} ranks", self.size()),
            name => name,
        }
    }
}
