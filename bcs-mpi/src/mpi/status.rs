//! The result of a receive or probe (MPI 5.0, 3.2.5).

use super::{ANY_SOURCE, ANY_TAG, Datatype, PROC_NULL};

/// Source, tag and length of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Status {
    /// The sender's rank in the communicator.
    pub source: i32,
    /// The tag.
    pub tag: i32,
    /// The length in bytes.
    pub bytes: u64,
    /// Whether the receive was cancelled before it was matched.
    pub cancelled: bool,
}

impl Status {
    /// The *empty* status (3.7.3), of a send or of an inactive request.
    pub const EMPTY: Self = Self {
        source: ANY_SOURCE,
        tag: ANY_TAG,
        bytes: 0,
        cancelled: false,
    };

    /// The status of a receive from `MPI_PROC_NULL` (3.10).
    pub const PROC_NULL: Self = Self {
        source: PROC_NULL,
        ..Self::EMPTY
    };

    /// `MPI_Get_count`: returns how many elements of a datatype came; `None` (`MPI_UNDEFINED`) if
    /// that is not a whole number.
    #[must_use]
    pub fn count(&self, datatype: &Datatype) -> Option<u64> {
        let size = datatype.size() as u64;
        match size {
            0 => (self.bytes == 0).then_some(0),
            _ => self.bytes.is_multiple_of(size).then(|| self.bytes / size),
        }
    }

    /// `MPI_Get_elements`: returns how many basic elements of a datatype came; `None`
    /// (`MPI_UNDEFINED`) if the message ended within one.
    #[must_use]
    pub fn elements(&self, datatype: &Datatype) -> Option<u64> {
        datatype.elements_in(self.bytes)
    }
}
