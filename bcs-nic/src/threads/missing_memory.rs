//! The handling of a collective in which a rank named memory that is not there.
//!
//! **Which ranks get the error.** If memory cannot be *read*, its bytes are missing at all ranks
//! that need them: the error travels with the data, up the tree of a reduction and down with its
//! result, or with a broadcast. So all members of a broadcast and of a reduction to all get the
//! error. In a reduction to one the root gets it, and the ranks on the path; the others have
//! contributed and gone on.
//!
//! If memory cannot be *written*, all members on that rank's node get the error, and also, as long
//! as this node still has data for other nodes, the members there. All others have their complete
//! and correct result. To notify them even so, everybody would have to wait until all have written,
//! also where all is well: one more exchange among all nodes in every collective.
//!
//! In either case all members stay in the same collective: its steps go on as they are granted, so
//! later collectives on the communicator find nothing left of it.

use bcs_core::request::Completion;

/// Whether a collective has failed at this node, and because of which rank's memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct MissingMemory(Option<u32>);

impl MissingMemory {
    /// Returns the value if there is one; otherwise notes the rank whose memory is missing. The
    /// first such rank counts.
    pub(super) fn note<T>(&mut self, what: Result<T, u32>) -> Option<T> {
        what.map_err(|rank| self.0 = self.0.or(Some(rank))).ok()
    }

    /// Returns whether no memory is missing.
    ///
    /// # Errors
    /// The rank whose memory is missing.
    pub(super) fn check(self) -> Result<(), u32> {
        self.0.map_or(Ok(()), Err)
    }

    /// Returns the completion for the members on this node: `result`, unless memory is missing.
    pub(super) fn or(self, result: Completion) -> Completion {
        self.0.map_or(result, Completion::member_memory)
    }
}
