//! Turns: which part of the transfers is scheduled next.
//!
//! Pairs (sender, receiver) take turns. Each gets one quantum, then it is the next pair's turn,
//! until the budget is spent. So no long message starves another pair. Transfers of one pair go one
//! after the other, in the order in which they matched. A transfer gets one chunk for all its turns
//! in a slice: if there were two, the ending one might move first.

use super::transfer::Transfer;
use crate::budget::Quota;
use crate::mail::Chunk;
use bcs_core::job::NodeId;
use std::collections::{BTreeMap, VecDeque};

/// The bytes that a pair may move in one turn.
pub(super) const QUANTUM: u64 = 256 * 1024;

/// Extends a chunk by the one that follows it in its transfer.
fn extend(chunk: &mut Chunk, next: Chunk) {
    chunk.last = next.last;
    chunk.cost += next.cost;
    match (&mut chunk.copy, next.copy) {
        (Some((from, _)), Some((more, _))) => from.len += more.len,
        (copy @ None, more) => *copy = more,
        (Some(_), None) => {}
    }
}

/// Returns the bytes that chunks move.
pub(in super::super) fn bytes(chunks: &[Chunk]) -> u64 {
    let copies = chunks.iter().filter_map(|chunk| chunk.copy);
    copies.map(|(from, _)| from.len).sum()
}

/// Transfers with bytes to schedule.
#[derive(Debug)]
pub(super) struct TransferTurns {
    quota: Quota,
    /// The units of completions for which a completion block has room.
    completions: usize,
    pairs: BTreeMap<(u32, u32), VecDeque<Transfer>>,
    /// The pairs with transfers, in the order of their turns.
    turns: VecDeque<(u32, u32)>,
    /// Bytes that must still be moved, of all transfers.
    left: u64,
}

impl TransferTurns {
    pub(super) fn new(quota: Quota, completions: usize) -> Self {
        Self {
            quota,
            completions,
            pairs: BTreeMap::new(),
            turns: VecDeque::new(),
            left: 0,
        }
    }

    pub(super) fn add(&mut self, transfer: Transfer) {
        self.left += transfer.left();
        let pair = transfer.pair();
        let queue = self.pairs.entry(pair).or_default();
        if queue.is_empty() {
            self.turns.push_back(pair);
        }
        queue.push_back(transfer);
    }

    pub(super) fn has_transfers(&self) -> bool {
        !self.turns.is_empty()
    }

    /// Returns the number of bytes that must still be moved.
    pub(super) fn left(&self) -> u64 {
        self.left
    }

    pub(super) fn len(&self) -> usize {
        self.pairs.values().map(VecDeque::len).sum()
    }

    /// Returns the next chunks: at most `budget` bytes, and at least `least` of a transfer that
    /// goes on after that.
    pub(super) fn next(&mut self, budget: u64, least: u64) -> Vec<Chunk> {
        let mut left = budget;
        let mut chunks = Vec::new();
        // The room in each source node's completion block. Each transfer may end in this
        // slice, because any chunk of it may fail.
        let mut room: BTreeMap<NodeId, usize> = BTreeMap::new();
        let mut sat_out = VecDeque::new();
        // The index of a transfer's chunk.
        let mut known: BTreeMap<u64, usize> = BTreeMap::new();
        while let Some(pair) = self.turns.pop_front() {
            let queue = self
                .pairs
                .get_mut(&pair)
                .expect("a pair with a turn has transfers");
            let mut turn = QUANTUM.min(left);
            let mut moved = false;
            while let Some(transfer) = queue.front_mut() {
                let weight = transfer.weight(&self.quota);
                // However small the budget is, a transfer advances.
                let most = (turn / weight).max(turn.min(1));
                let bytes = transfer.whole((transfer.len - transfer.moved).min(most));
                let ends = transfer.moved + bytes == transfer.len;
                if !ends && (bytes == 0 || turn < least) {
                    break;
                }
                match known.get(&transfer.id) {
                    Some(&at) => extend(&mut chunks[at], transfer.chunk(bytes, weight)),
                    None => {
                        if transfer.send.is_some() {
                            let room = room.entry(transfer.source_node).or_insert(self.completions);
                            // A block of a real size has room for any completion.
                            let is_fresh = *room == self.completions;
                            match room.checked_sub(transfer.units()) {
                                Some(left) => *room = left,
                                None if is_fresh && *room > 0 => *room = 0,
                                None => break,
                            }
                        }
                        known.insert(transfer.id, chunks.len());
                        chunks.push(transfer.chunk(bytes, weight));
                    }
                }
                moved = true;
                let cost = (bytes * weight).min(turn);
                turn -= cost;
                left -= cost;
                if !ends {
                    break;
                }
                queue.pop_front();
            }
            match (queue.is_empty(), moved) {
                (true, _) => {
                    self.pairs.remove(&pair);
                }
                (false, true) => self.turns.push_back(pair),
                (false, false) => sat_out.push_back(pair),
            }
        }
        self.turns = sat_out;
        self.left -= bytes(&chunks);
        chunks
    }

    /// Removes transfers, whatever they still had to move.
    pub(super) fn remove(&mut self, mut which: impl FnMut(&Transfer) -> bool) -> Vec<Transfer> {
        let mut removed = Vec::new();
        for queue in self.pairs.values_mut() {
            queue.retain(|transfer| {
                let gone = which(transfer);
                if gone {
                    removed.push(transfer.clone());
                }
                !gone
            });
        }
        self.left -= removed.iter().map(Transfer::left).sum::<u64>();
        self.pairs.retain(|_, queue| !queue.is_empty());
        let pairs = &self.pairs;
        self.turns.retain(|pair| pairs.contains_key(pair));
        removed
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::nic_receive::NicReceive;
    use super::*;
    use crate::blocks::Envelope;
    use bcs_core::check_bits::CheckBits;
    use bcs_core::descriptor::Payload;
    use bcs_core::descriptor::SendDescriptor;
    use bcs_core::job::Settings;
    use bcs_core::layout::Location;
    use bcs_core::request::RequestId;

    fn envelope(source: u32, len: u64) -> Envelope {
        let send = SendDescriptor {
            request: RequestId {
                slot: 1,
                generation: 1,
            },
            needs_completion: true,
            context: 0,
            destination: 9,
            tag: 0,
            len,
            check_bits: CheckBits::NONE,
            payload: Payload::Memory(Location::contiguous(4096)),
            one_sided: None,
        };
        Envelope {
            source,
            sequence: 1,
            send,
        }
    }

    fn transfer(source: u32, len: u64) -> Transfer {
        let receive = NicReceive {
            request: RequestId {
                slot: 2,
                generation: 1,
            },
            into: Location::contiguous(0),
            capacity: len,
            shared: false,
        };
        let envelope = envelope(source, len);
        let mut transfer = Transfer::new(9, NodeId(0), &envelope, &receive);
        transfer.id = source.into();
        transfer
    }

    #[test]
    fn a_long_message_is_chunked_by_the_budget_and_ends_once() {
        let mut turns = TransferTurns::new(Quota::new(&Settings::default()), 100);
        turns.add(transfer(1, 1_000_000));
        let mut moved = 0;
        let mut endings = 0;
        for _ in 0..10 {
            let chunks = turns.next(100_000, 0);
            assert!(bytes(&chunks) <= 100_000);
            for (from, to) in chunks.iter().filter_map(|chunk| chunk.copy) {
                assert_eq!((from.offset, to.offset), (moved, moved));
                moved += from.len;
            }
            endings += chunks.iter().filter(|chunk| chunk.last.is_some()).count();
        }
        assert_eq!((moved, endings), (1_000_000, 1));
        assert!(!turns.has_transfers());
    }

    /// Elements of an operand have 1 to 64 bytes. Each is combined as a whole.
    #[test]
    fn an_operand_is_cut_between_elements() {
        let mut turns = TransferTurns::new(Quota::new(&Settings::default()), 100);
        turns.add(Transfer::operand(NodeId(1), &envelope(1, 10_005)));
        let mut moved = Vec::new();
        while turns.has_transfers() {
            moved.push(bytes(&turns.next(1_000, 0)));
            assert!(moved.len() < 20, "{moved:?}");
        }
        assert_eq!(moved, [vec![960; 10], vec![405]].concat());
    }

    #[test]
    fn what_a_transfer_gets_in_a_slice_is_one_chunk() {
        let mut turns = TransferTurns::new(Quota::new(&Settings::default()), 100);
        turns.add(transfer(1, 3 * QUANTUM + 5));
        turns.add(transfer(2, QUANTUM));
        let chunks = turns.next(10 * QUANTUM, 0);
        assert_eq!((chunks.len(), bytes(&chunks)), (2, 4 * QUANTUM + 5));
        assert!(chunks.iter().all(|chunk| chunk.last.is_some()));
    }

    #[test]
    fn small_pieces_count_for_more_than_their_bytes() {
        let quota = Quota::new(&Settings::default());
        let mut turns = TransferTurns::new(quota, 100);
        let mut scattered = transfer(1, 1_000_000);
        scattered.receive.into.grain = 8;
        let weight = scattered.weight(&quota);
        assert_eq!(weight, 1 + quota.weight_of_pieces(&scattered.receive.into));
        assert!(weight > 1);
        turns.add(scattered);
        let moved = bytes(&turns.next(100_000, 0));
        assert!(
            (90_000 / weight..=100_000 / weight + 1).contains(&moved),
            "{moved}"
        );
        // A remainder of the budget always moves something.
        assert_eq!(bytes(&turns.next(1, 0)), 1);
        assert_eq!(bytes(&turns.next(0, 0)), 0);
    }

    #[test]
    fn pairs_take_turns() {
        let mut turns = TransferTurns::new(Quota::new(&Settings::default()), 100);
        turns.add(transfer(1, 100 * QUANTUM));
        turns.add(transfer(2, 100));
        let chunks = turns.next(2 * QUANTUM, 0);
        assert!(
            chunks
                .iter()
                .any(|chunk| chunk.sender.unwrap().1 == 2 && chunk.last.is_some())
        );
        assert_eq!(bytes(&chunks), 2 * QUANTUM);
    }

    #[test]
    fn a_slice_has_no_more_sends_of_a_node_than_its_completion_block_has_room_for() {
        let mut turns = TransferTurns::new(Quota::new(&Settings::default()), 3);
        (0..8).for_each(|source| turns.add(transfer(source, 100)));
        // Any chunk of a transfer may fail, and end it.
        (8..10).for_each(|source| turns.add(transfer(source, 100 * QUANTUM)));
        for slice in 0..20 {
            let chunks = turns.next(4 * QUANTUM, 0);
            let owed = chunks.iter().filter(|chunk| chunk.sender.is_some());
            assert!((1..=3).contains(&owed.count()), "slice {slice}");
        }
    }

    #[test]
    fn an_empty_budget_still_ends_what_needs_none() {
        let mut turns = TransferTurns::new(Quota::new(&Settings::default()), 100);
        turns.add(transfer(1, 0));
        turns.add(transfer(2, 1));
        let chunks = turns.next(0, 0);
        assert_eq!(chunks.len(), 1);
        assert!(turns.has_transfers());
    }
}
