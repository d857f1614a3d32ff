//! Request slots: which of them are in use, for what, and what completed.

use crate::data::{Piece, Room};
use crate::roads::TooManyRequests;
use bcs_core::layout::Layout;
use bcs_core::limits::REQUEST_SLOTS;
use bcs_core::matching::Pattern;
use bcs_core::request::{Completion, RequestId};
use bcs_core::whereabouts::{Entered, Peer};
use std::collections::VecDeque;
use std::sync::Arc;

/// What a request slot is used for: what is to be done when it completes.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// A send that its sender waits for.
    Send {
        len: u64,
        to: Peer,
        /// What the NIC reads to find the data.
        layout: Option<Arc<Layout>>,
        /// Where the data were packed.
        room: Option<Room>,
    },
    /// An eager send whose sender has gone on; its payload slot is free when it completes.
    Eager { payload_slot: u32 },
    /// A receive.
    Receive {
        pattern: Pattern,
        into: Piece,
        /// The same receive on another road, if either may satisfy it.
        twin: Option<RequestId>,
        /// Where the NIC puts what is to be unpacked.
        room: Option<Room>,
    },
    /// A probe.
    Probe(Pattern),
    /// A probe whose answer nobody wants any more.
    VoidProbe,
    /// A collective, or the opening or closing of a context, which nobody enters.
    Collective {
        output: u64,
        bytes: u64,
        entered: Option<Entered>,
    },
}

impl Purpose {
    /// The collective that the rank has entered by this.
    pub(super) fn entered(&self) -> Option<Entered> {
        match self {
            Self::Collective { entered, .. } => *entered,
            _ => None,
        }
    }
}

#[derive(Debug, Default)]
struct Slot {
    generation: u32,
    purpose: Option<Purpose>,
}

/// The rank's request slots. The list of free ones is LIFO, so that a rank that has few requests
/// outstanding uses few cache lines; it grows as far as the program needs.
#[derive(Debug)]
pub(super) struct Requests {
    slots: Vec<Slot>,
    free: Vec<u32>,
    /// Requests that no caller waits for, the oldest first.
    detached: VecDeque<RequestId>,
    /// The count of completions when all of `detached` was last looked through.
    looked_at: u64,
}

impl Requests {
    /// For what needs no completion (unowed sends, cancels). Its slot is never used otherwise, so
    /// it does no harm if the NIC completes it all the same.
    pub(super) const NOBODY: RequestId = RequestId {
        slot: 0,
        generation: 0,
    };

    pub(super) fn new() -> Self {
        let nobody = Slot::default();
        Self {
            slots: vec![nobody],
            free: Vec::new(),
            detached: VecDeque::new(),
            looked_at: 0,
        }
    }

    pub(super) fn open(&mut self, purpose: Purpose) -> Result<RequestId, TooManyRequests> {
        let slot = match self.free.pop() {
            Some(slot) => slot,
            None if self.slots.len() < REQUEST_SLOTS => {
                self.slots.push(Slot::default());
                u32::try_from(self.slots.len() - 1).expect("REQUEST_SLOTS fits u32")
            }
            None => return Err(TooManyRequests),
        };
        let entry = &mut self.slots[slot as usize];
        // Generation 0 is fresh memory.
        entry.generation = entry.generation.checked_add(1).unwrap_or(1);
        entry.purpose = Some(purpose);
        Ok(RequestId {
            slot,
            generation: entry.generation,
        })
    }

    /// How many more requests may be opened.
    pub(super) fn room(&self) -> usize {
        REQUEST_SLOTS - self.slots.len() + self.free.len()
    }

    /// How many are open.
    pub(super) fn in_use(&self) -> usize {
        let purposes = self.slots.iter();
        purposes.filter(|slot| slot.purpose.is_some()).count()
    }

    /// Whether any is open that no caller waits for, or a slot is neither open nor free.
    pub(super) fn owes(&self) -> bool {
        let nobodys = 1;
        !self.detached.is_empty() || nobodys + self.in_use() + self.free.len() != self.slots.len()
    }

    /// What an open request is for.
    ///
    /// # Panics
    /// If the request is spent: the caller kept a copy of it.
    pub(super) fn purpose(&self, request: RequestId) -> &Purpose {
        let slot = &self.slots[request.slot as usize];
        assert_eq!(slot.generation, request.generation, "{request:?} is spent");
        let purpose = slot.purpose.as_ref();
        purpose.expect("the slot of a live request is in use")
    }

    /// What a request is for, unless it is spent.
    pub(super) fn if_live(&self, request: RequestId) -> Option<&Purpose> {
        let slot = self.slots.get(request.slot as usize);
        slot.filter(|slot| slot.generation == request.generation)?
            .purpose
            .as_ref()
    }

    /// The same, to change it.
    pub(super) fn if_live_mut(&mut self, request: RequestId) -> Option<&mut Purpose> {
        let slot = self.slots.get_mut(request.slot as usize);
        slot.filter(|slot| slot.generation == request.generation)?
            .purpose
            .as_mut()
    }

    /// What a rank has entered by a request, if it is a collective.
    pub(super) fn entered(&mut self, request: RequestId, by: Entered) {
        let slot = &mut self.slots[request.slot as usize];
        if let Some(Purpose::Collective { entered, .. }) = &mut slot.purpose {
            *entered = Some(by);
        }
    }

    /// Frees the slot of a completed request, and says what it was for.
    ///
    /// # Panics
    /// As [`purpose`](Self::purpose).
    pub(super) fn close(&mut self, request: RequestId) -> Purpose {
        let slot = &mut self.slots[request.slot as usize];
        assert_eq!(slot.generation, request.generation, "{request:?} is spent");
        let purpose = slot.purpose.take();
        self.free.push(request.slot);
        purpose.expect("the slot of a live request is in use")
    }

    /// A receive may also be satisfied on another road.
    pub(super) fn share(&mut self, request: RequestId, with: RequestId) {
        let slot = &mut self.slots[request.slot as usize];
        if let Some(Purpose::Receive { twin, .. }) = &mut slot.purpose {
            *twin = Some(with);
        }
    }

    /// From now on no caller waits for this request.
    /// Returns what it was for before.
    pub(super) fn detach(&mut self, request: RequestId, purpose: Purpose) -> Option<Purpose> {
        self.detached.push_back(request);
        self.slots[request.slot as usize].purpose.replace(purpose)
    }

    pub(super) fn opened_detached(
        &mut self,
        purpose: Purpose,
    ) -> Result<RequestId, TooManyRequests> {
        let request = self.open(purpose)?;
        self.detached.push_back(request);
        Ok(request)
    }

    /// Whether there are requests that no caller waits for.
    pub(super) fn has_detached(&self) -> bool {
        !self.detached.is_empty()
    }

    /// Closes detached requests that have completed and says what each was for. They complete
    /// about in the order of their posts, so usually a look at the oldest is enough; `all` looks
    /// at all of them, if `completions` says that anything completed since the last such look.
    pub(super) fn reap(
        &mut self,
        all: bool,
        completions: u64,
        completed: impl Fn(RequestId) -> Option<Completion>,
        mut done: impl FnMut(Purpose, Completion),
    ) {
        while let Some(&oldest) = self.detached.front() {
            let Some(completion) = completed(oldest) else {
                break;
            };
            self.detached.pop_front();
            done(self.close(oldest), completion);
        }
        if !all || self.looked_at == completions {
            return;
        }
        self.looked_at = completions;
        for request in std::mem::take(&mut self.detached) {
            if let Some(completion) = completed(request) {
                done(self.close(request), completion);
            } else {
                self.detached.push_back(request);
            }
        }
    }

    /// The sends that have not completed according to `completed`.
    pub(super) fn sends_outstanding(&self, completed: impl Fn(RequestId) -> bool) -> bool {
        (0u32..).zip(&self.slots).any(|(slot, entry)| {
            matches!(
                entry.purpose,
                Some(Purpose::Send { .. } | Purpose::Eager { .. })
            ) && !completed(RequestId {
                slot,
                generation: entry.generation,
            })
        })
    }
}

impl Drop for Requests {
    fn drop(&mut self) {
        // Whatever made this end early, the NIC may still look for where to write. The data are
        // the program's, and stay; so must layouts and rooms, or it would write anywhere.
        for slot in &mut self.slots {
            match slot.purpose.take() {
                Some(Purpose::Send { layout, room, .. }) => std::mem::forget((layout, room)),
                Some(Purpose::Receive { into, room, .. }) => std::mem::forget((into, room)),
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_that_is_used_again_has_another_generation() {
        let mut requests = Requests::new();
        let first = requests.open(Purpose::VoidProbe).unwrap();
        assert_ne!(first.slot, Requests::NOBODY.slot);
        assert_eq!(requests.close(first), Purpose::VoidProbe);
        let second = requests.open(Purpose::VoidProbe).unwrap();
        assert_eq!(second.slot, first.slot, "the last one freed is taken first");
        assert_ne!(second.generation, first.generation);
    }

    #[test]
    fn more_requests_than_slots_are_refused() {
        let mut requests = Requests::new();
        assert_eq!(requests.room(), REQUEST_SLOTS - 1, "one is nobody's");
        for _ in 1..REQUEST_SLOTS {
            let _ = requests.open(Purpose::VoidProbe).unwrap();
        }
        assert_eq!(requests.room(), 0);
        assert_eq!(requests.open(Purpose::VoidProbe), Err(TooManyRequests));
    }
}
