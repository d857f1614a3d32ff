//! A wait state as words of NIC memory.
//!
//! ```text
//! counts │ site, 13 │ waits, 2 each │ entered, 3 each │ communicators, 4 each │ unmatched, 2 each
//! │ titles, 26 each │ site of the start, 13
//! ```
//!
//! A wait state takes only as many words as it needs: most waits are for one thing.

use super::communicator::{self, CommunicatorProgress};
use super::entered_collective::{self, EnteredCollective};
use super::label::{self, CommunicatorLabel};
use super::site;
use super::wait::{MessagePeer, WaitReason, WaitState};
use crate::request::{high, low};

/// The most entries of each list. More would not help a reader: for a rank that waits for hundreds
/// of requests, the wait state holds the first of them, and the number of the others.
const WAITS: usize = 16;
const ENTERED: usize = 8;
const COMMUNICATORS: usize = 8;
const UNMATCHED: usize = 4;
const TITLES: usize = 2;

pub(super) const PEER_WORDS: usize = 2;
const HEAD: usize = 1 + site::WORDS;

/// The most words of a wait state.
pub const WAIT_STATE_WORDS: usize = HEAD
    + PEER_WORDS * (WAITS + UNMATCHED)
    + entered_collective::WORDS * ENTERED
    + communicator::WORDS * COMMUNICATORS
    + label::WORDS * TITLES
    + site::WORDS;

const ANY_TAG: u64 = 1 << 32;

/// Bits above the counts.
const ANY: u64 = 1 << 32;
const THREADS: u64 = 1 << 33;
/// The number of titles, in two bits.
const TITLES_SHIFT: u32 = 34;
const TITLES_BITS: u32 = 2;
const POLLS: u64 = 1 << (TITLES_SHIFT + TITLES_BITS);
const STARTED: u64 = 1 << 37;
const MORE_SHIFT: u32 = 38;

const _: () = assert!(TITLES < 1 << TITLES_BITS);

impl WaitState {
    /// The most [`waits`](Self::waits) that are reported,
    pub const WAITS: usize = WAITS;
    /// ... of [`entered`](Self::entered),
    pub const ENTERED: usize = ENTERED;
    /// ... of [`communicators`](Self::communicators),
    pub const COMMUNICATORS: usize = COMMUNICATORS;
    /// ... and of [`unmatched`](Self::unmatched).
    pub const UNMATCHED: usize = UNMATCHED;
    /// ... and of [`labels`](Self::labels).
    pub const TITLES: usize = TITLES;

    /// Encodes the wait state as words. Lists that are too long are cut.
    #[must_use]
    pub fn encode(&self) -> Vec<u64> {
        let mut words = Vec::with_capacity(WAIT_STATE_WORDS);
        let counts = [
            (self.waits.len(), WAITS),
            (self.entered.len(), ENTERED),
            (self.communicators.len(), COMMUNICATORS),
            (self.unmatched.len(), UNMATCHED),
        ]
        .map(|(len, most)| len.min(most));
        let bytes = counts.iter().rev();
        let counted = bytes.fold(0, |word, &count| word << 8 | count as u64);
        let [waits, entered, communicators, unmatched] = counts;
        let cut = u32::try_from(self.waits.len() - waits).unwrap_or(u32::MAX);
        // The count of the others has 26 bits; no rank has that many requests.
        let more = u64::from(self.more.saturating_add(cut)) << MORE_SHIFT;
        let titles = self.labels.len().min(TITLES);
        let any = if self.for_any { ANY } else { 0 };
        let threads = if self.threads { THREADS } else { 0 };
        let polls = if self.polls { POLLS } else { 0 };
        let titled = (titles as u64) << TITLES_SHIFT;
        let started = if self.started.is_some() { STARTED } else { 0 };
        words.push(counted & 0xffff_ffff | any | threads | polls | titled | started | more);
        words.extend(site::encode(self.site.as_ref()));
        for &wait in &self.waits[..waits] {
            words.extend(encode_wait(wait));
        }
        for entered in &self.entered[..entered] {
            words.extend(entered.encode());
        }
        for communicator in &self.communicators[..communicators] {
            words.extend(communicator.encode());
        }
        for &peer in &self.unmatched[..unmatched] {
            words.extend(encode_peer(0, peer));
        }
        for title in &self.labels[..titles] {
            words.extend(title.encode());
        }
        if self.started.is_some() {
            words.extend(site::encode(self.started.as_ref()));
        }
        words
    }

    /// Decodes words. There may be more words than needed. Returns `None` if they are invalid.
    #[must_use]
    pub fn decode(words: &[u64]) -> Option<Self> {
        let (&[counted, ref site @ ..], mut rest) = words.split_first_chunk::<HEAD>()?;
        let [waits, entered, communicators, unmatched, ..] = counted.to_le_bytes();
        let counts = [
            (waits, WAITS),
            (entered, ENTERED),
            (communicators, COMMUNICATORS),
            (unmatched, UNMATCHED),
        ];
        if counts
            .iter()
            .any(|&(count, most)| usize::from(count) > most)
        {
            return None;
        }
        let mut take = |count: u8, each: usize| {
            let (taken, left) = rest.split_at_checked(usize::from(count) * each)?;
            rest = left;
            Some(taken.chunks_exact(each))
        };
        let waits = take(waits, PEER_WORDS)?.map(decode_wait);
        let waits = waits.collect::<Option<_>>()?;
        let entered = take(entered, entered_collective::WORDS)?.map(EnteredCollective::decode);
        let entered = entered.collect::<Option<_>>()?;
        let communicators = take(communicators, communicator::WORDS)?;
        let communicators = communicators.map(CommunicatorProgress::decode).collect();
        let unmatched = take(unmatched, PEER_WORDS)?;
        let unmatched = unmatched.map(decode_peer).collect();
        let [titles, ..] = (counted >> TITLES_SHIFT & 3).to_le_bytes();
        // An invalid title is left out, so the number stands in its place.
        let titles = take(titles, label::WORDS)?.filter_map(CommunicatorLabel::decode);
        let titles = titles.collect();
        let started = match counted & STARTED {
            0 => None,
            _ => rest.first_chunk().and_then(site::decode),
        };
        Some(Self {
            for_any: counted & ANY != 0,
            threads: counted & THREADS != 0,
            polls: counted & POLLS != 0,
            waits,
            more: low(counted >> MORE_SHIFT),
            site: site::decode(site),
            started,
            entered,
            communicators,
            labels: titles,
            unmatched,
        })
    }
}

fn encode_wait(wait: WaitReason) -> [u64; PEER_WORDS] {
    match wait {
        WaitReason::Receive(peer) => encode_peer(0, peer),
        WaitReason::Probe(peer) => encode_peer(1, peer),
        WaitReason::Send(peer) => encode_peer(2, peer),
        WaitReason::Collective(which) => [3, which.map_or(0, |which| u64::from(which) + 1)],
        WaitReason::Request => [4, 0],
        WaitReason::Sends => [5, 0],
        WaitReason::Nic => [6, 0],
        WaitReason::WindowLock(peer) => encode_peer(7, peer),
        WaitReason::WindowPost(peer) => encode_peer(8, peer),
        WaitReason::WindowComplete(peer) => encode_peer(9, peer),
    }
}

fn decode_wait(words: &[u64]) -> Option<WaitReason> {
    Some(match words[0] & 0xff {
        0 => WaitReason::Receive(decode_peer(words)),
        1 => WaitReason::Probe(decode_peer(words)),
        2 => WaitReason::Send(decode_peer(words)),
        3 => {
            let which = words[1].checked_sub(1);
            WaitReason::Collective(which.map(u8::try_from).transpose().ok()?)
        }
        4 => WaitReason::Request,
        5 => WaitReason::Sends,
        6 => WaitReason::Nic,
        7 => WaitReason::WindowLock(decode_peer(words)),
        8 => WaitReason::WindowPost(decode_peer(words)),
        9 => WaitReason::WindowComplete(decode_peer(words)),
        _ => return None,
    })
}

pub(super) fn encode_peer(code: u64, peer: MessagePeer) -> [u64; PEER_WORDS] {
    let MessagePeer { context, rank, tag } = peer;
    // A rank takes 15 bits (MAX_RANKS), and one more value stands for "any".
    let rank = rank.map_or(0, |rank| (u64::from(rank) + 1) & 0xff_ffff);
    [
        code | rank << 8 | u64::from(context) << 32,
        tag.map_or(ANY_TAG, |tag| u64::from(tag.cast_unsigned())),
    ]
}

pub(super) fn decode_peer(words: &[u64]) -> MessagePeer {
    MessagePeer {
        context: high(words[0]),
        rank: (low(words[0]) >> 8).checked_sub(1),
        tag: (words[1] & ANY_TAG == 0).then(|| low(words[1]).cast_signed()),
    }
}
