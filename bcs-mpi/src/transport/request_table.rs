//! The request table: which slots of a transport are in use, and for what.
//!
//! Every transport has one. A free slot is used again, the last one freed first, so a rank with few
//! outstanding requests uses few cache lines. Each use has another generation, so a spent request
//! is not mistaken for a new one. The table grows as far as the program needs.
//!
//! Generations wrap around: a rank that sends and waits uses one slot again and again, 2^32 times
//! in some minutes. Before the generation is 1 again, the table *forgets* what others have written
//! of the slot's earlier uses. The slot is free then, so nothing writes there, and no old word can
//! be mistaken for one of the new use.

use super::TooManyRequests;
use bcs_core::limits::REQUEST_SLOTS;
use bcs_core::request::RequestId;
use std::fmt;

#[derive(Debug)]
struct RequestSlotState<T> {
    generation: u32,
    used: Option<T>,
}

impl<T> RequestSlotState<T> {
    const FREE: Self = Self {
        generation: 0,
        used: None,
    };
}

/// A function that erases what others have written of a slot.
struct SlotReset(Box<dyn Fn(u32) + Send>);

impl fmt::Debug for SlotReset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Forget(..)")
    }
}

/// Requests, and the use of each.
#[derive(Debug)]
pub(super) struct RequestTable<T> {
    slots: Vec<RequestSlotState<T>>,
    free: Vec<u32>,
    /// The largest number of slots.
    limit: usize,
    /// How often no slot was left.
    refusals: u64,
    /// Called for a slot whose generation wraps around.
    forget: SlotReset,
}

impl<T> Default for RequestTable<T> {
    /// Returns an empty table. Slot 0 belongs to no request.
    fn default() -> Self {
        Self {
            slots: vec![RequestSlotState::FREE],
            free: Vec::new(),
            limit: REQUEST_SLOTS,
            refusals: 0,
            forget: SlotReset(Box::new(|_| ())),
        }
    }
}

impl<T> RequestTable<T> {
    /// Opens a request.
    #[inline(always)]
    pub(super) fn open(&mut self, used: T) -> Result<RequestId, TooManyRequests> {
        let slot = match self.free.pop() {
            Some(slot) => slot,
            None if self.slots.len() < self.limit => {
                self.slots.push(RequestSlotState::FREE);
                u32::try_from(self.slots.len() - 1).expect("REQUEST_SLOTS fits u32")
            }
            None => {
                self.refusals += 1;
                return Err(TooManyRequests);
            }
        };
        let entry = &mut self.slots[slot as usize];
        // Generation 0 means fresh memory.
        let generation = entry.generation.wrapping_add(1);
        if generation == 0 {
            return Ok(self.open_again(slot, used));
        }
        *entry = RequestSlotState {
            generation,
            used: Some(used),
        };
        Ok(RequestId { slot, generation })
    }

    /// Opens a request in a slot whose generations are used up.
    #[cold]
    fn open_again(&mut self, slot: u32, used: T) -> RequestId {
        (self.forget.0)(slot);
        let generation = 1;
        self.slots[slot as usize] = RequestSlotState {
            generation,
            used: Some(used),
        };
        RequestId { slot, generation }
    }

    /// Sets the function that erases what others have written of a free slot.
    pub(super) fn forget_by(&mut self, forget: impl Fn(u32) + Send + 'static) {
        self.forget = SlotReset(Box::new(forget));
    }

    /// Makes the next slots look as if they were used this many times before.
    #[cfg(test)]
    pub(super) fn were_used(&mut self, slots: usize, times: u32) {
        while self.free.len() < slots {
            self.slots.push(RequestSlotState::FREE);
            let slot = u32::try_from(self.slots.len() - 1).unwrap();
            self.free.push(slot);
        }
        for &slot in self.free.iter().rev().take(slots) {
            self.slots[slot as usize].generation = times;
        }
    }

    /// Returns the use of a request; `None` if it is spent, or not of this table.
    #[inline(always)]
    pub(super) fn get(&self, id: RequestId) -> Option<&T> {
        let slot = self.slots.get(id.slot as usize);
        slot.filter(|slot| slot.generation == id.generation)?
            .used
            .as_ref()
    }

    /// Returns the use of a request, to change it.
    #[inline(always)]
    pub(super) fn get_mut(&mut self, id: RequestId) -> Option<&mut T> {
        let slot = self.slots.get_mut(id.slot as usize);
        slot.filter(|slot| slot.generation == id.generation)?
            .used
            .as_mut()
    }

    /// Spends a request, unless it is spent. Its slot is free then.
    #[inline(always)]
    pub(super) fn close(&mut self, id: RequestId) -> Option<T> {
        let slot = self.slots.get_mut(id.slot as usize);
        let slot = slot.filter(|slot| slot.generation == id.generation)?;
        let used = slot.used.take()?;
        self.free.push(id.slot);
        Some(used)
    }

    /// Spends a request whose use is of no interest any more.
    #[inline(always)]
    pub(super) fn free(&mut self, id: RequestId) {
        if let Some(slot) = self.slots.get_mut(id.slot as usize)
            && slot.generation == id.generation
            && slot.used.is_some()
        {
            slot.used = None;
            self.free.push(id.slot);
        }
    }

    /// Returns the open requests.
    pub(super) fn iter(&self) -> impl Iterator<Item = (RequestId, &T)> {
        (0..).zip(&self.slots).filter_map(|(slot, entry)| {
            let generation = entry.generation;
            Some((RequestId { slot, generation }, entry.used.as_ref()?))
        })
    }

    /// Returns the uses of all open requests, and spends them.
    pub(super) fn drain(&mut self) -> impl Iterator<Item = T> {
        self.free.clear();
        self.slots.drain(1..).filter_map(|slot| slot.used)
    }

    /// Returns how many more requests can be opened.
    pub(super) fn room(&self) -> usize {
        self.limit - self.slots.len() + self.free.len()
    }

    /// Returns how often there was no slot.
    pub(super) fn refusals(&self) -> u64 {
        self.refusals
    }

    /// Makes the table small, but no smaller than it is now.
    #[cfg(test)]
    pub(super) fn limit(&mut self, slots: usize) {
        self.limit = slots.max(self.slots.len());
    }

    /// Returns how many slots are open: those that are neither free nor slot 0.
    pub(super) fn in_use(&self) -> usize {
        self.slots.len() - self.free.len() - 1
    }

    /// Returns whether a slot is neither open nor free.
    pub(super) fn has_lost_slot(&self) -> bool {
        self.iter().count() != self.in_use()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_that_is_used_again_has_another_generation() {
        let mut requests = RequestTable::default();
        let first = requests.open('a').unwrap();
        assert_ne!(first.slot, RequestId::NOBODY.slot);
        assert_eq!(requests.close(first), Some('a'));
        let second = requests.open('b').unwrap();
        assert_eq!(second.slot, first.slot, "the last one freed is taken first");
        assert_eq!(
            (requests.get(first), requests.get(second)),
            (None, Some(&'b'))
        );
        assert_eq!((requests.close(first), requests.in_use()), (None, 1));
        assert!(!requests.has_lost_slot());
    }

    #[test]
    fn what_was_written_of_a_slot_is_forgotten_before_its_generations_come_again() {
        let mut requests = RequestTable::default();
        let (forgets, forgotten) = std::sync::mpsc::channel();
        requests.forget_by(move |slot| forgets.send(slot).unwrap());
        requests.were_used(2, u32::MAX - 1);
        let last = requests.open('a').unwrap();
        assert_eq!(last.generation, u32::MAX);
        assert_eq!(requests.close(last), Some('a'));
        assert!(forgotten.try_recv().is_err());
        let first = requests.open('b').unwrap();
        assert_eq!((first.slot, first.generation), (last.slot, 1));
        assert_eq!(forgotten.try_recv(), Ok(first.slot));
        assert_eq!(
            (requests.get(last), requests.get(first)),
            (None, Some(&'b'))
        );
    }

    #[test]
    fn more_requests_than_slots_are_refused() {
        let mut requests = RequestTable::default();
        assert_eq!(requests.room(), REQUEST_SLOTS - 1, "one is nobody's");
        for _ in 1..REQUEST_SLOTS {
            let _ = requests.open(()).unwrap();
        }
        assert_eq!(requests.room(), 0);
        assert_eq!(requests.open(()), Err(TooManyRequests));
    }
}
