//! A ring and the descriptors that wait for room in it (law 4: a post never blocks).

use bcs_core::memory::MappedWords;
use bcs_core::memory::ring::{Producer, RingLayout};
use std::collections::VecDeque;

/// The rank's end of a descriptor ring. A descriptor never overtakes one that was posted before.
#[derive(Debug)]
pub(super) struct Outbox<const WORDS: usize> {
    ring: Producer<MappedWords>,
    held: VecDeque<[u64; WORDS]>,
}

impl<const WORDS: usize> Outbox<WORDS> {
    pub(super) fn new(words: MappedWords, layout: RingLayout) -> Self {
        Self {
            ring: Producer::new(words, layout),
            held: VecDeque::new(),
        }
    }

    /// Posts a descriptor, into the ring if there is room and none waits already.
    #[inline]
    pub(super) fn post(&mut self, descriptor: &[u64; WORDS]) {
        if !self.held.is_empty() || self.ring.push(descriptor).is_err() {
            self.held.push_back(*descriptor);
        }
    }

    /// Moves waiting descriptors into the ring, as far as there is room. Returns whether anything
    /// moved.
    pub(super) fn drain(&mut self) -> bool {
        let mut moved = false;
        while let Some(descriptor) = self.held.front() {
            if self.ring.push(descriptor).is_err() {
                break;
            }
            self.held.pop_front();
            moved = true;
        }
        moved
    }

    /// Returns whether descriptors wait for room.
    pub(super) fn holds(&self) -> bool {
        !self.held.is_empty()
    }

    /// Returns whether there are descriptors that the NIC has not taken.
    pub(super) fn untaken(&mut self) -> bool {
        self.holds() || self.ring.consumed() < self.ring.pushed()
    }

    /// Returns whether the NIC has not taken all of the first `posted` descriptors.
    pub(super) fn has_untaken_before(&mut self, posted: u64) -> bool {
        posted > 0 && self.ring.consumed() < posted
    }

    /// Returns how many descriptors were posted, in the ring or waiting for it.
    pub(super) fn posted(&self) -> u64 {
        self.ring.pushed() + self.held.len() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bcs_core::descriptor::ReceiveDescriptor;
    use bcs_core::limits::RECEIVE_RING_ENTRIES;
    use bcs_core::memory::NicMemory;
    use bcs_core::memory::ring::Consumer;

    #[test]
    fn what_does_not_fit_follows_in_order() {
        let memory = NicMemory::private(64).unwrap();
        let layout = NicMemory::receive_ring();
        let mut outbox = Outbox::<{ ReceiveDescriptor::WORDS }>::new(memory.words(), layout);
        let mut consumer = Consumer::new(memory.words(), layout);
        let posts = RECEIVE_RING_ENTRIES * 3;
        for number in 0..posts {
            outbox.post(&[number; ReceiveDescriptor::WORDS]);
        }
        assert!(outbox.holds() && outbox.untaken());
        assert_eq!(outbox.posted(), posts);
        let mut taken = Vec::new();
        while outbox.untaken() {
            let cut = consumer.published().unwrap();
            while let Some(words) = consumer.pop::<{ ReceiveDescriptor::WORDS }>(cut) {
                taken.push(words[0]);
            }
            outbox.drain();
        }
        assert!(taken.into_iter().eq(0..posts));
    }
}
