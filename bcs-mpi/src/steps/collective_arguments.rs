//! A rank's part in a collective.

use crate::data::ByteRange;
use bcs_core::descriptor::CollectiveKind;
use bcs_core::wait_state::CalledCollective;

/// A rank's part in a collective.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CollectiveArguments {
    pub(crate) kind: CollectiveKind,
    pub(crate) bytes: usize,
    /// Where this rank's contribution is, if it has one.
    pub(crate) input: Option<ByteRange>,
    /// Where the result goes, if this rank gets one.
    pub(crate) output: ByteRange,
}

impl CollectiveArguments {
    /// One without data.
    pub(crate) fn without_data(kind: CollectiveKind) -> Self {
        Self {
            kind,
            bytes: 0,
            input: None,
            output: ByteRange::EMPTY,
        }
    }

    /// A broadcast from a world rank, of these bytes, which a rank gives or gets.
    pub(crate) fn broadcast(root: u32, data: ByteRange, gives: bool) -> Self {
        Self {
            kind: CollectiveKind::Broadcast { root },
            bytes: data.len(),
            input: gives.then_some(data),
            output: if gives { ByteRange::EMPTY } else { data },
        }
    }

    /// What the rank calls by it.
    #[inline]
    pub(crate) fn called(&self) -> CalledCollective {
        let (kind, bytes) = (self.kind, self.bytes as u64);
        CalledCollective::Nic { kind, bytes }
    }
}
