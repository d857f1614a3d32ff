//! Calls for one value, which take arguments and return results by value.

use super::communicator::Communicator;
use super::equivalence::Equivalence;
use super::matching::{Destination, Source, Status, Tag};
use super::operation::Operation;
use crate::mpi::error::Operation as Call;
use crate::mpi::{ErrorClass, Result};

impl Communicator {
    /// [`send`](Self::send)s one value. (`MPI_Send`)
    ///
    /// # Errors
    /// As `send`.
    #[track_caller]
    pub fn send_one<T: Equivalence>(
        &self,
        value: T,
        to: impl Into<Destination>,
        tag: i32,
    ) -> Result<()> {
        self.send(&[value], to, tag)
    }

    /// Receives one value, as [`recv`](Self::recv) does. From no process it is the default.
    /// (`MPI_Recv`)
    ///
    /// # Errors
    /// As `recv`, and when the message is shorter.
    #[track_caller]
    pub fn recv_one<T: Equivalence + Default>(
        &self,
        from: impl Into<Source>,
        tag: impl Into<Tag>,
    ) -> Result<(T, Status)> {
        let mut value = [T::default()];
        let status = self.recv(&mut value, from, tag)?;
        let [value] = value;
        if status.count::<T>() != Some(1) && status.source != Status::NOBODY {
            let reason = format!(
                "{} bytes of rank {} with tag {} are no value of {}",
                status.bytes,
                status.source,
                status.tag,
                std::any::type_name::<T>()
            );
            return Err(Call::plain("MPI_Recv").error(ErrorClass::Count, reason));
        }
        Ok((value, status))
    }

    /// Returns the root's value. Elsewhere `value` is ignored. (`MPI_Bcast`)
    ///
    /// # Errors
    /// As [`bcast`](Self::bcast).
    #[track_caller]
    pub fn bcast_one<T: Equivalence>(&self, value: T, root: usize) -> Result<T> {
        let mut data = [value];
        self.bcast(&mut data, root)?;
        Ok(data[0])
    }

    /// Returns the values of all ranks at the root, in the order of the ranks; `None` elsewhere.
    /// (`MPI_Gather`)
    ///
    /// # Errors
    /// As [`gather`](Self::gather).
    #[track_caller]
    pub fn gather_one<T: Equivalence>(&self, value: T, root: usize) -> Result<Option<Vec<T>>> {
        let is_root = self.rank() == root;
        let mut values = vec![value; if is_root { self.size() } else { 0 }];
        self.gather(&[value], &mut values, root)?;
        Ok(is_root.then_some(values))
    }

    /// Returns the values of all ranks, in the order of the ranks. (`MPI_Allgather`)
    ///
    /// # Errors
    /// As [`allgather`](Self::allgather).
    #[track_caller]
    pub fn allgather_one<T: Equivalence>(&self, value: T) -> Result<Vec<T>> {
        let mut values = vec![value; self.size()];
        self.allgather(&[value], &mut values)?;
        Ok(values)
    }

    /// Returns this rank's value of the root's `values`, which are ignored elsewhere.
    /// (`MPI_Scatter`)
    ///
    /// # Errors
    /// As [`scatter`](Self::scatter).
    #[track_caller]
    pub fn scatter_one<T: Equivalence + Default>(&self, values: &[T], root: usize) -> Result<T> {
        let mut value = [T::default()];
        self.scatter(values, &mut value, root)?;
        Ok(value[0])
    }

    /// Sends a value to each rank, and returns one from each. (`MPI_Alltoall`)
    ///
    /// # Errors
    /// As [`alltoall`](Self::alltoall).
    #[track_caller]
    pub fn alltoall_one<T: Equivalence>(&self, values: &[T]) -> Result<Vec<T>> {
        let mut came = values.to_vec();
        self.alltoall(values, &mut came)?;
        Ok(came)
    }

    /// Returns the combination of all ranks' values at the root; `None` elsewhere. (`MPI_Reduce`)
    ///
    /// # Errors
    /// As [`reduce`](Self::reduce).
    #[track_caller]
    pub fn reduce_one<T: Equivalence>(
        &self,
        value: T,
        op: impl Operation<T>,
        root: usize,
    ) -> Result<Option<T>> {
        let mut result = [value];
        self.reduce(&[value], &mut result, op, root)?;
        Ok((self.rank() == root).then_some(result[0]))
    }

    /// Returns the combination of all ranks' values. (`MPI_Allreduce`)
    ///
    /// ```
    /// # fn main() -> bcs_mpi::Result<()> {
    /// # let universe = bcs_mpi::Universe::init()?;
    /// # let world = universe.world();
    /// let last = world.allreduce_one(world.rank(), bcs_mpi::Op::Max)?;
    /// assert_eq!(last, world.size() - 1);
    /// # universe.finalize()
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`allreduce`](Self::allreduce).
    #[track_caller]
    pub fn allreduce_one<T: Equivalence>(&self, value: T, op: impl Operation<T>) -> Result<T> {
        let mut result = [value];
        self.allreduce(&[value], &mut result, op)?;
        Ok(result[0])
    }

    /// Returns the combination of the values of all ranks up to this one. (`MPI_Scan`)
    ///
    /// # Errors
    /// As [`scan`](Self::scan).
    #[track_caller]
    pub fn scan_one<T: Equivalence>(&self, value: T, op: impl Operation<T>) -> Result<T> {
        let mut result = [value];
        self.scan(&[value], &mut result, op)?;
        Ok(result[0])
    }

    /// Returns the combination of the values of all ranks below this one; `None` on rank 0.
    /// (`MPI_Exscan`)
    ///
    /// # Errors
    /// As [`exscan`](Self::exscan).
    #[track_caller]
    pub fn exscan_one<T: Equivalence>(&self, value: T, op: impl Operation<T>) -> Result<Option<T>> {
        let mut result = [value];
        self.exscan(&[value], &mut result, op)?;
        Ok((self.rank() > 0).then_some(result[0]))
    }
}
