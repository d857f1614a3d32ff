//! Descriptors that a rank has posted and its NIC has not taken yet.

use super::NicMemory;
use crate::descriptor::{ReceiveDescriptor, ReceiveKind, SendDescriptor};
use crate::memory::ring::{RingLayout, Words as _};
use crate::wait_state::{MessagePeer, WaitReason};
use std::sync::atomic::Ordering;

impl NicMemory {
    /// Manager side: returns the first few descriptors of each ring, and the number of the others.
    /// The rank may have written anything there. It is a snapshot: an entry that the NIC takes
    /// meanwhile may already hold another descriptor, or none, when it is read.
    #[must_use]
    pub fn posted(&self, most: u64) -> (Vec<WaitReason>, u64) {
        let sends = self.untaken(Self::send_ring(), most);
        let receives = self.untaken(Self::receive_ring(), most);
        let collectives = self.untaken(Self::collective_ring(), most);
        let mut posted: Vec<WaitReason> = sends.0.filter_map(|at| send(&self.entry(at))).collect();
        posted.extend(receives.0.filter_map(|at| receive(&self.entry(at))));
        posted.extend(collectives.0.map(|_| WaitReason::Collective(None)));
        (posted, sends.1 + receives.1 + collectives.1)
    }

    /// Returns the first words of the first entries that the NIC has not taken, and the number of
    /// the others.
    fn untaken(&self, ring: RingLayout, most: u64) -> (impl Iterator<Item = usize>, u64) {
        let head = self.taken(ring);
        let words = self.words();
        // ENTRY: see the ring.
        let tail = words.word(ring.tail_word).load(Ordering::Acquire);
        let waiting = tail.wrapping_sub(head);
        // A rank may have overwritten either word.
        let waiting = if waiting <= ring.entries { waiting } else { 0 };
        let listed = waiting.min(most);
        let entries = (0..listed).map(move |nth| ring.entry(head.wrapping_add(nth)));
        (entries, waiting - listed)
    }

    fn entry<const N: usize>(&self, first: usize) -> [u64; N] {
        let words = self.mapping.words64(first * 8, N);
        std::array::from_fn(|word| words[word].load(Ordering::Relaxed))
    }
}

fn send(words: &[u64; SendDescriptor::WORDS]) -> Option<WaitReason> {
    let send = SendDescriptor::parse(words).ok()?;
    if send.one_sided.is_some() {
        return Some(WaitReason::Nic);
    }
    Some(WaitReason::Send(MessagePeer {
        context: send.context,
        rank: Some(send.destination),
        tag: Some(send.tag),
    }))
}

fn receive(words: &[u64; ReceiveDescriptor::WORDS]) -> Option<WaitReason> {
    let posted = ReceiveDescriptor::parse(words).ok()?;
    let peer = MessagePeer {
        context: posted.context,
        rank: posted.source,
        tag: posted.tag,
    };
    match posted.kind {
        ReceiveKind::Receive { .. } => Some(WaitReason::Receive(peer)),
        ReceiveKind::Get { .. } => Some(WaitReason::Nic),
        ReceiveKind::Probe | ReceiveKind::MatchedProbe => Some(WaitReason::Probe(peer)),
        // The NIC completes it in the slice that takes it, in any case.
        ReceiveKind::ProbeOnce
        | ReceiveKind::MatchedProbeOnce
        | ReceiveKind::MatchedReceive { .. }
        | ReceiveKind::Cancel(_) => None,
    }
}
