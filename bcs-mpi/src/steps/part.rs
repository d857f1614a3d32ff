//! A rank's part in a collective.

use bcs_core::descriptor::CollectiveKind;
use bcs_core::whereabouts::Called;

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

impl Part {
    /// One without data.
    pub(crate) fn without_data(kind: CollectiveKind) -> Self {
        Self {
            kind,
            bytes: 0,
            input: None,
            output: 0,
        }
    }

    /// What the rank calls by it.
    #[inline]
    pub(crate) fn called(&self) -> Called {
        let (kind, bytes) = (self.kind, self.bytes as u64);
        Called::Nic { kind, bytes }
    }
}
