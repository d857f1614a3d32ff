//! Bytes of eager messages that travel with their descriptors.
//!
//! A GET would take a round trip for these few bytes. So the sender's node sends them before their
//! descriptor ([`Port::send_eager_bytes`](crate::Port::send_eager_bytes)), and a GET finds them
//! here, by their payload slot. The rank reuses the slot only after it has been notified that the
//! message is complete, and so after the GET. Each message that has met its receive needs a GET,
//! also when the receive has no room for any of it: bytes that stayed would be taken for the slot's
//! next message, if that is sent without its bytes. A GET that finds nothing here goes to the
//! sender's memory, where the bytes still are. A rank has [`PAYLOAD_SLOTS`] slots, which bounds the
//! cache.

use crate::SourceSpan;
use bcs_core::descriptor::Payload;
use bcs_core::limits::{MAX_EAGER_LIMIT, PAYLOAD_SLOTS};
use std::collections::HashMap;

/// Bytes that have come and that no GET has taken, by rank and payload slot.
#[derive(Debug, Default)]
pub(super) struct EagerCache(HashMap<(u32, u32), Vec<u8>>);

impl EagerCache {
    /// Adds bytes of a payload slot. Returns false if there is no such slot, or the bytes are too
    /// many.
    pub(super) fn add(&mut self, (rank, slot): (u32, u32), bytes: &[u8]) -> bool {
        let is_one = (slot as usize) < PAYLOAD_SLOTS && bytes.len() <= MAX_EAGER_LIMIT;
        if is_one {
            self.0.insert((rank, slot), bytes.to_vec());
        }
        is_one
    }

    /// Takes the bytes of a message from its first one on, if they are here.
    pub(super) fn take(&mut self, from: &SourceSpan) -> Option<Vec<u8>> {
        let Payload::Slot { slot, .. } = from.payload else {
            return None;
        };
        let mut bytes = self.0.remove(&(from.rank, slot))?;
        let len = usize::try_from(from.len).ok()?;
        if from.offset > 0 || len > bytes.len() {
            return None;
        }
        bytes.truncate(len);
        Some(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(rank: u32, slot: u32, offset: u64, len: u64) -> SourceSpan {
        let payload = Payload::Slot { slot, address: 0 };
        SourceSpan {
            rank,
            payload,
            offset,
            len,
        }
    }

    #[test]
    fn a_slot_gives_what_came_last_and_once() {
        let mut carried = EagerCache::default();
        assert!(carried.add((1, 2), b"first") && carried.add((1, 2), b"second"));
        assert_eq!(carried.take(&span(2, 2, 0, 3)), None);
        assert_eq!(carried.take(&span(1, 2, 0, 3)), Some(b"sec".to_vec()));
        assert_eq!(carried.take(&span(1, 2, 0, 3)), None);
    }

    #[test]
    fn what_is_not_there_from_the_first_byte_on_is_asked_for() {
        let mut carried = EagerCache::default();
        for wrong in [span(0, 0, 1, 1), span(0, 0, 0, 4)] {
            assert!(carried.add((0, 0), b"abc"));
            assert_eq!(carried.take(&wrong), None);
        }
        let no_slot = u32::try_from(PAYLOAD_SLOTS).unwrap();
        assert!(!carried.add((0, no_slot), b"abc"));
        assert!(!carried.add((0, 0), &vec![0; MAX_EAGER_LIMIT + 1]));
    }
}
