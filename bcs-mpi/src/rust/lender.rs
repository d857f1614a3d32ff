//! Requests that are lent to calls of the untyped core.

use crate::mpi;

/// Who lends an untyped request to a call that takes many.
pub(super) trait Lender {
    /// Whether somebody has seen that it is done.
    fn is_known(&self) -> bool;
    /// The request; an inactive one of what is known to be done.
    fn lend(&mut self) -> mpi::Request;
    /// What the call has left of it.
    fn give_back(&mut self, request: mpi::Request);
}
