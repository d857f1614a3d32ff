//! Cartesian topologies (MPI 5.0, 8.5): the ranks of a communicator on a grid.

use super::Topology;
use crate::mpi::error::{ErrorClass, Operation};
use crate::mpi::{Comm, PROC_NULL, Result};
use crate::recording::Primitive;

/// A grid. Ranks lie on it in row-major order: the last coordinate of neighbours in rank differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cartesian {
    dims: Vec<i32>,
    periods: Vec<bool>,
}

impl Cartesian {
    /// How many ranks it has; `None` if that is too large for any communicator.
    fn size(dims: &[i32]) -> Option<i32> {
        dims.iter()
            .try_fold(1_i32, |size, &dim| size.checked_mul(dim))
    }

    /// Ranks in each dimension.
    #[must_use]
    pub fn dims(&self) -> &[i32] {
        &self.dims
    }

    /// Whether the last rank of a dimension is the neighbour of the first.
    #[must_use]
    pub fn periods(&self) -> &[bool] {
        &self.periods
    }

    /// Where a rank of the grid is.
    fn coords(&self, rank: i32) -> Vec<i32> {
        let mut rest = rank;
        let mut coords: Vec<i32> = self
            .dims
            .iter()
            .rev()
            .map(|&dim| {
                let coordinate = rest % dim;
                rest /= dim;
                coordinate
            })
            .collect();
        coords.reverse();
        coords
    }

    /// The rank at a place; `None` outside of the grid.
    fn rank(&self, coords: &[i32]) -> Option<i32> {
        let dimensions = self.dims.iter().zip(&self.periods).zip(coords);
        dimensions
            .map(|((&dim, &periodic), &coordinate)| {
                let inside = (0..dim).contains(&coordinate);
                match (inside, periodic) {
                    (true, _) => Some((dim, coordinate)),
                    (false, true) => Some((dim, coordinate.rem_euclid(dim))),
                    (false, false) => None,
                }
            })
            .try_fold(0, |rank, place| {
                place.map(|(dim, coordinate)| rank * dim + coordinate)
            })
    }

    /// Who is so far before a rank in a dimension of the grid, and so far behind it.
    fn shift(&self, rank: i32, dimension: usize, displacement: i32) -> (i32, i32) {
        let here = self.coords(rank);
        let at = |displacement: Option<i32>| {
            let mut coords = here.clone();
            coords[dimension] = displacement.and_then(|d| coords[dimension].checked_add(d))?;
            self.rank(&coords)
        };
        let before = at(displacement.checked_neg()).unwrap_or(PROC_NULL);
        (before, at(Some(displacement)).unwrap_or(PROC_NULL))
    }

    /// The neighbours of a rank in the order of the standard (MPI 5.0, 8.6): for each dimension
    /// the one before it and the one behind it.
    pub(super) fn neighbors(&self, rank: i32) -> Vec<i32> {
        let dimensions = 0..self.dims.len();
        let pairs = dimensions.map(|dimension| <[i32; 2]>::from(self.shift(rank, dimension, 1)));
        pairs.flatten().collect()
    }
}

impl Comm {
    /// The grid that the ranks of this communicator are on (`MPI_Cartdim_get`, `MPI_Cart_get`).
    #[must_use]
    pub fn cartesian(&self) -> Option<&Cartesian> {
        match self.topology()? {
            Topology::Cartesian(grid) => Some(grid),
            _ => None,
        }
    }

    fn grid(&self, operation: Operation) -> Result<&Cartesian> {
        self.usable(operation)?;
        self.cartesian().ok_or_else(|| {
            let reason = "the communicator has no Cartesian topology (MPI_Cart_create)";
            operation.error(ErrorClass::Topology, reason)
        })
    }

    /// A grid for the first ranks, and how many it has.
    fn planned_grid(
        &self,
        dims: &[i32],
        periods: &[bool],
        operation: Operation,
    ) -> Result<(Cartesian, i32)> {
        self.usable_within(operation)?;
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

    /// `MPI_Cart_map`: this rank's number on such a grid, which is its number here; `None` if it
    /// is not on it (`MPI_UNDEFINED`).
    ///
    /// # Errors
    /// As [`cart_create`](Self::cart_create), as far as this rank can tell.
    pub fn cart_map(&self, dims: &[i32], periods: &[bool]) -> Result<Option<i32>> {
        let operation = Operation::plain("MPI_Cart_map");
        let (_, size) = self.planned_grid(dims, periods, operation)?;
        Ok(Some(self.rank()).filter(|&rank| rank < size))
    }

    /// `MPI_Cart_create`: the first ranks of this communicator on a grid of these dimensions. The
    /// others get none. All members call it, with the same arguments.
    ///
    /// # Errors
    /// When a dimension is not positive, the numbers of dimensions and periods differ, the grid
    /// has more ranks than the communicator, and as [`dup`](Self::dup).
    pub fn cart_create(&self, dims: &[i32], periods: &[bool]) -> Result<Option<Self>> {
        let call = ("MPI_Cart_create", Primitive::CommCreate);
        let (grid, size) = self.planned_grid(dims, periods, Operation::plain(call.0))?;
        let color = (self.rank() < size).then_some(0);
        self.split_for(call, color, 0, Some(Topology::Cartesian(grid)))
    }

    /// `MPI_Cart_coords`: where a rank is.
    ///
    /// # Errors
    /// When the communicator has no grid or no such rank.
    pub fn cart_coords(&self, rank: i32) -> Result<Vec<i32>> {
        let operation = Operation::plain("MPI_Cart_coords");
        let grid = self.grid(operation)?;
        self.world_rank(rank, operation)?;
        Ok(grid.coords(rank))
    }

    /// `MPI_Cart_rank`: who is there. In periodic dimensions coordinates wrap around.
    ///
    /// # Errors
    /// When the communicator has no grid, or there is nobody.
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

    /// `MPI_Cart_shift`: from whom this rank receives and to whom it sends when all shift their
    /// data so far in a direction. [`PROC_NULL`] stands for nobody.
    ///
    /// # Errors
    /// When the communicator has no grid, or the grid no such direction.
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

    /// `MPI_Cart_sub`: the grids of the dimensions that remain, one for each combination of the
    /// other coordinates.
    ///
    /// # Errors
    /// When the communicator has no grid, `remain` does not have as many values as the grid has
    /// dimensions, and as [`dup`](Self::dup).
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

/// `MPI_Dims_create`: fills in the dimensions that are 0, as close to each other as can be and in
/// non-increasing order, so that their product with the others is `ranks`.
///
/// # Errors
/// When a dimension is negative, or the others do not divide the number of ranks.
pub fn dims_create(ranks: i32, dims: &mut [i32]) -> Result<()> {
    let operation = Operation::plain("MPI_Dims_create");
    let refuse = |reason: String| Err(operation.error(ErrorClass::Dims, reason));
    if ranks <= 0 || dims.iter().any(|&dim| dim < 0) {
        return refuse(format!(
            "{ranks} ranks on a grid of {dims:?}: neither may be negative"
        ));
    }
    let free = dims.iter().filter(|&&dim| dim == 0).count();
    let fixed: Vec<i32> = dims.iter().copied().filter(|&dim| dim > 0).collect();
    let rest = Cartesian::size(&fixed)
        .filter(|product| ranks % product == 0)
        .map(|product| ranks / product);
    let rest = match rest {
        Some(rest) if free > 0 || rest == 1 => rest,
        _ => return refuse(format!("{ranks} ranks do not fill a grid of {dims:?}")),
    };
    let mut factors = balanced(rest, free, rest)
        .expect("one factor may be all of it")
        .into_iter();
    for dim in dims.iter_mut().filter(|dim| **dim == 0) {
        *dim = factors.next().expect("as many as are free");
    }
    Ok(())
}

/// `count` factors of `number`, none above `limit`, in non-increasing order; the largest is as
/// small as can be, then the second, and so on.
fn balanced(number: i32, count: usize, limit: i32) -> Option<Vec<i32>> {
    if count == 0 {
        return (number == 1).then(Vec::new);
    }
    let least = |factor: &i32| {
        // The others are not above this one: so together they do not reach further.
        let reach = (0..count).try_fold(1_i64, |reach, _| reach.checked_mul(i64::from(*factor)));
        reach.is_none_or(|reach| reach >= i64::from(number))
    };
    let factors = (1..=limit.min(number)).filter(|factor| number % factor == 0);
    factors.filter(least).find_map(|factor| {
        let mut rest = balanced(number / factor, count - 1, factor)?;
        rest.insert(0, factor);
        Some(rest)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(ranks: i32, mut dims: Vec<i32>) -> Vec<i32> {
        dims_create(ranks, &mut dims).unwrap();
        dims
    }

    /// The examples of the standard, and some where taking prime factors greedily goes wrong.
    #[test]
    fn dimensions_are_balanced() {
        assert_eq!(filled(6, vec![0, 0]), [3, 2]);
        assert_eq!(filled(7, vec![0, 0]), [7, 1]);
        assert_eq!(filled(6, vec![0, 3, 0]), [2, 3, 1]);
        assert_eq!(filled(72, vec![0, 0]), [9, 8]);
        assert_eq!(filled(64, vec![0; 3]), [4, 4, 4]);
        assert_eq!(filled(1, vec![0; 4]), [1; 4]);
        assert_eq!(filled(5_040, vec![0; 4]), [10, 9, 8, 7]);
        assert_eq!(filled(12, vec![12]), [12]);
        let mut wrong = [0, 3, 0];
        let error = dims_create(7, &mut wrong).unwrap_err();
        assert_eq!(error.class, ErrorClass::Dims);
        assert!(
            error
                .to_string()
                .contains("7 ranks do not fill a grid of [0, 3, 0]")
        );
        assert!(dims_create(6, &mut [3]).is_err());
        assert!(dims_create(6, &mut [-1, 0]).is_err());
    }

    #[test]
    fn coordinates_and_ranks_are_inverse() {
        let grid = Cartesian {
            dims: vec![3, 4, 2],
            periods: vec![false, true, false],
        };
        for rank in 0..24 {
            assert_eq!(grid.rank(&grid.coords(rank)), Some(rank));
        }
        assert_eq!(grid.coords(9), [1, 0, 1]);
        assert_eq!(grid.rank(&[1, 4, 1]), Some(9));
        assert_eq!(grid.rank(&[1, -4, 1]), Some(9));
        assert_eq!(grid.rank(&[3, 0, 0]), None);
        assert_eq!(grid.rank(&[0, 0, -1]), None);
    }
}
