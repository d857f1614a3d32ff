//! A barrier that does not block.

use super::communicator::Communicator;
use crate::forked;
use crate::mpi::{self, Result};

/// A barrier in progress. It has no buffer, so it needs no [`scope`](crate::scope()).
///
/// ```
/// # fn main() -> bcs_mpi::Result<()> {
/// # let universe = bcs_mpi::Universe::init()?;
/// # let world = universe.world();
/// let mut all_here = world.ibarrier()?;
/// while !all_here.test()? {
///     // ... serve whoever is not there yet ...
/// }
/// # universe.finalize()
/// # }
/// ```
///
/// Dropping it waits for the other ranks.
#[derive(Debug)]
#[must_use = "dropping it waits for all ranks at once"]
pub struct BarrierRequest(mpi::Request);

impl Communicator {
    /// Waits until every rank has called it. (`MPI_Barrier`)
    ///
    /// # Errors
    /// When a rank is gone, or calls another collective.
    #[track_caller]
    pub fn barrier(&self) -> Result<()> {
        self.0.barrier()
    }

    /// Starts a [`barrier`](Self::barrier). It completes only if all ranks start it.
    /// (`MPI_Ibarrier`)
    ///
    /// # Errors
    /// When too many requests are in progress. Later errors are the request's.
    #[track_caller]
    pub fn ibarrier(&self) -> Result<BarrierRequest> {
        self.0.ibarrier().map(BarrierRequest)
    }
}

impl BarrierRequest {
    /// Waits until every rank has started it. (`MPI_Wait`)
    ///
    /// # Errors
    /// When a rank is gone, or calls another collective.
    #[track_caller]
    pub fn wait(mut self) -> Result<()> {
        self.0.wait().map(|_| ())
    }

    /// Returns whether every rank has started it. (`MPI_Test`)
    ///
    /// # Errors
    /// As [`wait`](Self::wait).
    #[track_caller]
    pub fn test(&mut self) -> Result<bool> {
        Ok(self.0.test()?.is_some())
    }
}

impl Drop for BarrierRequest {
    fn drop(&mut self) {
        if !forked::is_child() {
            let _nobody_asks = self.0.wait();
        }
    }
}
