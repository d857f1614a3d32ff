//! A posted receive, as BR keeps it.

use bcs_core::layout::Location;
use bcs_core::request::RequestId;

/// A posted receive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NicReceive {
    pub(super) request: RequestId,
    pub(super) into: Location,
    pub(super) capacity: u64,
    /// Whether a message through another transport may satisfy it, too.
    pub(super) shared: bool,
}
