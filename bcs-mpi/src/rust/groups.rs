//! Groups, and communicators made of them or on a grid.

use super::communicator::Communicator;
use super::matching::{as_peer, as_rank};
use crate::mpi::{Group, Result};

impl Communicator {
    /// The group of its ranks. (`MPI_Comm_group`)
    #[must_use]
    pub fn group(&self) -> Group {
        self.0.group()
    }

    /// The ranks of a group make a communicator; all ranks of this one call it. (`MPI_Comm_create`)
    ///
    /// # Errors
    /// When a rank of the group is not in this communicator, and as [`split`](Self::split).
    #[track_caller]
    pub fn create(&self, group: &Group) -> Result<Option<Self>> {
        Ok(self.0.create(group)?.map(Self))
    }

    /// The ranks that are on one node make a communicator. (`MPI_Comm_split_type` with
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

    /// The first ranks on a grid of these dimensions, periodic or not; the others get none.
    /// (`MPI_Cart_create`)
    ///
    /// # Errors
    /// When the grid has more ranks than the communicator, and as [`split`](Self::split).
    #[track_caller]
    pub fn cart_create(&self, dims: &[usize], periods: &[bool]) -> Result<Option<Self>> {
        let dims: Vec<i32> = dims.iter().map(|&dim| as_rank(dim)).collect();
        Ok(self.0.cart_create(&dims, periods)?.map(Self))
    }

    /// Where this rank is on the grid. (`MPI_Cart_coords`)
    ///
    /// # Errors
    /// When the communicator has no grid.
    pub fn cart_coords(&self) -> Result<Vec<usize>> {
        let coords = self.0.cart_coords(self.0.rank())?;
        Ok(coords.into_iter().filter_map(as_peer).collect())
    }

    /// Whom this rank receives from and whom it sends to when all shift their data so far along a
    /// dimension. (`MPI_Cart_shift`)
    ///
    /// # Errors
    /// When the communicator has no grid, or the grid no such dimension.
    pub fn cart_shift(
        &self,
        dimension: usize,
        displacement: i32,
    ) -> Result<(Option<usize>, Option<usize>)> {
        let (source, destination) = self.0.cart_shift(as_rank(dimension), displacement)?;
        Ok((as_peer(source), as_peer(destination)))
    }

    /// The grid of the dimensions that remain, through this rank. (`MPI_Cart_sub`)
    ///
    /// # Errors
    /// When the communicator has no grid, and as [`split`](Self::split).
    #[track_caller]
    pub fn cart_sub(&self, remain: &[bool]) -> Result<Self> {
        self.0.cart_sub(remain).map(Self)
    }
}
