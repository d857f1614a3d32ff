//! Cartesian topologies (MPI 5.0, 8.5): the ranks of a communicator on a grid.

use crate::mpi::constants::PROC_NULL;

/// A grid. Its ranks are in row-major order: consecutive ranks differ in the last coordinate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cartesian {
    pub(in crate::mpi) dims: Vec<i32>,
    pub(in crate::mpi) periods: Vec<bool>,
}

impl Cartesian {
    /// Returns the number of its ranks; `None` if that is too large for any communicator.
    pub(in crate::mpi) fn size(dims: &[i32]) -> Option<i32> {
        dims.iter()
            .try_fold(1_i32, |size, &dim| size.checked_mul(dim))
    }

    /// Returns the numbers of ranks in each dimension.
    #[must_use]
    pub fn dims(&self) -> &[i32] {
        &self.dims
    }

    /// Returns whether the last rank of a dimension is the neighbour of the first.
    #[must_use]
    pub fn periods(&self) -> &[bool] {
        &self.periods
    }

    /// Returns the coordinates of a rank.
    pub(in crate::mpi) fn coords(&self, rank: i32) -> Vec<i32> {
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

    /// Returns the rank at a place; `None` outside of the grid.
    pub(in crate::mpi) fn rank(&self, coords: &[i32]) -> Option<i32> {
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

    /// Returns the ranks at this distance before and behind a rank in a dimension of the grid.
    pub(in crate::mpi) fn shift(
        &self,
        rank: i32,
        dimension: usize,
        displacement: i32,
    ) -> (i32, i32) {
        let here = self.coords(rank);
        let at = |displacement: Option<i32>| {
            let mut coords = here.clone();
            coords[dimension] = displacement.and_then(|d| coords[dimension].checked_add(d))?;
            self.rank(&coords)
        };
        let before = at(displacement.checked_neg()).unwrap_or(PROC_NULL);
        (before, at(Some(displacement)).unwrap_or(PROC_NULL))
    }

    /// Returns the neighbours of a rank in the order of the standard (MPI 5.0, 8.6): for each
    /// dimension the one before it and the one behind it.
    pub(super) fn neighbors(&self, rank: i32) -> Vec<i32> {
        let dimensions = 0..self.dims.len();
        let pairs = dimensions.map(|dimension| <[i32; 2]>::from(self.shift(rank, dimension, 1)));
        pairs.flatten().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
