//! Node memory: what the ranks of one node share with each other.
//!
//! ```text
//! desks                      transfers                    queues
//! one for each rank:         so many for each rank:       one for each ordered pair of ranks:
//! bell, process id, news,    what became of its sends     head │ wants room │ entries │ payload
//! introductions
//!
//! collective info
//! one record for each context and rank: areas │ step │ listening, and their payload
//! ```
//!
//! **What is not used is not touched**: a page that anybody has looked at is memory. So a receiver looks at
//! the queues of those that have introduced themselves ([`introductions`]), and nobody at the records of
//! contexts that it is not in. Records of a context lie side by side, since whoever looks at one of them
//! looks at others, and an entry in a table of pages for each would cost more than they do.
//!
//! One sealed memfd per node, made by its node manager and mapped by its ranks. The design has the
//! send queues in the slot of the receiver, as the paper has. They lie here because a slot is a
//! rank's heap, which a program has or has not, and which exists only when the rank has said hello:
//! so a slot holds nothing but what the program put there, and queues are there from the start.
//!
//! Every rank of the node can write all of it. A rank that scribbles over it can spoil its own
//! job's messages, as it can by scribbling over its own; no rank follows an address from here
//! without checking that it lies in the memory of the rank that alleges it.

use super::coll_info::{CollInfo, RECORD_PAYLOAD_BYTES, RECORD_WORDS, Record};
use super::introductions;
use super::send_queue::{ENTRY_WORDS, Payload, QueueLayout, QueueReceiver, QueueSender};
use crate::limits::{
    MAX_CONTEXTS, MAX_RANKS_PER_NODE, REQUEST_SLOTS, SEND_QUEUE_ENTRIES, SEND_QUEUE_PAYLOAD_BYTES,
};
use crate::memory::{MapError, MappedArray, MappedWord, MappedWords, Mapping, sealed_memfd};
use crate::request::RequestId;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};

const LINE: usize = 128; // two cache lines: adjacent-line prefetch counts as sharing
const PAGE: usize = 4096;

/// A desk: the bell, and beside it what hardly ever changes, the process id and whether the rank is full; then
/// the news; then who has introduced itself.
const DESK_BYTES: usize = 3 * LINE;
const PROCESS: usize = 8;
const FULL: usize = 16;
const NEWS: usize = LINE;
const INTRODUCTIONS: usize = 2 * LINE;

/// A transfer slot is a cache line: receivers of different sends write to different ones.
const TRANSFER_BYTES: usize = 64;

/// The mark of a process id that may become a stranger's before anybody hears of its death, because a
/// script started the program and reaps it: nobody writes by it. No process id has this bit.
pub const READ_ONLY: u32 = 1 << 31;

const HEAD: usize = 0;
const ROOM_WANTED: usize = LINE;
const ENTRIES: usize = 2 * LINE;
#[expect(clippy::cast_possible_truncation, reason = "small constants")]
const PAYLOAD: usize =
    (ENTRIES + SEND_QUEUE_ENTRIES as usize * ENTRY_WORDS * 8).next_multiple_of(PAGE);
#[expect(clippy::cast_possible_truncation, reason = "small constants")]
const QUEUE_BYTES: usize = PAYLOAD + SEND_QUEUE_PAYLOAD_BYTES as usize;

const RECORD_BYTES: usize = RECORD_WORDS * 8;

/// Node memory, mapped by this process. Ranks of the node are named by their *place* on it, from 0.
#[derive(Clone, Debug)]
pub struct NodeMemory {
    words: MappedWords,
    ranks: usize,
}

impl NodeMemory {
    fn transfers(ranks: usize) -> usize {
        (ranks * DESK_BYTES).next_multiple_of(PAGE)
    }

    fn queues(ranks: usize) -> usize {
        Self::transfers(ranks) + ranks * REQUEST_SLOTS * TRANSFER_BYTES
    }

    /// Bytes of the memory of a node with so many ranks. Only what is used is ever touched.
    #[must_use]
    pub fn bytes(ranks: usize) -> usize {
        assert!(
            (1..=MAX_RANKS_PER_NODE).contains(&ranks),
            "{ranks} ranks on a node"
        );
        Self::coll_infos(ranks) + ranks * MAX_CONTEXTS * (RECORD_BYTES + RECORD_PAYLOAD_BYTES)
    }

    fn coll_infos(ranks: usize) -> usize {
        Self::queues(ranks) + ranks * ranks * QUEUE_BYTES
    }

    /// Makes the memory of a node with so many ranks: the file descriptor goes to all of them.
    ///
    /// # Errors
    /// As [`MapError`] says.
    pub fn create(ranks: usize) -> Result<(OwnedFd, Self), MapError> {
        let fd = sealed_memfd("bcs-node-memory", Self::bytes(ranks))?;
        let memory = Self::map(&fd, ranks)?;
        Ok((fd, memory))
    }

    /// Maps the memory of a node with so many ranks.
    ///
    /// # Errors
    /// As [`MapError`] says.
    pub fn map(fd: impl AsFd, ranks: usize) -> Result<Self, MapError> {
        let mapping = Mapping::shared(fd, Self::bytes(ranks))?;
        Ok(Self::over(mapping, ranks))
    }

    /// Memory that only this process sees (tests).
    ///
    /// # Errors
    /// As [`MapError`] says.
    pub fn private(ranks: usize) -> Result<Self, MapError> {
        let mapping = Mapping::private(Self::bytes(ranks))?;
        Ok(Self::over(mapping, ranks))
    }

    fn over(mapping: Mapping, ranks: usize) -> Self {
        let words = MappedWords(Arc::new(mapping));
        Self { words, ranks }
    }

    fn mapping(&self) -> &Mapping {
        &self.words.0
    }

    /// Ranks of the node.
    #[must_use]
    pub fn ranks(&self) -> usize {
        self.ranks
    }

    fn desk(&self, place: usize) -> usize {
        assert!(place < self.ranks, "place {place} of {}", self.ranks);
        place * DESK_BYTES
    }

    /// The bell of a rank: it sleeps on it, its NIC and the other ranks of its node ring it.
    #[must_use]
    #[inline]
    pub fn bell(&self, place: usize) -> &AtomicU32 {
        self.mapping().word32(self.desk(place))
    }

    /// The same, for whoever rings and has nothing else to do with this memory.
    #[must_use]
    pub fn mapped_bell(&self, place: usize) -> MappedWord {
        MappedWord::new(self.words.0.clone(), self.desk(place))
    }

    /// The process id of a rank, by which the kernel knows its memory; 0 while it has none. It may bear
    /// the mark [`READ_ONLY`].
    #[must_use]
    pub fn process(&self, place: usize) -> &AtomicU32 {
        self.mapping().word32(self.desk(place) + PROCESS)
    }

    /// Whether a rank keeps so many messages that nobody has asked for that others are to keep theirs: not 0
    /// then. It lies beside the bell, which whoever sends looks at anyway.
    #[must_use]
    #[inline]
    pub fn full(&self, place: usize) -> &AtomicU32 {
        self.mapping().word32(self.desk(place) + FULL)
    }

    /// What others have done for a rank that no queue tells: whoever waits compares it with what it
    /// was before the last look.
    #[must_use]
    #[inline]
    pub fn news(&self, place: usize) -> &AtomicU64 {
        self.mapping().word64(self.desk(place) + NEWS)
    }

    /// Receiver: the transfer of this sender is over, and this is what became of it. The caller
    /// rings the sender. Returns false if there is no such transfer: the sender alleged rubbish.
    #[must_use]
    #[inline]
    pub fn end_transfer(&self, sender: usize, transfer: RequestId, outcome: u8) -> bool {
        let Some(word) = self.transfer(sender, transfer.slot) else {
            return false;
        };
        let ended = u64::from(transfer.generation) << 32 | u64::from(outcome) << 1 | 1;
        // MOVED: what was sent has been copied, and the sender may write it again.
        word.store(ended, Ordering::Release);
        self.news(sender).fetch_add(1, Ordering::AcqRel);
        true
    }

    /// Sender: what became of a transfer, if it is over.
    #[must_use]
    #[inline]
    pub fn transfer_outcome(&self, sender: usize, transfer: RequestId) -> Option<u8> {
        let word = self
            .transfer(sender, transfer.slot)?
            .load(Ordering::Acquire); // MOVED
        let ended = word & 1 == 1 && word >> 32 == u64::from(transfer.generation);
        ended.then(|| u8::try_from(word >> 1 & 0xff).expect("a byte"))
    }

    fn transfer(&self, place: usize, slot: u32) -> Option<&AtomicU64> {
        self.transfer_word(place, slot, 0)
    }

    /// One of the words of a transfer slot, if there is such a slot.
    pub(super) fn transfer_word(&self, place: usize, slot: u32, word: usize) -> Option<&AtomicU64> {
        let at = self.transfer_at(place, slot)?;
        Some(self.mapping().word64(at + word * 8))
    }

    /// The same of half of one.
    pub(super) fn transfer_bell(&self, place: usize, slot: u32, word: usize) -> Option<&AtomicU32> {
        let at = self.transfer_at(place, slot)?;
        Some(self.mapping().word32(at + word * 8))
    }

    fn transfer_at(&self, place: usize, slot: u32) -> Option<usize> {
        let slot = Some(slot as usize).filter(|&slot| slot < REQUEST_SLOTS)?;
        assert!(place < self.ranks, "place {place} of {}", self.ranks);
        let index = place * REQUEST_SLOTS + slot;
        Some(Self::transfers(self.ranks) + index * TRANSFER_BYTES)
    }

    /// What a rank says of the collective that it is in, in a context. It is a member of at most one
    /// communicator with that id.
    #[must_use]
    pub fn coll_info(&self, place: usize, context: u32) -> CollInfo<MappedRecord> {
        let context = context as usize;
        assert!(
            place < self.ranks && context < MAX_CONTEXTS,
            "context {context} of place {place} of {}",
            self.ranks
        );
        let record = context * self.ranks + place;
        let start = Self::coll_infos(self.ranks);
        let payloads = start + self.ranks * MAX_CONTEXTS * RECORD_BYTES;
        CollInfo::new(MappedRecord {
            words: MappedArray::new(self.words.0.clone(), start + record * RECORD_BYTES),
            payload: payloads + record * RECORD_PAYLOAD_BYTES,
        })
    }

    /// A rank has to look again. The caller rings it.
    pub fn tell(&self, place: usize) {
        self.news(place).fetch_add(1, Ordering::AcqRel);
    }

    fn queue(&self, from: usize, to: usize) -> usize {
        assert!(
            from < self.ranks && to < self.ranks,
            "{from} to {to} of {}",
            self.ranks
        );
        // What one rank receives lies side by side.
        Self::queues(self.ranks) + (to * self.ranks + from) * QUEUE_BYTES
    }

    fn layout(start: usize) -> QueueLayout {
        QueueLayout {
            head_word: (start + HEAD) / 8,
            first_entry_word: (start + ENTRIES) / 8,
            entries: SEND_QUEUE_ENTRIES,
            payload: start + PAYLOAD,
            payload_bytes: SEND_QUEUE_PAYLOAD_BYTES,
        }
    }

    fn introductions(&self, place: usize) -> usize {
        (self.desk(place) + INTRODUCTIONS) / 8
    }

    /// Of the places `from..end` the first that has introduced itself to this one: the others have never
    /// sent anything.
    #[must_use]
    #[inline]
    pub fn next_acquaintance(&self, place: usize, from: usize, end: usize) -> Option<usize> {
        let end = end.min(self.ranks);
        introductions::next(&self.words, self.introductions(place), from, end)
    }

    /// The sending side of a queue that nobody has used yet. Its receiver looks at it from now on.
    #[must_use]
    pub fn sender(&self, from: usize, to: usize) -> QueueSender<MappedWords> {
        let layout = Self::layout(self.queue(from, to));
        introductions::introduce(&self.words, self.introductions(to), from);
        QueueSender::new(self.words.clone(), layout)
    }

    /// The receiving side of a queue that nobody has used yet.
    #[must_use]
    pub fn receiver(&self, from: usize, to: usize) -> QueueReceiver<MappedWords> {
        let layout = Self::layout(self.queue(from, to));
        QueueReceiver::new(self.words.clone(), layout)
    }

    /// Receiver, on any thread: whether there is an entry in a queue that has not been taken.
    #[must_use]
    #[inline]
    pub fn has_news(&self, from: usize, to: usize) -> bool {
        let layout = Self::layout(self.queue(from, to));
        QueueReceiver::is_filled(&self.words, layout)
    }

    /// Sender: asks to be rung when the receiver has taken something. Whoever asks then tries once
    /// more before it sleeps.
    pub fn want_room(&self, from: usize, to: usize) {
        let wanted = self.mapping().word32(self.queue(from, to) + ROOM_WANTED);
        wanted.store(1, Ordering::Relaxed);
        // PLACE: either the try that follows sees what was taken, or the receiver sees the wish.
        fence(Ordering::SeqCst);
    }

    /// Receiver, after it has taken something: whether the sender is to be rung for that. The wish
    /// is spent, and the sender has news.
    #[must_use]
    pub fn take_wish_for_room(&self, from: usize, to: usize) -> bool {
        fence(Ordering::SeqCst); // PLACE
        let wanted = self.mapping().word32(self.queue(from, to) + ROOM_WANTED);
        let is_wanted =
            wanted.load(Ordering::Relaxed) != 0 && wanted.swap(0, Ordering::AcqRel) != 0;
        if is_wanted {
            self.news(from).fetch_add(1, Ordering::AcqRel);
        }
        is_wanted
    }
}

/// What a rank says of collectives in a context: words, and where its payload is.
#[derive(Clone, Debug)]
pub struct MappedRecord {
    words: MappedArray<RECORD_WORDS>,
    payload: usize,
}

impl Record for MappedRecord {
    #[inline]
    fn words(&self) -> &[AtomicU64; RECORD_WORDS] {
        self.words.words()
    }

    fn write(&self, offset: usize, bytes: &[u8]) {
        self.words.mapping().write(self.payload + offset, bytes);
    }

    fn read(&self, offset: usize, bytes: &mut [u8]) {
        self.words.mapping().read(self.payload + offset, bytes);
    }
}

impl Payload for MappedWords {
    #[inline]
    fn entry(&self, first: usize) -> &[AtomicU64; ENTRY_WORDS] {
        self.0.line(first * 8)
    }

    fn write(&self, offset: usize, bytes: &[u8]) {
        self.0.write(offset, bytes);
    }

    fn read(&self, offset: usize, bytes: &mut [u8]) {
        self.0.read(offset, bytes);
    }
}

const _: () = {
    assert!(SEND_QUEUE_ENTRIES.is_power_of_two() && SEND_QUEUE_PAYLOAD_BYTES.is_power_of_two());
    assert!(ENTRIES.is_multiple_of(64) && QUEUE_BYTES.is_multiple_of(PAGE));
    assert!(RECORD_BYTES.is_multiple_of(LINE) && RECORD_PAYLOAD_BYTES.is_multiple_of(PAGE));
    assert!((MAX_CONTEXTS * RECORD_BYTES).is_multiple_of(PAGE));
    assert!(MAX_RANKS_PER_NODE < u16::MAX as usize); // who has folded for all, in 16 bits
    assert!(introductions::words_for(MAX_RANKS_PER_NODE) * 8 <= LINE);
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::smartmap::send_queue::Entry;

    #[test]
    fn every_pair_has_a_queue_of_its_own() {
        let (fd, node) = NodeMemory::create(3).unwrap();
        let other = NodeMemory::map(&fd, 3).unwrap();
        let pairs = || (0..3_u32).flat_map(|from| (0..3_u32).map(move |to| (from, to)));
        let at = |place: u32| place as usize;
        for (from, to) in pairs() {
            let mut sender = node.sender(at(from), at(to));
            let payload = [u8::try_from(from * 3 + to).unwrap(); 5_000];
            let room = sender.reserve(payload.len()).unwrap();
            sender.fill(&room, 0, &payload);
            let words = [room.payload; ENTRY_WORDS - 1];
            let code = from * 3 + to;
            sender.publish(room, &Entry { code, words });
        }
        for (from, to) in pairs() {
            let mut receiver = other.receiver(at(from), at(to));
            let entry = receiver.peek().unwrap();
            assert_eq!(entry.code, from * 3 + to);
            let mut payload = [0; 5_000];
            assert!(receiver.read(entry.words[0], 0, &mut payload));
            assert!(payload.iter().all(|&byte| u32::from(byte) == entry.code));
            receiver.take();
            assert_eq!(receiver.peek(), None);
        }
    }

    #[test]
    fn a_transfer_ends_for_the_request_that_began_it() {
        let node = NodeMemory::private(2).unwrap();
        let transfer = RequestId {
            slot: 9,
            generation: 4,
        };
        assert_eq!(node.transfer_outcome(1, transfer), None);
        assert!(node.end_transfer(1, transfer, 3));
        assert_eq!(node.transfer_outcome(1, transfer), Some(3));
        assert_eq!(node.transfer_outcome(0, transfer), None);
        assert_eq!(
            [0, 1].map(|place| node.news(place).load(Ordering::Relaxed)),
            [0, 1]
        );
        let next = RequestId {
            generation: 5,
            ..transfer
        };
        assert_eq!(node.transfer_outcome(1, next), None);
        let rubbish = RequestId {
            slot: u32::MAX,
            generation: 0,
        };
        assert!(!node.end_transfer(1, rubbish, 0));
    }

    #[test]
    fn every_rank_has_a_record_in_every_context() {
        let node = NodeMemory::private(3).unwrap();
        let contexts = [0, 1, u32::try_from(MAX_CONTEXTS).unwrap() - 1];
        let records = || (0..3).flat_map(|place| contexts.map(|context| (place, context)));
        for (place, context) in records() {
            let record = node.coll_info(place, context);
            let byte = u8::try_from(place * 10 + context as usize % 7).unwrap();
            record.contribute(1, &[byte; 4096]);
            record.enter(1, [u64::from(byte), 0], 0);
        }
        for (place, context) in records() {
            let record = node.coll_info(place, context);
            let mut bytes = [0; 4096];
            record.contribution(1, &mut bytes);
            let [called, _] = record.call(1);
            assert!(bytes.iter().all(|&byte| u64::from(byte) == called));
            assert_eq!(called, place as u64 * 10 + u64::from(context) % 7);
        }
    }

    #[test]
    fn a_wish_for_room_is_taken_once() {
        let node = NodeMemory::private(2).unwrap();
        assert!(!node.take_wish_for_room(0, 1));
        node.want_room(0, 1);
        assert!(!node.take_wish_for_room(1, 0));
        assert!(node.take_wish_for_room(0, 1));
        assert_eq!(
            node.news(0).load(Ordering::Relaxed),
            1,
            "it has to look again"
        );
        assert!(!node.take_wish_for_room(0, 1));
    }
}
