//! The end of a communicator (MPI 5.0, 7.4.3).

use super::error::{ErrorClass, Operation};
use super::{Comm, Result};
use std::sync::atomic::Ordering;

impl Comm {
    /// `MPI_Comm_free`: makes all handles of this communicator unusable, and deletes its
    /// attributes. Operations that were started on it go on. (Dropping the last handle does the
    /// same, but does not call the functions that delete attributes, because they need a handle.)
    ///
    /// # Errors
    /// When it is the world, or was freed, or a function that deletes an attribute fails.
    pub fn free(&self) -> Result<()> {
        let operation = Operation::plain("MPI_Comm_free");
        self.usable(&operation)?;
        if self.process().is_world(self.0.context) {
            return Err(operation.error(ErrorClass::Comm, "the world cannot be freed"));
        }
        self.delete_attributes()?;
        self.0.freed.store(true, Ordering::Relaxed);
        self.process().forget_parent(self);
        Ok(())
    }
}
