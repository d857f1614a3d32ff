//! The messages of this end to the node manager, and its requests, however the two are connected.

use std::fmt::Debug;
use std::os::fd::OwnedFd;

/// The node manager of this rank. No message and no collective waits for it, so it may be of any
/// kind.
pub(crate) trait NodeManager: Debug + Send + Sync {
    /// Requests the slot of another rank of this node, by its place. No other thread may make a
    /// request until it has answered.
    fn slot_of(&self, place: usize) -> SlotReply;

    /// Reports how much was fetched from the rank at a place of this node, from memory outside of a
    /// slot. If the report is lost, that does no harm.
    fn report_slow_copies(&self, place: usize);

    /// Reports that this process ends with this exit code, and why. If the report is lost, the
    /// process can still end.
    fn aborts(&self, code: i32, reason: &str);
}

/// The node manager's answer about a rank's slot.
#[derive(Debug)]
pub(crate) enum SlotReply {
    /// The slot.
    Slot(OwnedFd),
    /// There is no slot, and there will be none.
    None,
    /// There is no slot yet: the rank has not said hello. Or the node manager is gone, and this
    /// rank will soon be, too.
    NotYet,
}
