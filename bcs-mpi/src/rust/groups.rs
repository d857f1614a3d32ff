//! Groups, and communicators made of them.

use super::communicator::Communicator;
use crate::mpi::{Group, Result};

impl Communicator {
    /// Returns the group of its ranks. (`MPI_Comm_group`)
    #[must_use]
    pub fn group(&self) -> Group {
        self.0.group()
    }

    /// Makes a communicator of the ranks of a group. All ranks of this one call it.
    /// (`MPI_Comm_create`)
    ///
    /// # Errors
    /// When a rank of the group is not in this communicator, and as [`split`](Self::split).
    #[track_caller]
    pub fn create(&self, group: &Group) -> Result<Option<Self>> {
        Ok(self.0.create(group)?.map(Self))
    }

    /// Makes a communicator of the ranks that are on one node. (`MPI_Comm_split_type` with
    /// `MPI_COMM_TYPE_SHARED`)
    ///
    /// # Errors
    /// As [`split`](Self::split).
    #[track_caller]
    pub fn split_by_node(&self, key: i32) -> Result<Self> {
        let comm = self.0.split_by_node(true, key)?;
        Ok(Self(
            comm.expect("a rank that takes part is in a communicator"),
        ))
    }
}
