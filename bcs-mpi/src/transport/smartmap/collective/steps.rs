//! The steps of a member in a long collective. A later step includes all earlier ones.

use bcs_core::request::RequestFailure;

/// It has folded its share, which lies in its memory, and needs no contribution any more.
pub(super) const FOLDED: u8 = 1;
/// It has also written the share where the root wants it.
pub(super) const PLACED: u8 = 2;
/// It needs no other member's memory any more.
pub(super) const DONE: u8 = 3;
/// The same, because there is memory that is not at its owner's address.
pub(super) const FAULTY: u8 = 4;

/// In a collective of several nodes, the leader: it has published the outcome.
pub(super) const TOLD: u8 = 5;
/// In a collective of several nodes, another member: it has copied the leader's data.
pub(super) const READ: u8 = 6;
/// The same, because the data are not at the leader's address.
pub(super) const UNREAD: u8 = 7;

/// Returns the last step, with or without a failure.
pub(super) fn end(failure: RequestFailure) -> u8 {
    if failure == RequestFailure::None {
        DONE
    } else {
        FAULTY
    }
}
