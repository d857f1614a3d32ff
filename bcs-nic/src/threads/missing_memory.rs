//! What becomes of a collective in which memory that a rank named is not there.
//!
//! **Who is told.** What cannot be *read* is missing at all who were to get something made of it: word
//! of it goes the way of the data, up the tree of a reduction and down with its result, or with a
//! broadcast. So it is an error at all members of a broadcast and of a reduction to all. In a reduction to
//! one the root is told, and who learns of it on the way; the others have given what they had and gone on.
//!
//! What cannot be *written* is an error at all members on that rank's node, and, as long as this node still
//! has something to give to others, at these. Otherwise they have their result, whole and right. To tell
//! them even so, everybody would have to wait until all have written, also where all is well: an exchange
//! among all nodes more in every collective.
//!
//! In either case it is the same collective for everybody: its steps go on as they are granted, so what
//! follows on the communicator finds nothing of it left.

use bcs_core::request::Completion;

/// Whether a collective has come to nothing at this node, because of which rank.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct MissingMemory(Option<u32>);

impl MissingMemory {
    /// Takes what there is; else the rank whose memory is not there. The first one is named.
    pub(super) fn note<T>(&mut self, what: Result<T, u32>) -> Option<T> {
        what.map_err(|rank| self.0 = self.0.or(Some(rank))).ok()
    }

    /// # Errors
    /// The rank whose memory is not there.
    pub(super) fn check(self) -> Result<(), u32> {
        self.0.map_or(Ok(()), Err)
    }

    /// What the members on this node are told, which is this if nothing is amiss.
    pub(super) fn or(self, result: Completion) -> Completion {
        self.0.map_or(result, Completion::member_memory)
    }
}
