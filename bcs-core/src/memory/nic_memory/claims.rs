//! Claims: whose a message is that two roads could receive.

use super::NicMemory;
use crate::limits::REQUEST_SLOTS;
use crate::request::RequestId;
use std::sync::atomic::{AtomicU32, Ordering};

/// Who has a message for a receive that two roads may satisfy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Claimant {
    /// The rank itself, by SMARTMAP.
    Rank = 1,
    /// Its NIC.
    Nic = 2,
}

/// The claim of a use of a slot that nobody has.
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

    /// Rank side: a receive is about to be posted that a message by either road may satisfy, the
    /// NIC's or SMARTMAP's. Whoever has a message for it claims it first.
    pub fn open_claim(&self, request: RequestId) {
        if let Some(word) = self.claim_word(request) {
            word.store(unclaimed(request), Ordering::Release);
        }
    }

    /// Claims a receive, as its rank or as its NIC. Returns whether it is the caller's: the other
    /// one, if it has claimed it, keeps it.
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

    /// Who has claimed a receive.
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
