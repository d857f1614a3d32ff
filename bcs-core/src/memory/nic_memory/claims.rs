//! Claims: which of two transports receives a message.

use super::NicMemory;
use crate::limits::REQUEST_SLOTS;
use crate::request::RequestId;
use std::sync::atomic::{AtomicU32, Ordering};

/// The receiver of a message for a receive that two transports may satisfy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Claimant {
    /// The rank itself, by SMARTMAP.
    Rank = 1,
    /// Its NIC.
    Nic = 2,
}

/// Returns the word of an open claim. It holds 30 bits of the generation. That is enough: a caller
/// that claims knows one of the slot's last two uses, since a slot is free only when its NIC has
/// completed its request.
fn unclaimed(request: RequestId) -> u32 {
    request.generation << 2
}

impl NicMemory {
    fn claim_word(&self, request: RequestId) -> Option<&AtomicU32> {
        let slot = Some(request.slot as usize).filter(|&slot| slot < REQUEST_SLOTS)?;
        let after_slots = self.slot(RequestId {
            slot: u32::try_from(REQUEST_SLOTS).expect("fits"),
            generation: 0,
        });
        Some(self.mapping.word32(after_slots + slot * 4))
    }

    /// Rank side: opens the claim of a receive that is about to be posted, and that a message by
    /// either transport may satisfy, the NIC or SMARTMAP. A side that has a message for it claims
    /// the receive first.
    pub fn open_claim(&self, request: RequestId) {
        if let Some(word) = self.claim_word(request) {
            word.store(unclaimed(request), Ordering::Release);
        }
    }

    /// Rank side: forgets the requests that a slot was used for, whose generations may repeat after
    /// that. The slot is free: its NIC has completed all of them.
    pub fn forget_requests(&self, slot: u32) {
        let request = RequestId {
            slot,
            generation: 0,
        };
        if let Some(word) = self.claim_word(request) {
            word.store(0, Ordering::Relaxed);
            self.forget_completion(request);
        }
    }

    /// Claims a receive, as its rank or as its NIC. Returns whether it belongs to the caller. If
    /// the other side has claimed it before, it keeps the receive.
    #[must_use]
    pub fn claim(&self, request: RequestId, by: Claimant) -> bool {
        let open = unclaimed(request);
        self.claim_word(request).is_some_and(|word| {
            let claimed = open | by as u32;
            let order = (Ordering::AcqRel, Ordering::Acquire);
            word.compare_exchange(open, claimed, order.0, order.1)
                .is_ok()
        })
    }

    /// Returns which side has claimed a receive.
    #[must_use]
    pub fn claimant(&self, request: RequestId) -> Option<Claimant> {
        let word = self.claim_word(request)?.load(Ordering::Acquire);
        match word.checked_sub(unclaimed(request))? {
            1 => Some(Claimant::Rank),
            2 => Some(Claimant::Nic),
            _ => None,
        }
    }
}
