//! The end of a communicator (MPI 5.0, 7.4.3).

use super::error::{ErrorClass, Operation};
use super::{Comm, Result};
use std::sync::atomic::Ordering;

impl Comm {
    /// `MPI_Comm_free`: no handle of this communicator can be used any more. What was started on
    /// it goes on. Its attributes are deleted. (Dropping the last handle does the same, but then the
    /// functions that delete attributes are not called: they want a handle.)
    ///
    /// # Errors
    /// When it is the world, or was freed, or a function that deletes an attribute fails.
    pub fn free(&self) -> Result<()> {
        let operation = Operation::plain("MPI_Comm_free");
        self.usable(&operation)?;
        if self.0.context == 0 {
            return Err(operation.error(ErrorClass::Comm, "the world cannot be freed"));
        }
        self.delete_attributes()?;
        self.0.freed.store(true, Ordering::Relaxed);
        Ok(())
    }
}
