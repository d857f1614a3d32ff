//! One-sided operations: what an origin does to the memory of another rank, which makes no call for
//! it (MPI 5.0, chapter 12).
//!
//! An operation has contiguous bytes at its target. Windows, epochs and datatypes are above
//! ([`crate::mpi::window`]). Their control words are memory of a rank, too, and they are changed by
//! the same operations, so both transports carry one protocol.

use super::TooManyRequests;
use crate::data::DataView;
use bcs_core::one_sided::Update;

/// The function at the target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OneSidedKind {
    /// The origin's bytes are written there.
    Put,
    /// The target's bytes are read.
    Get,
    /// Elements are updated, each in one step.
    Update(Update),
}

/// A one-sided operation on contiguous bytes of another rank, or of this one.
#[derive(Clone, Debug)]
pub(crate) struct OneSided {
    /// The world rank of the target.
    pub(crate) target: u32,
    /// An address in the target's process.
    pub(crate) address: u64,
    /// The number of bytes at the target.
    pub(crate) len: u64,
    pub(crate) kind: OneSidedKind,
    /// The data that are sent: as many bytes; for a compare-and-swap the value to compare with, and
    /// then the new one. It is empty for a get, and for `MPI_NO_OP`.
    pub(crate) origin: DataView,
    /// Where the bytes go that a get reads, or the previous contents of an update that fetches
    /// them. Otherwise it is empty.
    pub(crate) result: DataView,
    /// Whether the target's bell is rung after the operation was applied. It is for words for which
    /// the target may wait.
    pub(crate) wakes_target: bool,
}

/// Why an operation was not posted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum OneSidedRefusal {
    /// Every request slot is in use.
    #[error(transparent)]
    TooManyRequests(#[from] TooManyRequests),
    /// The target's memory cannot be read or written.
    #[error("the target has no such memory")]
    Memory,
}
