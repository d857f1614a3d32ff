//! The reasons why a process has no slot.

use super::{SLOT_BYTES, SLOT_VARIABLE};
use crate::limits::MAX_SLOTS;
use rustix::io::Errno;

/// The reason why a rank's heap is an ordinary one. It is made before `main`, so nothing here
/// allocates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SlotError {
    /// A node has more ranks than there are slots.
    #[error("a node has {MAX_SLOTS} slots, and this rank is number {place} on its node (from 0)")]
    TooMany {
        /// The place.
        place: usize,
    },
    /// The variable does not hold a place.
    #[error("{SLOT_VARIABLE} is not a number")]
    NoPlace,
    /// A limit of the process is too low.
    #[error(
        "{name} is limited to {limit} bytes, and a slot of {SLOT_BYTES} bytes takes {needed}: \
         raise it ({command}); only what is used of a slot takes memory"
    )]
    Limit {
        /// The limit's name.
        name: &'static str,
        /// Its value.
        limit: u64,
        /// The value that a slot needs.
        needed: u64,
        /// The command that raises it.
        command: &'static str,
    },
    /// Another mapping lies in the addresses of the slot.
    #[error("addresses {from:#x} to {to:#x} are taken (see /proc/PID/maps)", to = from + SLOT_BYTES)]
    Taken {
        /// The address where the slot would begin.
        from: usize,
    },
    /// The kernel refused a call.
    #[error("{call}: {errno}{hint}")]
    Kernel {
        /// The call.
        call: &'static str,
        /// Its answer.
        errno: Errno,
        /// A possible cause.
        hint: &'static str,
    },
    /// The allocator does not take the slot.
    #[error("the allocator did not take the slot")]
    Allocator,
    /// The process runs in a memory checker.
    #[error("valgrind would look through all of a slot, and so fill it")]
    Checked,
    /// The process was forked from the one that has the slot.
    #[error("this process was forked off a rank, whose slot is not its own")]
    Forked,
}
