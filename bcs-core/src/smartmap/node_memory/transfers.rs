//! Transfers: the ends of sends.

use super::NodeMemory;
use super::layout::{self, TRANSFER_BYTES};
use crate::limits::REQUEST_SLOTS;
use crate::request::RequestId;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// The word of a transfer slot that its receiver sleeps on. It belongs to no transfer: its number
/// is that of a sleep.
const BELL: usize = 6;

impl NodeMemory {
    /// Receiver: ends a transfer of this sender with this result. The caller rings the sender.
    /// Returns false if there is no such transfer: the sender sent invalid data.
    #[must_use]
    #[inline]
    pub fn end_transfer(&self, sender: usize, transfer: RequestId, outcome: u8) -> bool {
        let Some(word) = self.transfer(sender, transfer.slot) else {
            return false;
        };
        let ended = u64::from(transfer.generation) << 32 | u64::from(outcome) << 1 | 1;
        // MOVED: the data have been copied, and the sender may write them again.
        word.store(ended, Ordering::Release);
        self.event_count(sender).fetch_add(1, Ordering::AcqRel);
        true
    }

    /// Sender: returns the result of a transfer, if it has ended.
    #[must_use]
    #[inline]
    pub fn transfer_outcome(&self, sender: usize, transfer: RequestId) -> Option<u8> {
        let word = self
            .transfer(sender, transfer.slot)?
            .load(Ordering::Acquire); // MOVED
        let ended = word & 1 == 1 && word >> 32 == u64::from(transfer.generation);
        ended.then(|| u8::try_from(word >> 1 & 0xff).expect("a byte"))
    }

    /// Sender: forgets the results of all transfers of a slot, whose generations may repeat after
    /// that. The slot is free, so no other rank reads it.
    pub fn forget_transfers(&self, sender: usize, slot: u32) {
        for word in (0..TRANSFER_BYTES / 8).filter(|&word| word != BELL) {
            if let Some(word) = self.transfer_word(sender, slot, word) {
                word.store(0, Ordering::Relaxed);
            }
        }
    }

    fn transfer(&self, place: usize, slot: u32) -> Option<&AtomicU64> {
        self.transfer_word(place, slot, 0)
    }

    /// Returns one of the words of a transfer slot, if there is such a slot.
    pub(in crate::smartmap) fn transfer_word(
        &self,
        place: usize,
        slot: u32,
        word: usize,
    ) -> Option<&AtomicU64> {
        let at = self.transfer_at(place, slot)?;
        Some(self.mapping().word64(at + word * 8))
    }

    /// Returns half of one.
    pub(in crate::smartmap) fn transfer_bell(
        &self,
        place: usize,
        slot: u32,
        word: usize,
    ) -> Option<&AtomicU32> {
        let at = self.transfer_at(place, slot)?;
        Some(self.mapping().word32(at + word * 8))
    }

    fn transfer_at(&self, place: usize, slot: u32) -> Option<usize> {
        let slot = Some(slot as usize).filter(|&slot| slot < REQUEST_SLOTS)?;
        assert!(place < self.ranks, "place {place} of {}", self.ranks);
        let index = place * REQUEST_SLOTS + slot;
        Some(layout::transfers(self.ranks) + index * TRANSFER_BYTES)
    }
}
