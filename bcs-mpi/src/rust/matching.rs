//! What a receive asks for, and what it got.

use super::equivalence::Equivalence;
use crate::mpi;

/// To whom a message goes. A rank is one, and so is what
/// [`cart_shift`](crate::Communicator::cart_shift) says of an edge of a grid: nobody is `None`.
///
/// ```
/// # fn edge(world: &bcs_mpi::Communicator) -> bcs_mpi::Result<()> {
/// world.send(&[1.0], 0, 7)?;
/// world.send(&[1.0], Some(0), 7)?;
/// world.send(&[1.0], None, 7)?; // Nothing is sent.
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Destination {
    /// To this rank.
    Rank(usize),
    /// To nobody: it is done at once. (`MPI_PROC_NULL`)
    Nobody,
}

/// Whose messages a receive or probe takes. A rank is one, and so is an `Option` of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Source {
    /// Anybody's.
    Any,
    /// This rank's.
    Rank(usize),
    /// Nobody's: it is done at once, and leaves its buffer alone. (`MPI_PROC_NULL`)
    Nobody,
}

/// Messages with which tag a receive or probe takes. A number is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Tag {
    /// Any.
    Any,
    /// This one.
    Is(i32),
}

impl Destination {
    pub(crate) fn rank(self) -> i32 {
        match self {
            Self::Rank(rank) => as_rank(rank),
            Self::Nobody => mpi::PROC_NULL,
        }
    }
}

impl From<usize> for Destination {
    fn from(rank: usize) -> Self {
        Self::Rank(rank)
    }
}

impl From<Option<usize>> for Destination {
    fn from(rank: Option<usize>) -> Self {
        rank.map_or(Self::Nobody, Self::Rank)
    }
}

impl From<usize> for Source {
    fn from(rank: usize) -> Self {
        Self::Rank(rank)
    }
}

impl From<Option<usize>> for Source {
    fn from(rank: Option<usize>) -> Self {
        rank.map_or(Self::Nobody, Self::Rank)
    }
}

impl From<i32> for Tag {
    fn from(tag: i32) -> Self {
        Self::Is(tag)
    }
}

impl Source {
    pub(crate) fn rank(self) -> i32 {
        match self {
            Self::Any => mpi::ANY_SOURCE,
            Self::Rank(rank) => as_rank(rank),
            Self::Nobody => mpi::PROC_NULL,
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
    /// The sender's rank; [`NOBODY`](Self::NOBODY) if it was received from nobody.
    pub source: usize,
    /// The tag.
    pub tag: i32,
    /// The length in bytes.
    pub bytes: usize,
    /// Whether the receive was cancelled: then the rest means nothing.
    pub cancelled: bool,
}

impl Status {
    /// The sender of what nobody has sent ([`Source::Nobody`]): no communicator has such a rank.
    pub const NOBODY: usize = usize::MAX;

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
    #[inline]
    fn from(status: mpi::Status) -> Self {
        let mpi::Status {
            source,
            tag,
            bytes,
            cancelled,
        } = status;
        let bytes = usize::try_from(bytes).expect("a message fits an address space");
        Self {
            source: usize::try_from(source).unwrap_or(Self::NOBODY),
            tag,
            bytes,
            cancelled,
        }
    }
}
