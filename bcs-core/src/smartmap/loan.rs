//! Loans: short messages that stay in the memory of their sender while it waits (SMARTMAP).
//!
//! To fetch a message of some kilobytes directly takes half the time of a copy into a queue and out
//! again. But its sender must not wait for a receive (law 3). So it *lends* the message: it waits a
//! short while for the receiver to *claim* it. If the receiver does not, the sender *withdraws* the
//! message, and publishes the address of a copy that the receiver may take later. The second of the
//! two finds that the other was first. A sender that finds its message claimed waits until it has
//! been fetched, which is not long.
//!
//! One word of the transfer slot records both; its generation identifies values of earlier
//! transfers. (A message that is long enough for a [shared copy](super::shared_copy) is never lent:
//! an offer holds the destination of the copy in the word that holds the address of a loan's copy.)
//!
//! ```text
//! word 0: how the transfer ended      2: address of the copy      7: claimed, or withdrawn
//! ```
//!
//! Happens-before, named on both sides:
//! - **COPY**: the sender's `AcqRel` exchange publishes the copy and its address to the receiver's
//!   `Acquire` load of the word.

use super::node_memory::NodeMemory;
use crate::request::RequestId;
use std::sync::atomic::{AtomicU64, Ordering};

const COPY: usize = 2;
const STATE: usize = 7;

const CLAIMED: u64 = 1;
const WITHDRAWN: u64 = 2;

/// A message that is lent.
#[derive(Clone, Copy, Debug)]
pub struct Loan<'a> {
    state: &'a AtomicU64,
    copy: &'a AtomicU64,
    generation: u64,
}

impl<'a> Loan<'a> {
    /// Returns the loan of one of a rank's transfers, or `None` if there is no such transfer: the
    /// rank sent invalid data.
    #[must_use]
    pub fn of_transfer(node: &'a NodeMemory, sender: usize, transfer: RequestId) -> Option<Self> {
        Some(Self {
            state: node.transfer_word(sender, transfer.slot, STATE)?,
            copy: node.transfer_word(sender, transfer.slot, COPY)?,
            generation: u64::from(transfer.generation) << 32,
        })
    }

    /// Receiver: claims the message and returns its address. That is `lent`, which then stays valid
    /// until the transfer ends, or, after a withdrawal, the address of the copy.
    #[must_use]
    pub fn claim(&self, lent: u64) -> u64 {
        match self.settle(CLAIMED) {
            Ok(()) => lent,
            Err(_) => self.copy.load(Ordering::Relaxed),
        }
    }

    /// Sender: returns whether it is too late to withdraw the message.
    #[must_use]
    pub fn is_claimed(&self) -> bool {
        self.state.load(Ordering::Relaxed) == self.generation | CLAIMED
    }

    /// Sender: withdraws the message in favour of a copy, unless it has been claimed. Returns
    /// whether it succeeded.
    #[must_use]
    pub fn withdraw(&self, copy: u64) -> bool {
        self.copy.store(copy, Ordering::Relaxed);
        self.settle(WITHDRAWN).is_ok()
    }

    fn settle(&self, how: u64) -> Result<(), u64> {
        let before = self.state.load(Ordering::Acquire); // COPY
        if before & !u64::from(u32::MAX) == self.generation {
            return Err(before);
        }
        let settled = self.generation | how;
        let (publish, look) = (Ordering::AcqRel, Ordering::Acquire);
        self.state // COPY
            .compare_exchange(before, settled, publish, look)
            .map(|_| ())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loan_is_claimed_or_withdrawn() {
        let node = NodeMemory::private(1).unwrap();
        for generation in 1..2_000 {
            let id = RequestId {
                slot: 1,
                generation,
            };
            let loan = Loan::of_transfer(&node, 0, id).unwrap();
            let (withdrawn, found) = std::thread::scope(|threads| {
                let receiver = threads.spawn(|| loan.claim(7));
                (
                    loan.withdraw(u64::from(generation) + 8),
                    receiver.join().unwrap(),
                )
            });
            let copy = u64::from(generation) + 8;
            assert_eq!(found, if withdrawn { copy } else { 7 });
        }
    }

    /// After 2^32 uses a slot has the same generations again, but nothing of the earlier uses.
    #[test]
    fn what_is_forgotten_of_a_slot_is_of_no_later_transfer() {
        let node = NodeMemory::private(1).unwrap();
        let id = RequestId {
            slot: 3,
            generation: 1,
        };
        let loan = || Loan::of_transfer(&node, 0, id).unwrap();
        assert!(loan().withdraw(8));
        assert!(node.end_transfer(0, id, 1));
        node.forget_transfers(0, id.slot);
        assert_eq!(node.transfer_outcome(0, id), None);
        assert_eq!(loan().claim(7), 7, "it was withdrawn once");
        assert!(loan().is_claimed());
    }

    #[test]
    fn who_comes_second_is_told() {
        let node = NodeMemory::private(1).unwrap();
        let id = |generation| RequestId {
            slot: 0,
            generation,
        };
        let claimed = Loan::of_transfer(&node, 0, id(1)).unwrap();
        assert!(!claimed.is_claimed());
        assert_eq!(claimed.claim(7), 7);
        assert!(claimed.is_claimed());
        assert!(!claimed.withdraw(8));
        let withdrawn = Loan::of_transfer(&node, 0, id(2)).unwrap();
        assert!(withdrawn.withdraw(8) && !withdrawn.is_claimed());
        assert_eq!(withdrawn.claim(7), 8);
    }
}
