//! An operation whose arguments were checked.

use crate::bcs::DataView;
use crate::mpi::error::Operation;
use crate::transport::one_sided::OneSidedKind;
use bcs_core::reduction::Datatype;

/// An operation whose arguments were checked.
#[derive(Clone, Debug)]
pub(super) struct CheckedOperation {
    pub(super) target: usize,
    pub(super) kind: OneSidedKind,
    /// The data at the target, in the process that has their memory.
    pub(super) data: DataView,
    pub(super) origin: DataView,
    pub(super) result: DataView,
    /// The origin's data, if they are spread when the operation is executed.
    pub(super) gapped: Option<GappedData>,
    pub(super) operation: Operation,
}

/// The origin's side of an accumulate of pairs with gaps.
#[derive(Clone, Debug)]
pub(super) struct GappedData {
    pub(super) element: Datatype,
    /// The data without gaps.
    pub(super) origin: DataView,
    pub(super) result: DataView,
}
