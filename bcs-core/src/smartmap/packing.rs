//! Messages in small pieces that the receiver fetches while the sender packs them (SMARTMAP).
//!
//! To find a piece in the memory of another process costs the kernel as much as to copy some
//! hundred bytes. So a sender packs small pieces into memory of its own. It first publishes the
//! address of that memory, and then its progress. The receiver unpacks behind it, so both cores
//! work at the same time. The sender depends on no other rank: whatever its receiver does, it packs
//! all in the call that sends.
//!
//! One word of the transfer slot holds the progress, and the receiver sleeps on another one. Such a
//! transfer does not use either word otherwise: it is not lent, and its copy is not shared. The
//! generation identifies values of earlier transfers.
//!
//! ```text
//! word 0: how the transfer ended      6: bell      7: generation, packed bytes
//! ```
//!
//! Happens-before, named on both sides:
//! - **PACKED**: the sender's `Release` store of its progress publishes the bytes to the receiver's
//!   `Acquire` load of it.

use super::node_memory::NodeMemory;
use crate::request::{RequestId, low};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

const BELL: usize = 6;
const PACKED: usize = 7;

/// A message that is being packed.
#[derive(Clone, Copy, Debug)]
pub struct PackingProgress<'a> {
    packed: &'a AtomicU64,
    bell: &'a AtomicU32,
    generation: u64,
}

impl<'a> PackingProgress<'a> {
    /// Returns the packing of one of a rank's transfers, or `None` if there is no such transfer:
    /// the rank sent invalid data.
    #[must_use]
    pub fn of_transfer(node: &'a NodeMemory, sender: usize, transfer: RequestId) -> Option<Self> {
        Some(Self {
            packed: node.transfer_word(sender, transfer.slot, PACKED)?,
            bell: node.transfer_bell(sender, transfer.slot, BELL)?,
            generation: u64::from(transfer.generation) << 32,
        })
    }

    /// Sender: publishes that `bytes` bytes are packed, fewer than 4 GiB. The caller rings the
    /// [bell](Self::bell).
    pub fn advance(&self, bytes: u32) {
        let word = self.generation | u64::from(bytes);
        self.packed.store(word, Ordering::Release); // PACKED
    }

    /// Receiver: returns how many bytes are packed.
    #[must_use]
    pub fn bytes(&self) -> u32 {
        let word = self.packed.load(Ordering::Acquire); // PACKED
        let bytes = low(word);
        if word ^ u64::from(bytes) != self.generation {
            return 0;
        }
        bytes
    }

    /// Returns the bell on which the receiver sleeps until there is more.
    #[must_use]
    pub fn bell(&self) -> &AtomicU32 {
        self.bell
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_packed_counts_for_its_transfer_alone() {
        let node = NodeMemory::private(2).unwrap();
        let id = |slot, generation| RequestId { slot, generation };
        let of = |id| PackingProgress::of_transfer(&node, 1, id).unwrap();
        assert_eq!(of(id(3, 1)).bytes(), 0, "fresh memory");
        of(id(3, 1)).advance(u32::MAX);
        assert_eq!(of(id(3, 1)).bytes(), u32::MAX);
        assert_eq!(of(id(3, 2)).bytes(), 0, "the next transfer of the slot");
        assert_eq!(of(id(4, 1)).bytes(), 0, "another slot");
        assert!(PackingProgress::of_transfer(&node, 1, id(u32::MAX, 1)).is_none());
    }
}
