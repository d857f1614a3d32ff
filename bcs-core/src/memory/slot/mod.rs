//! Slots: the heaps of a node's ranks, at the same addresses in all processes.
//!
//! ```text
//!            0          512 GiB       1 TiB         1.5 TiB                         128 TiB
//!            ├─────────────┼─────────────┼─────────────┼── ... ──┬─────── ... ─────────┤
//!             low programs  place 0       place 1       place 2    programs   libraries, stacks
//! ```
//!
//! A slot is [`SLOT_BYTES`] of address space, backed by a sparse file of that length. If possible,
//! that is a file without a name in a `tmpfs` of the job, which has huge pages; otherwise it is a
//! memfd. A rank makes the slot of its *place*, its number on the node, when it first allocates
//! ([`OwnSlot`]). A rank that needs the slot of another rank maps it at the owner's address
//! ([`ForeignSlot`]). So a pointer into a slot is valid in every process that has mapped the slot,
//! and bit arithmetic gives the rank of an address. Only NICs, which access slots of several nodes,
//! map the first part of a slot elsewhere ([`SlotWindow`]).
//!
//! A slot holds its rank's heap, and behind it the [table of ranges](RemappedRanges) of the heap
//! over which the program has mapped something else. Other memory that ranks share is in [node
//! memory](crate::smartmap::node_memory).

mod foreign;
mod own;
pub mod preloaded_heap;
pub mod remapped_ranges;
mod slot_error;
mod window;

pub use foreign::{BadSlot, ForeignSlot, check};
pub use own::{
    OwnSlot, file_in, hide_folder_from_children, is_library_slot, mark_forked, mark_library_slot,
    own, register_own_slot,
};
pub use remapped_ranges::RemappedRanges;
pub use slot_error::SlotError;
pub use window::{SlotWindow, TableWindow, prefault};

use crate::limits::MAX_SLOTS;
use std::ops::Range;

/// Slots begin at multiples of 2 to this power.
pub const SLOT_SHIFT: u32 = 39;

/// The length of a slot: 512 GiB, what one entry of the topmost page table maps.
pub const SLOT_BYTES: usize = 1 << SLOT_SHIFT;

/// The part of a slot that is its rank's heap, from its start on. Behind it is the table of
/// [`RemappedRanges`]. The difference is a segment of the allocator, its smallest unit.
pub const HEAP_BYTES: usize = SLOT_BYTES - (32 << 20);

/// The unit in which the kernel maps and protects memory.
pub const PAGE_BYTES: usize = 4096;

/// The environment variable with a rank's place on its node, by which its heap finds its slot. It
/// is empty for a process that should have no slot, such as the processes that a rank starts after
/// MPI_Init.
pub const SLOT_VARIABLE: &str = "BCS_SLOT";

/// The environment variable with the number of an inherited descriptor: the folder in which slots
/// have huge pages. It is empty if there is no such folder.
pub const SLOT_FOLDER_VARIABLE: &str = "BCS_SLOT_FOLDER";

/// The slot of a place, whether it has been made or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    place: usize,
}

impl Slot {
    /// Returns the slot of a place, if there is address space for it.
    #[must_use]
    pub const fn at_place(place: usize) -> Option<Self> {
        if place < MAX_SLOTS {
            Some(Self { place })
        } else {
            None
        }
    }

    /// Returns the slot that an address lies in.
    #[must_use]
    pub const fn containing(address: usize) -> Option<Self> {
        match (address >> SLOT_SHIFT).checked_sub(1) {
            Some(place) => Self::at_place(place),
            None => None,
        }
    }

    /// Returns the place.
    #[must_use]
    pub const fn place(self) -> usize {
        self.place
    }

    /// Returns the address where it begins.
    #[must_use]
    pub const fn base(self) -> usize {
        (self.place + 1) << SLOT_SHIFT
    }

    /// Returns all its addresses.
    #[must_use]
    pub const fn range(self) -> Range<usize> {
        self.base()..self.base() + SLOT_BYTES
    }

    /// Returns whether `len` bytes from an address on all lie in its heap. An empty range may also
    /// lie at its end.
    #[must_use]
    pub const fn contains(self, address: usize, len: usize) -> bool {
        let offset = address.wrapping_sub(self.base());
        offset <= HEAP_BYTES && len <= HEAP_BYTES - offset
    }
}

/// Returns the place whose slot an address lies in.
#[must_use]
pub const fn place_of(address: usize) -> Option<usize> {
    match Slot::containing(address) {
        Some(slot) => Some(slot.place()),
        None => None,
    }
}

/// Returns the address in another slot at the offset that a local address has in its own slot (the
/// papers' `get_remote_address`).
#[must_use]
pub const fn remote_address(slot: Slot, local: usize) -> usize {
    slot.base() | (local & (SLOT_BYTES - 1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn slots_lie_side_by_side_below_where_programs_are_loaded() {
        assert_eq!(Slot::at_place(0).unwrap().range(), 1 << 39..2 << 39);
        assert_eq!(Slot::at_place(MAX_SLOTS), None);
        let last = Slot::at_place(MAX_SLOTS - 1).unwrap();
        // Where Linux loads position-independent programs, without randomisation.
        assert!(last.range().end <= 0x5555_5555_4000);
        assert_eq!(place_of(last.range().end), None);
        assert_eq!(place_of((1 << 39) - 1), None);
        assert_eq!(place_of(usize::MAX), None);
    }

    #[test]
    fn what_does_not_lie_wholly_in_a_slot_does_not_lie_in_it() {
        let slot = Slot::at_place(3).unwrap();
        let Range { start, end } = slot.range();
        let end = end - (SLOT_BYTES - HEAP_BYTES);
        assert!(slot.contains(start, HEAP_BYTES));
        assert!(slot.contains(end - 8, 8));
        assert!(slot.contains(end, 0));
        for (address, len) in [
            (start - 1, 1),
            (start - 1, 2),
            (end, 1),
            (end - 8, 9),
            (start, HEAP_BYTES + 1),
            (start + 1, usize::MAX),
            (end - 1, usize::MAX),
            (usize::MAX, 2),
            (0, 0),
        ] {
            assert!(!slot.contains(address, len), "{address:#x} {len:#x}");
        }
    }

    proptest! {
        #[test]
        fn an_address_knows_its_place(place in 0..MAX_SLOTS, other in 0..MAX_SLOTS, offset in 0..SLOT_BYTES) {
            let (slot, other) = (Slot::at_place(place).unwrap(), Slot::at_place(other).unwrap());
            let address = slot.base() + offset;
            prop_assert_eq!(place_of(address), Some(place));
            let remote = remote_address(other, address);
            prop_assert_eq!(remote - other.base(), offset);
            prop_assert_eq!(place_of(remote), Some(other.place()));
            prop_assert_eq!(remote_address(slot, remote), address);
        }
    }
}
