//! What this end says to the node manager, and what it asks of it, whatever connects them.

use std::fmt::Debug;
use std::os::fd::OwnedFd;

/// The node manager of this rank. No message and no collective waits for it, so it may be any.
pub(crate) trait NodeManager: Debug + Send + Sync {
    /// Asks for the slot of another rank of this node, by its place. Nobody else may ask until it has answered.
    fn slot_of(&self, place: usize) -> SlotReply;

    /// Says that much was fetched from the rank at a place of this node, from beside a slot. If nobody hears it,
    /// nothing is lost.
    fn report_slow_copies(&self, place: usize);

    /// Says that this process ends with this exit code, and why. If nobody hears it, the end of the process is
    /// all that can be done.
    fn aborts(&self, code: i32, reason: &str);
}

/// What the node manager has of a rank's slot.
#[derive(Debug)]
pub(crate) enum SlotReply {
    /// This.
    Slot(OwnedFd),
    /// Nothing, and there will be nothing.
    None,
    /// Nothing yet: the rank has not said hello. Or the node manager is gone: then this rank is soon, too.
    NotYet,
}
