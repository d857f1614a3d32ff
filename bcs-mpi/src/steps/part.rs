//! A rank's part in a collective.

use crate::data::Plain;
use bcs_core::descriptor::CollectiveKind;
use bcs_core::whereabouts::Called;

/// A rank's part in a collective.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part {
    pub(crate) kind: CollectiveKind,
    pub(crate) bytes: usize,
    /// Where this rank's contribution is, if it has one.
    pub(crate) input: Option<Plain>,
    /// Where the result goes, if this rank gets one.
    pub(crate) output: Plain,
}

impl Part {
    /// One without data.
    pub(crate) fn without_data(kind: CollectiveKind) -> Self {
        Self {
            kind,
            bytes: 0,
            input: None,
            output: Plain::EMPTY,
        }
    }

    /// A broadcast from a world rank, of these bytes, which a rank gives or gets.
    pub(crate) fn broadcast(root: u32, data: Plain, gives: bool) -> Self {
        Self {
            kind: CollectiveKind::Broadcast { root },
            bytes: data.len(),
            input: gives.then_some(data),
            output: if gives { Plain::EMPTY } else { data },
        }
    }

    /// What the rank calls by it.
    #[inline]
    pub(crate) fn called(&self) -> Called {
        let (kind, bytes) = (self.kind, self.bytes as u64);
        Called::Nic { kind, bytes }
    }
}
