//! BBM and RM: what nodes send each other for a collective whose data are pulled.
//!
//! The place of the first token that the collective has taken in the slice is its *board* on all
//! nodes. Every node has its own room on it: for an *offer* of each member that may arrive there,
//! which holds the address of that member's memory, and for two words, *ready* and *done*. A word
//! records that this state is reached, or whose memory is missing.

use crate::collective::{NicGroup, ReadyCollective};
use bcs_core::job::NodeId;
use bcs_fabric::{Block, GlobalAddress, Port};
use zerocopy::IntoBytes;

/// Where the memory of an arrival is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryOffer {
    /// World rank.
    pub rank: u32,
    /// The address of its contribution.
    pub input: u64,
    /// The address for its result.
    pub output: u64,
    /// The rank whose memory is missing, if its node knows that the collective has failed.
    pub spoilt_by: Option<u32>,
}

/// Bytes of an offer: slice, slot and number of the collective, the number of offers, rank and
/// culprit, the two addresses.
const OFFER_BYTES: usize = 64;
/// Bytes of a word: slice, slot and number of the collective, the culprit.
const WORD_BYTES: usize = 32;

/// The board of a collective in a slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Board {
    token: u64,
    /// Slice, slot and number of the collective: data with other values are older.
    name: [u64; 3],
}

impl Board {
    /// Returns the board at the place of this token.
    #[must_use]
    pub fn new(token: u64, slice: u64, collective: &ReadyCollective) -> Self {
        let name = [slice, u64::from(collective.slot), collective.sequence];
        Self { token, name }
    }

    /// Whether it has room for all nodes of a group.
    #[must_use]
    pub fn has_room_for(group: &NicGroup) -> bool {
        let bytes = group.members.len() * OFFER_BYTES + group.nodes.len() * 2 * WORD_BYTES;
        bytes <= Block::TOKEN_STRIDE
    }

    fn at(self, byte: usize) -> GlobalAddress {
        let token = usize::try_from(self.token).expect("tokens are few");
        GlobalAddress::new(Block::Collective, NodeId(0)).plus(token * Block::TOKEN_STRIDE + byte)
    }

    /// Returns the address of the offers of the node at this place of the group.
    #[must_use]
    pub fn offers_at(self, place: usize, group: &NicGroup) -> GlobalAddress {
        self.at(group.first[place] * OFFER_BYTES)
    }

    /// Returns the address at which a node records that what it makes is ready.
    #[must_use]
    pub fn ready_at(self, place: usize, group: &NicGroup) -> GlobalAddress {
        self.at(group.members.len() * OFFER_BYTES + place * 2 * WORD_BYTES)
    }

    /// Returns the address at which a node records that it needs nothing from others any more.
    #[must_use]
    pub fn done_at(self, place: usize, group: &NicGroup) -> GlobalAddress {
        self.ready_at(place, group).plus(WORD_BYTES)
    }

    /// Encodes a node's offers as bytes.
    #[must_use]
    pub fn encode_offers(self, offers: &[MemoryOffer]) -> Vec<u8> {
        let [slice, slot, sequence] = self.name;
        let words = offers.iter().flat_map(|offer| {
            let count = offers.len() as u64;
            let rank = u64::from(offer.rank) | culprit_word(offer.spoilt_by) << 32;
            let (input, output) = (offer.input, offer.output);
            [slice, slot, sequence, count, rank, input, output, 0]
        });
        words.collect::<Vec<u64>>().as_bytes().to_vec()
    }

    /// Returns the offers of a node of the group, once they are there.
    #[must_use]
    pub fn read_offers(
        self,
        port: &dyn Port,
        place: usize,
        group: &NicGroup,
    ) -> Option<Vec<MemoryOffer>> {
        let at = self.offers_at(place, group);
        let mut head = [0_u64; OFFER_BYTES / 8];
        port.read(at, head.as_mut_bytes());
        let count = usize::try_from(head[3]).ok()?;
        let most = group.first[place + 1] - group.first[place];
        if head[..3] != self.name || count > most {
            return None;
        }
        let mut words = vec![0_u64; count * OFFER_BYTES / 8];
        port.read(at, words.as_mut_bytes());
        let offers = words
            .chunks_exact(OFFER_BYTES / 8)
            .map(|words| MemoryOffer {
                rank: low(words[4]),
                input: words[5],
                output: words[6],
                spoilt_by: culprit(words[4] >> 32),
            });
        Some(offers.collect())
    }

    /// Encodes a word as bytes.
    #[must_use]
    pub fn encode_word(self, outcome: Result<(), u32>) -> Vec<u8> {
        let [slice, slot, sequence] = self.name;
        [slice, slot, sequence, culprit_word(outcome.err())]
            .as_bytes()
            .to_vec()
    }

    /// Returns the word at an address, once it is there.
    #[must_use]
    pub fn read_word(self, port: &dyn Port, at: GlobalAddress) -> Option<Result<(), u32>> {
        let mut words = [0_u64; WORD_BYTES / 8];
        port.read(at, words.as_mut_bytes());
        let is_ours = words[..3] == self.name;
        is_ours.then(|| culprit(words[3]).map_or(Ok(()), Err))
    }
}

fn low(word: u64) -> u32 {
    u32::try_from(word & u64::from(u32::MAX)).expect("32 bits")
}

fn culprit_word(rank: Option<u32>) -> u64 {
    rank.map_or(0, |rank| u64::from(rank) + 1)
}

fn culprit(word: u64) -> Option<u32> {
    word.checked_sub(1).map(low)
}
