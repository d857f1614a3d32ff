//! Cancels of sends within a node (MPI 5.0, 3.8.4; SMARTMAP).
//!
//! A sender may cancel a message that has met no receive, and `MPI_Cancel` is local. The receiver
//! may be computing, with the message unread in its queue or waiting in its matcher. So one word of
//! the transfer slot records who owns the message, and one compare-and-swap decides it: the
//! receiver *claims* the message before a receive takes it, or the sender *cancels* it. The second
//! of the two finds that the other was first.
//!
//! In the same word the receiver later records how the transfer ended. A message that is
//! [lent](super::loan) is never cancelled, because its sender is in a blocking call and has no
//! request.
//!
//! ```text
//! word 0: generation; 2 open, 4 claimed, 6 cancelled;
//!         or, with the lowest bit, how the transfer ended
//! ```
//!
//! The sender marks the word when it opens the transfer, and the receiver claims a message only if
//! the generation of the word is that of the entry. So a slot may be used again at once: an old
//! entry in a queue finds another generation there, and the receiver knows that its message was
//! cancelled.

use super::node_memory::NodeMemory;
use crate::request::RequestId;
use std::sync::atomic::{AtomicU64, Ordering};

/// The word that records the end of a transfer. An end has the lowest bit set; the states below
/// have not.
const STATE: usize = 0;

const OPEN: u64 = 2;
const CLAIMED: u64 = 4;
const CANCELLED: u64 = 6;

/// A message in a transfer slot that its sender may cancel.
#[derive(Clone, Copy, Debug)]
pub struct CancellableSend<'a> {
    state: &'a AtomicU64,
    /// The event count of the sender.
    news: &'a AtomicU64,
    generation: u64,
}

impl<'a> CancellableSend<'a> {
    /// Returns the message of one of a rank's transfers, or `None` if there is no such transfer:
    /// the rank sent invalid data.
    #[must_use]
    #[inline]
    pub fn of_transfer(node: &'a NodeMemory, sender: usize, transfer: RequestId) -> Option<Self> {
        Some(Self {
            state: node.transfer_word(sender, transfer.slot, STATE)?,
            news: node.event_count(sender),
            generation: u64::from(transfer.generation) << 32,
        })
    }

    /// Sender, before its receiver may see the message: lets it be claimed or cancelled.
    #[inline]
    pub fn open(&self) {
        // The entry that is published afterwards (STAMP) announces the transfer.
        self.state.store(self.generation | OPEN, Ordering::Relaxed);
    }

    /// Receiver: claims the message for a receive. Returns false if its sender has cancelled it. A
    /// message may be claimed several times.
    #[must_use]
    #[inline]
    pub fn claim(&self) -> bool {
        self.change(OPEN, CLAIMED) || self.is(CLAIMED)
    }

    /// Receiver: releases a claim, because another message got the receive. The sender may cancel
    /// this one again. The caller rings the sender, which may have tried meanwhile.
    pub fn release(&self) {
        let _released = self.change(CLAIMED, OPEN);
        self.news.fetch_add(1, Ordering::AcqRel);
    }

    /// Sender: cancels the message. Returns false if it has met a receive.
    #[must_use]
    pub fn cancel(&self) -> bool {
        self.change(OPEN, CANCELLED)
    }

    /// Returns whether the message is cancelled, if its transfer has not ended otherwise.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        !self.is(OPEN) && !self.is(CLAIMED)
    }

    fn is(&self, state: u64) -> bool {
        self.state.load(Ordering::Acquire) == self.generation | state
    }

    fn change(&self, from: u64, to: u64) -> bool {
        let (from, to) = (self.generation | from, self.generation | to);
        let changed = self
            .state
            .compare_exchange(from, to, Ordering::AcqRel, Ordering::Acquire);
        changed.is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn transfer(generation: u32) -> RequestId {
        RequestId {
            slot: 1,
            generation,
        }
    }

    #[test]
    fn a_message_is_claimed_or_cancelled() {
        let node = NodeMemory::private(1).unwrap();
        for generation in 1..2_000 {
            let message = CancellableSend::of_transfer(&node, 0, transfer(generation)).unwrap();
            message.open();
            let (cancelled, claimed) = std::thread::scope(|threads| {
                let receiver = threads.spawn(|| message.claim());
                (message.cancel(), receiver.join().unwrap())
            });
            assert_ne!(cancelled, claimed);
            assert_eq!(message.is_cancelled(), cancelled);
        }
    }

    #[test]
    fn a_claim_that_is_given_back_may_be_cancelled() {
        let node = NodeMemory::private(1).unwrap();
        let message = CancellableSend::of_transfer(&node, 0, transfer(1)).unwrap();
        message.open();
        assert!(message.claim() && message.claim() && !message.cancel());
        message.release();
        assert!(message.cancel() && !message.claim());
        message.release();
        assert!(message.is_cancelled());
    }

    #[test]
    fn a_transfer_ends_that_was_claimed() {
        let node = NodeMemory::private(1).unwrap();
        let message = CancellableSend::of_transfer(&node, 0, transfer(3)).unwrap();
        let outcome = || node.transfer_outcome(0, transfer(3));
        assert_eq!(outcome(), None);
        message.open();
        assert_eq!(outcome(), None);
        assert!(message.claim());
        assert_eq!(outcome(), None);
        assert!(node.end_transfer(0, transfer(3), 5));
        assert_eq!(outcome(), Some(5));
        assert!(!message.cancel());
    }

    #[test]
    fn a_slot_that_is_used_again_does_not_revive_what_was_cancelled() {
        let node = NodeMemory::private(1).unwrap();
        let [old, new] =
            [1, 2].map(|it| CancellableSend::of_transfer(&node, 0, transfer(it)).unwrap());
        old.open();
        assert!(old.cancel());
        new.open();
        assert!(!old.claim() && old.is_cancelled());
        assert!(new.claim());
        assert!(!old.claim() && !new.is_cancelled());
    }
}
