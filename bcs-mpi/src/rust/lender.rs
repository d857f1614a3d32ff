//! Requests that are lent to calls of the untyped core.

use crate::mpi;

/// A request that lends its untyped request to a call that takes several.
pub(super) trait Lender {
    /// Returns whether a call has already reported it as done.
    fn is_known(&self) -> bool;
    /// Lends the request; an inactive one if it is known to be done.
    fn lend(&mut self) -> mpi::Request;
    /// Takes the request back after the call.
    fn give_back(&mut self, request: mpi::Request);
}
