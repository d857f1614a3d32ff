//! What a receive asks for, and what it got.

use super::equivalence::Equivalence;
use crate::mpi;

/// Whose messages a receive or probe takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Source {
    /// Anybody's.
    Any,
    /// This rank's.
    Rank(usize),
}

/// Messages with which tag a receive or probe takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Tag {
    /// Any.
    Any,
    /// This one.
    Is(i32),
}

impl Source {
    pub(crate) fn rank(self) -> i32 {
        match self {
            Self::Any => mpi::ANY_SOURCE,
            Self::Rank(rank) => as_rank(rank),
        }
    }
}

impl Tag {
    pub(crate) fn tag(self) -> i32 {
        match self {
            Self::Any => mpi::ANY_TAG,
            // The wildcard's number is no tag.
            Self::Is(mpi::ANY_TAG) => -1,
            Self::Is(tag) => tag,
        }
    }
}

/// A rank as MPI writes it; one that no communicator can have if it is too large.
pub(crate) fn as_rank(rank: usize) -> i32 {
    i32::try_from(rank).unwrap_or(i32::MAX)
}

/// A rank as MPI wrote it; nobody is `None`.
pub(crate) fn as_peer(rank: i32) -> Option<usize> {
    usize::try_from(rank).ok()
}

/// Where a message came from, and what it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Status {
    /// The sender's rank.
    pub source: usize,
    /// The tag.
    pub tag: i32,
    /// The length in bytes.
    pub bytes: usize,
    /// Whether the receive was cancelled: then the rest means nothing.
    pub cancelled: bool,
}

impl Status {
    /// How many elements came; `None` if it was no whole number of them. (`MPI_Get_count`)
    #[must_use]
    pub fn count<T: Equivalence>(&self) -> Option<usize> {
        match T::datatype().size() {
            0 => (self.bytes == 0).then_some(0),
            size => self.bytes.is_multiple_of(size).then(|| self.bytes / size),
        }
    }
}

impl From<mpi::Status> for Status {
    fn from(status: mpi::Status) -> Self {
        let mpi::Status {
            source,
            tag,
            bytes,
            cancelled,
        } = status;
        let bytes = usize::try_from(bytes).expect("a message fits an address space");
        Self {
            source: usize::try_from(source).unwrap_or(0),
            tag,
            bytes,
            cancelled,
        }
    }
}
