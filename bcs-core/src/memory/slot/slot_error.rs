//! Why a process has no slot.

use super::{SLOT_BYTES, SLOT_VARIABLE};
use crate::limits::MAX_SLOTS;
use rustix::io::Errno;

/// Why a rank's heap is an ordinary one. Made before `main`, so nothing here allocates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SlotError {
    /// More ranks on a node than there are slots.
    #[error("a node has {MAX_SLOTS} slots, and this rank is number {place} on its node (from 0)")]
    TooMany {
        /// The place.
        place: usize,
    },
    /// The variable says something else than a place.
    #[error("{SLOT_VARIABLE} is not a number")]
    NoPlace,
    /// A limit of the process is in the way.
    #[error(
        "{name} is limited to {limit} bytes, and a slot of {SLOT_BYTES} bytes takes {needed}: \
         raise it ({command}); only what is used of a slot takes memory"
    )]
    Limit {
        /// The limit's name.
        name: &'static str,
        /// What it allows.
        limit: u64,
        /// What a slot takes of it.
        needed: u64,
        /// How it is raised.
        command: &'static str,
    },
    /// Something else lies where the slot belongs.
    #[error("addresses {from:#x} to {to:#x} are taken (see /proc/PID/maps)", to = from + SLOT_BYTES)]
    Taken {
        /// Where the slot would begin.
        from: usize,
    },
    /// The kernel refused a call.
    #[error("{call}: {errno}{hint}")]
    Kernel {
        /// Which call.
        call: &'static str,
        /// Its answer.
        errno: Errno,
        /// What may be the cause.
        hint: &'static str,
    },
    /// The allocator does not take the slot.
    #[error("the allocator did not take the slot")]
    Allocator,
    /// The process runs in a checker of memory.
    #[error("valgrind would look through all of a slot, and so fill it")]
    Checked,
    /// The process was forked off the one that has the slot.
    #[error("this process was forked off a rank, whose slot is not its own")]
    Forked,
}
