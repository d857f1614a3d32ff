//! The arguments of a receive that select a message, and its result.

use super::equivalence::Equivalence;
use crate::mpi;

/// The destination of a message. A rank is one, and so is the result of
/// [`cart_shift`](crate::Communicator::cart_shift), which is `None` at an edge of a grid.
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
    /// No process: the send is done at once. (`MPI_PROC_NULL`)
    Nobody,
}

/// The source of the messages that a receive or probe takes. A rank is one, and so is an `Option`
/// of a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Source {
    /// Any rank.
    Any,
    /// This rank.
    Rank(usize),
    /// No process: the receive is done at once, and does not change its buffer. (`MPI_PROC_NULL`)
    Nobody,
}

/// The tag of the messages that a receive or probe takes. A number is one.
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
            // The wildcard's number is not a tag.
            Self::Is(mpi::ANY_TAG) => -1,
            Self::Is(tag) => tag,
        }
    }
}

/// Returns a rank as MPI's number; if it is too large, a number that no rank has.
pub(crate) fn as_rank(rank: usize) -> i32 {
    i32::try_from(rank).unwrap_or(i32::MAX)
}

/// Returns a rank for MPI's number; `None` for no process.
pub(crate) fn as_peer(rank: i32) -> Option<usize> {
    usize::try_from(rank).ok()
}

/// The source, tag and length of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Status {
    /// The sender's rank; [`NOBODY`](Self::NOBODY) if it was received from no process.
    pub source: usize,
    /// The tag.
    pub tag: i32,
    /// The length in bytes.
    pub bytes: usize,
    /// Whether the receive was cancelled. The other fields mean nothing then.
    pub cancelled: bool,
}

impl Status {
    /// The source of a receive from no process ([`Source::Nobody`]): no communicator has such a
    /// rank.
    pub const NOBODY: usize = usize::MAX;

    /// Returns how many elements came; `None` if it was not a whole number of them.
    /// (`MPI_Get_count`)
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
