//! A rank's part in a collective.

use bcs_core::descriptor::CollectiveKind;

/// A rank's part in a collective.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part {
    pub(crate) kind: CollectiveKind,
    pub(crate) bytes: usize,
    /// Where this rank's contribution is, if it has one.
    pub(crate) input: Option<u64>,
    /// Where the result goes; 0 if this rank gets none.
    pub(crate) output: u64,
}
