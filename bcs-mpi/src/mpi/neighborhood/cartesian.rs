//! Communicators whose ranks are on a grid (MPI 5.0, 8.5).

use crate::mpi::Comm;
use crate::mpi::error::{ErrorClass, Operation, Result};
use crate::mpi::topology::{Cartesian, Topology};
use crate::recording::Primitive;

impl Comm {
    /// Returns the grid that the ranks of this communicator are on (`MPI_Cartdim_get`,
    /// `MPI_Cart_get`).
    #[must_use]
    pub fn cartesian(&self) -> Option<&Cartesian> {
        match self.topology()? {
            Topology::Cartesian(grid) => Some(grid),
            _ => None,
        }
    }

    fn grid(&self, operation: Operation) -> Result<&Cartesian> {
        self.usable(&operation)?;
        self.cartesian().ok_or_else(|| {
            let reason = "the communicator has no Cartesian topology (MPI_Cart_create)";
            operation.error(ErrorClass::Topology, reason)
        })
    }

    /// Returns a grid for the first ranks, and the number of its ranks.
    fn planned_grid(
        &self,
        dims: &[i32],
        periods: &[bool],
        operation: Operation,
    ) -> Result<(Cartesian, i32)> {
        self.usable_within(&operation)?;
        if dims.len() != periods.len() {
            let reason = format!("{} dimensions have {} periods", dims.len(), periods.len());
            return Err(operation.error(ErrorClass::Arg, reason));
        }
        if let Some(dim) = dims.iter().find(|&&dim| dim <= 0) {
            let reason = format!("a dimension of {dims:?} is {dim}: it must be positive");
            return Err(operation.error(ErrorClass::Dims, reason));
        }
        let Some(size) = Cartesian::size(dims).filter(|&size| size <= self.size()) else {
            let reason = format!(
                "a grid of {dims:?} has more ranks than the communicator, which has {}",
                self.size()
            );
            return Err(operation.error(ErrorClass::Dims, reason));
        };
        let grid = Cartesian {
            dims: dims.to_vec(),
            periods: periods.to_vec(),
        };
        Ok((grid, size))
    }

    /// `MPI_Cart_map`: returns this rank's number on such a grid, which is its number here; `None`
    /// if it is not on it (`MPI_UNDEFINED`).
    ///
    /// # Errors
    /// As [`cart_create`](Self::cart_create), as far as this rank can tell.
    pub fn cart_map(&self, dims: &[i32], periods: &[bool]) -> Result<Option<i32>> {
        let operation = Operation::plain("MPI_Cart_map");
        // A grid without places has no ranks. Programs that halve their ranks come here.
        if dims.contains(&0) && dims.iter().all(|&dim| dim >= 0) && dims.len() == periods.len() {
            return self.usable_within(&operation).map(|()| None);
        }
        let (_, size) = self.planned_grid(dims, periods, operation)?;
        Ok(Some(self.rank()).filter(|&rank| rank < size))
    }

    /// `MPI_Cart_create`: makes a communicator of the first ranks of this one, on a grid of these
    /// dimensions. The other ranks get none. All members call it, with the same arguments.
    ///
    /// # Errors
    /// When a dimension is not positive, the numbers of dimensions and periods differ, the grid has
    /// more ranks than the communicator, and as [`dup`](Self::dup).
    #[track_caller]
    pub fn cart_create(&self, dims: &[i32], periods: &[bool]) -> Result<Option<Self>> {
        let call = ("MPI_Cart_create", Primitive::CommCreate);
        let (grid, size) = self.planned_grid(dims, periods, Operation::plain(call.0))?;
        let color = (self.rank() < size).then_some(0);
        self.split_for(call, color, 0, Some(Topology::Cartesian(grid)))
    }

    /// `MPI_Cart_coords`: returns the coordinates of a rank.
    ///
    /// # Errors
    /// When the communicator has no grid or no such rank.
    pub fn cart_coords(&self, rank: i32) -> Result<Vec<i32>> {
        let operation = Operation::plain("MPI_Cart_coords");
        let grid = self.grid(operation)?;
        self.world_rank(rank, &operation)?;
        Ok(grid.coords(rank))
    }

    /// `MPI_Cart_rank`: returns the rank at these coordinates. In periodic dimensions coordinates
    /// wrap around.
    ///
    /// # Errors
    /// When the communicator has no grid, or there is no such rank.
    pub fn cart_rank(&self, coords: &[i32]) -> Result<i32> {
        let operation = Operation::plain("MPI_Cart_rank");
        let grid = self.grid(operation)?;
        let rank = grid
            .rank(coords)
            .filter(|_| coords.len() == grid.dims.len());
        rank.ok_or_else(|| {
            let reason = format!("{coords:?} is not on the grid of {:?}", grid.dims);
            operation.error(ErrorClass::Arg, reason)
        })
    }

    /// `MPI_Cart_shift`: returns the ranks that this rank receives from and sends to when all ranks
    /// shift their data by `displacement` in a direction. At an end of the grid they are
    /// [`PROC_NULL`](crate::mpi::PROC_NULL).
    ///
    /// # Errors
    /// When the communicator has no grid, or the grid has no such direction.
    pub fn cart_shift(&self, direction: i32, displacement: i32) -> Result<(i32, i32)> {
        let operation = Operation::plain("MPI_Cart_shift");
        let grid = self.grid(operation)?;
        let dimension = usize::try_from(direction)
            .ok()
            .filter(|&dimension| dimension < grid.dims.len());
        let dimension = dimension.ok_or_else(|| {
            let reason = format!("a grid of {:?} has no direction {direction}", grid.dims);
            operation.error(ErrorClass::Dims, reason)
        })?;
        Ok(grid.shift(self.rank(), dimension, displacement))
    }

    /// `MPI_Cart_sub`: makes a grid of the dimensions that remain, for each combination of the
    /// other coordinates.
    ///
    /// # Errors
    /// When the communicator has no grid, `remain` does not have as many values as the grid has
    /// dimensions, and as [`dup`](Self::dup).
    #[track_caller]
    pub fn cart_sub(&self, remain: &[bool]) -> Result<Self> {
        let call = ("MPI_Cart_sub", Primitive::CommSplit);
        let operation = Operation::plain(call.0);
        let grid = self.grid(operation)?;
        if remain.len() != grid.dims.len() {
            let (given, dims) = (remain.len(), grid.dims.len());
            let reason = format!("{given} values are given for {dims} dimensions");
            return Err(operation.error(ErrorClass::Arg, reason));
        }
        let coords = grid.coords(self.rank());
        let part = |kept: bool| -> Vec<usize> {
            (0..remain.len()).filter(|&d| remain[d] == kept).collect()
        };
        let index = |dimensions: &[usize]| {
            dimensions
                .iter()
                .fold(0, |index, &d| index * grid.dims[d] + coords[d])
        };
        let (kept, others) = (part(true), part(false));
        let sub = Cartesian {
            dims: kept.iter().map(|&d| grid.dims[d]).collect(),
            periods: kept.iter().map(|&d| grid.periods[d]).collect(),
        };
        let color = index(&others).cast_unsigned();
        let comm = self.split_for(
            call,
            Some(color),
            index(&kept),
            Some(Topology::Cartesian(sub)),
        )?;
        Ok(comm.expect("a rank with a colour is in a communicator"))
    }
}
