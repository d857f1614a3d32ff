//! A rank's part in a collective.

use crate::data::ByteRange;
use bcs_core::descriptor::CollectiveKind;
use bcs_core::wait_state::CalledCollective;

/// A rank's part in a collective.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CollectiveArguments {
    pub(crate) kind: CollectiveKind,
    pub(crate) bytes: usize,
    /// The place of this rank's contribution, if it has one.
    pub(crate) input: Option<ByteRange>,
    /// The place of the result, if this rank gets one.
    pub(crate) output: ByteRange,
}

impl CollectiveArguments {
    /// Returns the arguments of a collective without data.
    pub(crate) fn without_data(kind: CollectiveKind) -> Self {
        Self {
            kind,
            bytes: 0,
            input: None,
            output: ByteRange::EMPTY,
        }
    }

    /// Returns the arguments of a broadcast of these bytes from a world rank. This rank gives or
    /// gets them.
    pub(crate) fn broadcast(root: u32, data: ByteRange, gives: bool) -> Self {
        Self {
            kind: CollectiveKind::Broadcast { root },
            bytes: data.len(),
            input: gives.then_some(data),
            output: if gives { ByteRange::EMPTY } else { data },
        }
    }

    /// Returns the call that the rank makes by it.
    #[inline]
    pub(crate) fn called(&self) -> CalledCollective {
        let (kind, bytes) = (self.kind, self.bytes as u64);
        CalledCollective::Nic { kind, bytes }
    }
}
