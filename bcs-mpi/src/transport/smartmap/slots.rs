//! The heaps of this node's ranks, at the same addresses as in those ranks.
//!
//! A rank's heap made its own slot before `main`. The rank requests the slot of another rank from
//! the node manager and maps it when it is first needed. So no unused slot is mapped, and no rank
//! waits for another one in `MPI_Init`. A rank that has no slot, or whose addresses are in use
//! here, is reached by other means. For such a rank [`Slots::resolve`] returns `None` in every
//! call.

use super::node_manager::{NodeManager, SlotReply};
use bcs_core::limits::SLOW_COPY_BYTES;
use bcs_core::lockstep;
use bcs_core::memory::slot::{self, ForeignSlot, OwnSlot, RemappedRanges, Slot};
use std::fmt;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

/// The slots of the ranks of a node, as one of these ranks sees them. Ranks are named by their
/// place on the node.
pub struct Slots {
    place: usize,
    own: Option<&'static OwnSlot>,
    others: Vec<PeerSlot>,
    /// Provides slots. The lock is held during a request: of two threads that need a slot, one maps
    /// it.
    node_manager: Option<Mutex<Arc<dyn NodeManager>>>,
}

/// Another rank's slot.
#[derive(Debug, Default)]
struct PeerSlot {
    mapped: OnceLock<ForeignSlot>,
    /// The rank has no slot, or none that can be mapped here.
    none: AtomicBool,
    /// Bytes that were copied from or to memory outside of it.
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
    /// Makes the slots of a world of one, which has no node manager.
    pub(crate) fn alone() -> Self {
        Self {
            place: 0,
            own: None,
            others: Vec::new(),
            node_manager: None,
        }
    }

    /// Makes the slots of a node with this many ranks, for the rank at `place`.
    pub(crate) fn new(place: usize, ranks: usize, node_manager: Arc<dyn NodeManager>) -> Self {
        let own = slot::own().and_then(Result::ok);
        Self {
            place,
            // Others would not find a heap that was made for another place.
            own: own.filter(|own| own.slot().place() == place),
            others: (0..ranks).map(|_| PeerSlot::default()).collect(),
            node_manager: Some(Mutex::new(node_manager)),
        }
    }

    /// Returns this rank's place on its node.
    #[must_use]
    pub fn place(&self) -> usize {
        self.place
    }

    /// Returns the slot of this rank's heap, if it lies in one.
    #[must_use]
    pub fn own(&self) -> Option<Slot> {
        self.own.map(OwnSlot::slot)
    }

    /// Returns where in this process the memory of another rank lies. Address and length are that
    /// rank's *claims*: they are checked to lie wholly in the heap of the rank at that place, and
    /// valid for reads and writes as long as `self`. The contents may change at any time. Returns
    /// `None` if the memory lies elsewhere in that rank, or that rank's program has mapped
    /// something else over it, or the rank has no slot that this one could map.
    #[must_use]
    pub fn resolve(&self, place: usize, address: u64, len: usize) -> Option<NonNull<u8>> {
        let slot = Slot::at_place(place)?;
        let address = usize::try_from(address).ok()?;
        if !slot.contains(address, len) || self.mapped(slot)?.overlaps(address - slot.base(), len) {
            return None;
        }
        NonNull::new(address as *mut u8)
    }

    /// Counts bytes that this rank copied from or to memory of another rank where
    /// [`Slots::resolve`] finds none. When there are many, it reports them to the node manager,
    /// once.
    pub(super) fn copied_beside(&self, place: usize, len: usize) {
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

    /// Returns the table of a slot, if that is mapped here or can be.
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

    /// Requests a slot from the node manager and maps it, if there is one.
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
            SlotReply::NotYet => return None, // The request came too early.
        };
        let Some(mapped) = found else {
            other.none.store(true, Ordering::Relaxed);
            return None;
        };
        Some(other.mapped.get_or_init(|| mapped))
    }
}
