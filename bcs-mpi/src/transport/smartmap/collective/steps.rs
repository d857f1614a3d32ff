//! How far a member is in a long collective. A later step says all that an earlier one does.

use bcs_core::request::RequestFailure;

/// It has folded its share, which lies in its memory, and needs nobody's contribution any more.
pub(super) const FOLDED: u8 = 1;
/// And has put it where the root wants it.
pub(super) const PLACED: u8 = 2;
/// It needs no other's memory any more.
pub(super) const DONE: u8 = 3;
/// The same, because there is memory that is not where its owner says.
pub(super) const FAULTY: u8 = 4;

/// Of several nodes, the leader: it has told what came of it.
pub(super) const TOLD: u8 = 5;
/// Of several nodes, another member: it has copied what the leader hands out.
pub(super) const READ: u8 = 6;
/// The same, because that is not where the leader says.
pub(super) const UNREAD: u8 = 7;

/// The last step, with or without a failure.
pub(super) fn end(failure: RequestFailure) -> u8 {
    if failure == RequestFailure::None {
        DONE
    } else {
        FAULTY
    }
}
