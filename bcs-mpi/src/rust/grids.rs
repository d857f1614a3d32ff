//! Grids: the places of ranks, and shifts of data.
#![expect(unsafe_code, reason = "hands slices to the untyped core by address")]

use super::communicator::Communicator;
use super::equivalence::{Equivalence, read, write};
use super::matching::{Status, as_peer, as_rank};
use super::unchecked_memory::settled;
use crate::mpi::{Result, topology};

/// Returns the dimensions of a grid of this number of ranks. Dimensions that are 0 are filled in,
/// as close to each other as possible and in non-increasing order. (`MPI_Dims_create`)
///
/// ```
/// assert_eq!(bcs_mpi::dims_create(12, [0, 0])?, [4, 3]);
/// assert_eq!(bcs_mpi::dims_create(12, [0, 2, 0])?, [3, 2, 2]);
/// # Ok::<(), Box<bcs_mpi::Error>>(())
/// ```
///
/// # Errors
/// When the given dimensions do not divide the number of ranks.
pub fn dims_create<const N: usize>(ranks: usize, dims: [usize; N]) -> Result<[usize; N]> {
    let mut numbers = dims.map(as_rank);
    topology::dims_create(as_rank(ranks), &mut numbers)?;
    Ok(numbers.map(|dim| as_peer(dim).expect("dimensions are positive")))
}

impl Communicator {
    /// Makes a communicator of the first ranks on a grid of these dimensions, periodic or not. The
    /// other ranks get none. (`MPI_Cart_create`)
    ///
    /// # Errors
    /// When the grid has more ranks than the communicator, and as [`split`](Self::split).
    #[track_caller]
    pub fn cart_create(&self, dims: &[usize], periods: &[bool]) -> Result<Option<Self>> {
        let dims: Vec<i32> = dims.iter().map(|&dim| as_rank(dim)).collect();
        Ok(self.0.cart_create(&dims, periods)?.map(Self))
    }

    /// Returns this rank's place on the grid. (`MPI_Cart_coords`)
    ///
    /// # Errors
    /// When the communicator has no grid.
    pub fn cart_coords(&self) -> Result<Vec<usize>> {
        let coords = self.0.cart_coords(self.0.rank())?;
        Ok(coords.into_iter().filter_map(as_peer).collect())
    }

    /// Returns the rank at this place of the grid. Along periodic dimensions a place may be beyond
    /// the edge. (`MPI_Cart_rank`)
    ///
    /// # Errors
    /// When the communicator has no grid, or the grid has no such place.
    pub fn cart_rank(&self, coords: &[i32]) -> Result<usize> {
        let rank = self.0.cart_rank(coords)?;
        Ok(as_peer(rank).expect("whoever is on a grid has a rank"))
    }

    /// Returns the ranks that this rank receives from and sends to when all ranks shift their data
    /// by `displacement` along a dimension. `None` is no process, and may be named as a peer.
    /// (`MPI_Cart_shift`)
    ///
    /// # Errors
    /// When the communicator has no grid, or the grid has no such dimension.
    pub fn cart_shift(
        &self,
        dimension: usize,
        displacement: i32,
    ) -> Result<(Option<usize>, Option<usize>)> {
        let (source, destination) = self.0.cart_shift(as_rank(dimension), displacement)?;
        Ok((as_peer(source), as_peer(destination)))
    }

    /// Shifts the `out` of all ranks along a dimension of the grid, and receives the data from the
    /// other side into `into`. At an edge no data come: the result is `None`, and `into` stays
    /// unchanged. (`MPI_Cart_shift` and `MPI_Sendrecv`)
    ///
    /// ```
    /// # fn main() -> bcs_mpi::Result<()> {
    /// # let universe = bcs_mpi::Universe::init()?;
    /// # let world = universe.world();
    /// let ring = world.cart_create(&[world.size()], &[true])?.unwrap();
    /// let mut before = [0];
    /// ring.shift(0, 1, &[ring.rank()], &mut before, 7)?;
    /// assert_eq!(before[0], (ring.rank() + ring.size() - 1) % ring.size());
    /// # universe.finalize()
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`cart_shift`](Self::cart_shift) and [`sendrecv`](Self::sendrecv).
    #[track_caller]
    pub fn shift<T: Equivalence>(
        &self,
        dimension: usize,
        displacement: i32,
        out: &[T],
        into: &mut [T],
        tag: i32,
    ) -> Result<Option<Status>> {
        let (from, to) = self.0.cart_shift(as_rank(dimension), displacement)?;
        // SAFETY: borrowed for the call.
        let out = unsafe { read(out) };
        let slice = &raw mut *into;
        // SAFETY: as above.
        let into = unsafe { write(into) };
        let came = self.0.sendrecv((out, to, tag), (into, from, tag));
        // SAFETY: as above.
        let status = unsafe { settled(slice, "MPI_Sendrecv", came) }?;
        Ok(as_peer(from).map(|_| status.into()))
    }

    /// Makes the grid of the dimensions that remain, through this rank. (`MPI_Cart_sub`)
    ///
    /// # Errors
    /// When the communicator has no grid, and as [`split`](Self::split).
    #[track_caller]
    pub fn cart_sub(&self, remain: &[bool]) -> Result<Self> {
        self.0.cart_sub(remain).map(Self)
    }
}
