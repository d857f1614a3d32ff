//! The heaps of this node's ranks, at the addresses where they have them.
//!
//! A rank's own slot was made by its heap, before `main`. Another one's is asked of the node manager
//! and mapped when it is first needed, so nothing is mapped that nobody uses, and no rank waits for
//! another one in `MPI_Init`. A rank that has no slot, or whose addresses are taken here, is reached by
//! other means: [`Slots::resolve`] says so by `None`, in every call.

use super::node_manager::{NodeManager, SlotReply};
use bcs_core::limits::SLOW_COPY_BYTES;
use bcs_core::lockstep;
use bcs_core::memory::slot::{self, ForeignSlot, OwnSlot, RemappedRanges, Slot};
use std::fmt;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

/// The slots of the ranks of a node, as one of these ranks sees them. Ranks are named by their place
/// on the node.
pub struct Slots {
    place: usize,
    own: Option<&'static OwnSlot>,
    others: Vec<PeerSlot>,
    /// Who is asked for them. Held while one is asked for: of two threads that need one, one maps it.
    node_manager: Option<Mutex<Arc<dyn NodeManager>>>,
}

/// Another rank's slot.
#[derive(Debug, Default)]
struct PeerSlot {
    mapped: OnceLock<ForeignSlot>,
    /// It has none, or none that can be mapped here.
    none: AtomicBool,
    /// Bytes that were fetched from beside it.
    beside: AtomicUsize,
}

impl fmt::Debug for Slots {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Slots")
            .field("place", &self.place)
            .field("own", &self.own)
            .field("others", &self.others)
            .finish_non_exhaustive()
    }
}

impl Slots {
    /// Of a world of one, which has nobody to ask.
    pub(crate) fn alone() -> Self {
        Self {
            place: 0,
            own: None,
            others: Vec::new(),
            node_manager: None,
        }
    }

    /// Of a node with so many ranks, of which this is the one at `place`.
    pub(crate) fn new(place: usize, ranks: usize, node_manager: Arc<dyn NodeManager>) -> Self {
        let own = slot::own().and_then(Result::ok);
        Self {
            place,
            // A heap that was made for another place is none that others would find.
            own: own.filter(|own| own.slot().place() == place),
            others: (0..ranks).map(|_| PeerSlot::default()).collect(),
            node_manager: Some(Mutex::new(node_manager)),
        }
    }

    /// This rank's place on its node.
    #[must_use]
    pub fn place(&self) -> usize {
        self.place
    }

    /// The slot of this rank's heap, if it lies in one.
    #[must_use]
    pub fn own(&self) -> Option<Slot> {
        self.own.map(OwnSlot::slot)
    }

    /// Where in this process the memory of another rank lies, of which an address and a length are
    /// *alleged*: checked to lie wholly in the heap of the rank at that place, and valid for reads and
    /// writes as long as `self`. What is read there may change at any time. `None` if it lies
    /// elsewhere in that rank, or that rank's program has mapped something else over it, or the rank has no slot
    /// that this one could map.
    #[must_use]
    pub fn resolve(&self, place: usize, address: u64, len: usize) -> Option<NonNull<u8>> {
        let slot = Slot::at_place(place)?;
        let address = usize::try_from(address).ok()?;
        if !slot.contains(address, len) || self.mapped(slot)?.overlaps(address - slot.base(), len) {
            return None;
        }
        NonNull::new(address as *mut u8)
    }

    /// So many bytes of another rank lie where [`Slots::resolve`] finds none, and are fetched from there. When
    /// they have become many, the node manager is told, once.
    pub(super) fn fetched_beside(&self, place: usize, len: usize) {
        let Some(other) = self.others.get(place).filter(|_| place != self.place) else {
            return;
        };
        let before = other.beside.fetch_add(len, Ordering::Relaxed);
        let is_much = before.saturating_add(len) >= SLOW_COPY_BYTES;
        if before < SLOW_COPY_BYTES
            && is_much
            && let Some(node_manager) = &self.node_manager
        {
            lockstep::lock(node_manager).report_slow_copies(place);
        }
    }

    /// The table of a slot, if that is mapped here or can be.
    #[inline]
    fn mapped(&self, slot: Slot) -> Option<RemappedRanges> {
        let place = slot.place();
        if place == self.place {
            return self.own.map(OwnSlot::remapped);
        }
        let other = self.others.get(place)?;
        let mapped = other.mapped.get().or_else(|| self.ask(slot, other))?;
        Some(mapped.remapped())
    }

    /// Asks the node manager for a slot, and maps it, unless it has none.
    #[cold]
    fn ask<'a>(&self, slot: Slot, other: &'a PeerSlot) -> Option<&'a ForeignSlot> {
        if other.none.load(Ordering::Relaxed) {
            return None;
        }
        let node_manager = lockstep::lock(self.node_manager.as_ref()?);
        if let Some(mapped) = other.mapped.get() {
            return Some(mapped);
        }
        let found = match node_manager.slot_of(slot.place()) {
            SlotReply::Slot(fd) => ForeignSlot::map(slot, fd).ok(),
            SlotReply::None => None,
            SlotReply::NotYet => return None, // It was asked too early.
        };
        let Some(mapped) = found else {
            other.none.store(true, Ordering::Relaxed);
            return None;
        };
        Some(other.mapped.get_or_init(|| mapped))
    }
}
