//! NIC memory of one rank, which the rank and its NIC share.
//!
//! ```text
//! header   send ring   receive ring   collective ring   payload slots   request slots
//! └ a cache line for words that one side writes, the other reads: bell, tails, heads, completions
//! ```
//!
//! There is one sealed memfd per rank. The rank writes descriptors, tail positions, payload and its
//! bell's ASLEEP; the NIC writes head positions, request slots and the summaries. The NIC does not
//! trust any word that the rank can write.

mod claims;
mod posted;
#[cfg(test)]
mod tests;
mod wait_state;

pub use claims::Claimant;

use super::mapping::{MapError, MappedWord, MappedWords, Mapping, sealed_memfd};
use crate::descriptor::{CollectiveDescriptor, ReceiveDescriptor, SendDescriptor};
use crate::limits::{
    COLLECTIVE_RING_ENTRIES, INLINE_BYTES, PAYLOAD_SLOTS, RECEIVE_RING_ENTRIES, REQUEST_SLOTS,
    SEND_RING_ENTRIES,
};
use crate::memory::ring::RingLayout;
use crate::request::{COMPLETION_WORDS, Completion, RequestId};
use std::os::fd::{AsFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};

const LINE: usize = 128; // two cache lines: adjacent-line prefetch counts as sharing
const BELL: usize = 0;
const COMPLETIONS: usize = LINE;
/// Words that the rank writes and its NIC reads in every slice.
const SEND_TAIL: usize = 2 * LINE;
const RECEIVE_TAIL: usize = SEND_TAIL + 8;
const COLLECTIVE_TAIL: usize = SEND_TAIL + 16;
const ROOM_WANTED: usize = SEND_TAIL + 24;
/// Words that the NIC writes when it has taken an entry.
const SEND_HEAD: usize = 3 * LINE;
const RECEIVE_HEAD: usize = SEND_HEAD + 8;
const COLLECTIVE_HEAD: usize = SEND_HEAD + 16;
const UNEXPECTED: usize = SEND_HEAD + 24;
const HELD_BACK: usize = SEND_HEAD + 32;
const WHEREABOUTS: usize = 4 * LINE;
const SEND_RING: usize = 4096;

#[expect(clippy::cast_possible_truncation, reason = "small constants")]
const fn ring_bytes(entries: u64, words: usize) -> usize {
    entries as usize * words * 8
}

const RECEIVE_RING: usize = SEND_RING + ring_bytes(SEND_RING_ENTRIES, SendDescriptor::WORDS);
const COLLECTIVE_RING: usize =
    RECEIVE_RING + ring_bytes(RECEIVE_RING_ENTRIES, ReceiveDescriptor::WORDS);
const PAYLOAD: usize =
    COLLECTIVE_RING + ring_bytes(COLLECTIVE_RING_ENTRIES, CollectiveDescriptor::WORDS);

/// NIC memory of one rank, mapped by this process.
#[derive(Clone, Debug)]
pub struct NicMemory {
    mapping: Arc<Mapping>,
    payload_slot_bytes: usize,
    bell: MappedWord,
    update_lock: Option<MappedWord>,
}

impl NicMemory {
    /// Returns the bytes of NIC memory of a rank. Only used parts are ever touched.
    #[must_use]
    pub fn bytes(eager_limit: usize) -> usize {
        Self::claims(eager_limit) + REQUEST_SLOTS * 4
    }

    fn claims(eager_limit: usize) -> usize {
        Self::request_slots(eager_limit) + REQUEST_SLOTS * COMPLETION_WORDS * 8
    }

    fn request_slots(eager_limit: usize) -> usize {
        (PAYLOAD + PAYLOAD_SLOTS * payload_slot_bytes(eager_limit)).next_multiple_of(4096)
    }

    /// Makes NIC memory: the file descriptor goes to the rank.
    ///
    /// # Errors
    /// As [`MapError`] says.
    pub fn create(eager_limit: usize) -> Result<(OwnedFd, Self), MapError> {
        let fd = sealed_memfd("bcs-nic-memory", Self::bytes(eager_limit))?;
        let memory = Self::map(&fd, eager_limit)?;
        Ok((fd, memory))
    }

    /// Maps NIC memory made by [`create`](Self::create) with the same eager limit.
    ///
    /// # Errors
    /// As [`MapError`] says.
    pub fn map(fd: impl AsFd, eager_limit: usize) -> Result<Self, MapError> {
        let mapping = Mapping::shared(fd, Self::bytes(eager_limit))?;
        Ok(Self::over(mapping, eager_limit))
    }

    /// Makes NIC memory that only this process sees (simulator, tests).
    ///
    /// # Errors
    /// As [`MapError`] says.
    pub fn private(eager_limit: usize) -> Result<Self, MapError> {
        Ok(Self::over(
            Mapping::private(Self::bytes(eager_limit))?,
            eager_limit,
        ))
    }

    fn over(mapping: Mapping, eager_limit: usize) -> Self {
        let mapping = Arc::new(mapping);
        Self {
            bell: MappedWord::new(mapping.clone(), BELL),
            mapping,
            payload_slot_bytes: payload_slot_bytes(eager_limit),
            update_lock: None,
        }
    }

    /// Moves the rank's bell to other memory, where others of its node can ring it, too. Its NIC
    /// and the rank itself have to do the same.
    #[must_use]
    pub fn with_bell(self, bell: MappedWord) -> Self {
        Self { bell, ..self }
    }

    /// Names the lock of the rank's memory, which other ranks of its node share with its NIC.
    #[must_use]
    pub fn with_update_lock(self, word: MappedWord) -> Self {
        let update_lock = Some(word);
        Self {
            update_lock,
            ..self
        }
    }

    /// NIC side: reports a change of the rank's memory for which the rank may wait. The rank then
    /// looks again, when the caller has rung it.
    pub fn count_change(&self) {
        self.completions().fetch_add(1, Ordering::Release);
    }

    /// Returns the word of that lock; `None` if no other rank reaches the rank's memory.
    #[must_use]
    pub fn update_lock(&self) -> Option<&AtomicU32> {
        self.update_lock.as_ref().map(MappedWord::word)
    }

    /// Returns the storage for [`send_ring`](Self::send_ring) and the others.
    #[must_use]
    pub fn words(&self) -> MappedWords {
        MappedWords(self.mapping.clone())
    }

    /// Returns how many entries of a ring the NIC has taken.
    #[must_use]
    pub fn taken(&self, ring: RingLayout) -> u64 {
        let head = self.mapping.word64(ring.head_word * 8);
        head.load(Ordering::Acquire)
    }

    /// Returns the place of the send ring (rank → BS).
    #[must_use]
    pub fn send_ring() -> RingLayout {
        RingLayout {
            tail_word: SEND_TAIL / 8,
            head_word: SEND_HEAD / 8,
            first_entry_word: SEND_RING / 8,
            entry_words: SendDescriptor::WORDS,
            entries: SEND_RING_ENTRIES,
        }
    }

    /// Returns the place of the receive ring (rank → BR).
    #[must_use]
    pub fn receive_ring() -> RingLayout {
        RingLayout {
            tail_word: RECEIVE_TAIL / 8,
            head_word: RECEIVE_HEAD / 8,
            first_entry_word: RECEIVE_RING / 8,
            entry_words: ReceiveDescriptor::WORDS,
            entries: RECEIVE_RING_ENTRIES,
        }
    }

    /// Returns the place of the collective ring (rank → BS).
    #[must_use]
    pub fn collective_ring() -> RingLayout {
        RingLayout {
            tail_word: COLLECTIVE_TAIL / 8,
            head_word: COLLECTIVE_HEAD / 8,
            first_entry_word: COLLECTIVE_RING / 8,
            entry_words: CollectiveDescriptor::WORDS,
            entries: COLLECTIVE_RING_ENTRIES,
        }
    }

    /// Returns the positions up to which the rank claims to have published: send, receive,
    /// collective ring. Read together at a strobe, they are the rank's part of the cut.
    #[must_use]
    pub fn tails(&self) -> [u64; 3] {
        // ENTRY: see the ring. The cut is sent to the threads that take the entries.
        [SEND_TAIL, RECEIVE_TAIL, COLLECTIVE_TAIL]
            .map(|tail| self.mapping.word64(tail).load(Ordering::Acquire))
    }

    /// Returns the rank's bell: the rank sleeps on it, its NIC and others of its node ring it.
    #[must_use]
    pub fn bell(&self) -> &AtomicU32 {
        self.bell.word()
    }

    /// Returns the count of completions that the NIC has released to this rank. A waiting rank
    /// compares it with the last value that it saw before it polls its requests again.
    #[must_use]
    pub fn completions(&self) -> &AtomicU64 {
        self.mapping.word64(COMPLETIONS)
    }

    /// Returns the count of envelopes that BR holds for this rank and that no receive has matched.
    /// While it is zero, no message is there for a receive or probe of this rank, so it demands no
    /// slice (law 2). The count is one higher once a node has died, because then any receive may
    /// have to fail.
    #[must_use]
    pub fn unexpected(&self) -> &AtomicU64 {
        self.mapping.word64(UNEXPECTED)
    }

    /// Returns the count of sends of this rank that BS has taken from the ring but not delivered to
    /// a BR yet. Finalize waits for zero.
    #[must_use]
    pub fn undelivered_sends(&self) -> &AtomicU64 {
        self.mapping.word64(HELD_BACK)
    }

    /// Rank side: requests to be rung when the NIC has taken descriptors, or delivered sends that
    /// it held back. The caller then polls the ring positions and
    /// [`undelivered_sends`](Self::undelivered_sends) once more before it sleeps.
    pub fn request_space(&self) {
        let wanted = self.mapping.word64(ROOM_WANTED);
        if wanted.load(Ordering::Relaxed) == 0 {
            wanted.store(1, Ordering::Relaxed);
        }
        // ROOM: either the following poll sees what the NIC has taken, or the NIC sees the request.
        fence(Ordering::SeqCst);
    }

    /// NIC side, after it has published what it took: returns whether the rank has requested to be
    /// rung for that, and clears the request.
    #[must_use]
    pub fn take_space_request(&self) -> bool {
        fence(Ordering::SeqCst); // ROOM
        let wanted = self.mapping.word64(ROOM_WANTED);
        wanted.load(Ordering::Relaxed) != 0 && wanted.swap(0, Ordering::AcqRel) != 0
    }

    /// Returns the address, in this process, of an eager payload slot.
    #[must_use]
    pub fn payload_address(&self, slot: usize) -> u64 {
        self.mapping.address_of(self.payload(slot))
    }

    /// Copies bytes of an eager payload into its slot, from `offset` on.
    pub fn write_payload(&self, slot: usize, offset: usize, bytes: &[u8]) {
        assert!(
            offset <= self.payload_slot_bytes && bytes.len() <= self.payload_slot_bytes - offset,
            "a payload fits its slot"
        );
        self.mapping.write(self.payload(slot) + offset, bytes);
    }

    /// Copies part of a payload slot out. Returns false when the range lies outside the slot.
    #[must_use]
    pub fn read_payload(&self, slot: usize, offset: usize, bytes: &mut [u8]) -> bool {
        let inside = self.has_payload(slot, offset, bytes.len());
        if inside {
            self.mapping.read(self.payload(slot) + offset, bytes);
        }
        inside
    }

    /// Returns the address of bytes of a payload slot in this process, valid as long as the memory
    /// is mapped, or `None` if they lie outside the slot. The rank may write there meanwhile.
    #[must_use]
    pub fn payload_at(&self, slot: usize, offset: usize, len: usize) -> Option<NonNull<u8>> {
        let inside = self.has_payload(slot, offset, len);
        inside.then(|| self.mapping.at(self.payload(slot) + offset, len))
    }

    fn has_payload(&self, slot: usize, offset: usize, len: usize) -> bool {
        let end = offset.checked_add(len);
        slot < PAYLOAD_SLOTS && end.is_some_and(|end| end <= self.payload_slot_bytes)
    }

    fn payload(&self, slot: usize) -> usize {
        assert!(slot < PAYLOAD_SLOTS, "payload slot {slot} does not exist");
        PAYLOAD + slot * self.payload_slot_bytes
    }

    #[inline]
    fn slot(&self, request: RequestId) -> usize {
        let first = (PAYLOAD + PAYLOAD_SLOTS * self.payload_slot_bytes).next_multiple_of(4096);
        first + request.slot as usize * COMPLETION_WORDS * 8
    }

    /// NIC side: completes a request. The caller rings the rank's bell after a batch of these.
    /// Returns false when the slot does not exist: the rank posted invalid data.
    #[inline]
    pub fn complete(&self, request: RequestId, completion: &Completion) -> bool {
        if request.slot as usize >= REQUEST_SLOTS {
            return false;
        }
        let words = self.mapping.words64(self.slot(request), COMPLETION_WORDS);
        completion.encode(|index, word| words[index].store(word, Ordering::Relaxed));
        // COMPLETION: publishes the words above.
        words[0].store(Completion::first_word(request), Ordering::Release);
        true
    }

    fn forget_completion(&self, request: RequestId) {
        let first = self.mapping.word64(self.slot(request));
        first.store(0, Ordering::Relaxed);
    }

    /// Rank side: returns whether its NIC has completed a request.
    #[must_use]
    #[inline]
    pub fn is_complete(&self, request: RequestId) -> bool {
        let first = self.mapping.word64(self.slot(request));
        // COMPLETION: as below.
        Completion::is_for(first.load(Ordering::Acquire), request)
    }

    /// Rank side: returns the completion of a request, once its NIC has written it.
    #[must_use]
    #[inline]
    pub fn completion(&self, request: RequestId) -> Option<Completion> {
        let words = self.mapping.words64(self.slot(request), COMPLETION_WORDS);
        // COMPLETION: if the first word is that of the request, the other words of the slot are
        // visible.
        let first = words[0].load(Ordering::Acquire);
        Completion::is_for(first, request)
            .then(|| Completion::decode(|index| words[index].load(Ordering::Relaxed)))
    }
}

fn payload_slot_bytes(eager_limit: usize) -> usize {
    eager_limit.max(INLINE_BYTES).next_multiple_of(64)
}

const _: () = {
    assert!(HELD_BACK + 8 <= WHEREABOUTS);
    assert!(WHEREABOUTS + 16 + crate::wait_state::WAIT_STATE_WORDS * 8 <= SEND_RING);
    assert!(PAYLOAD.is_multiple_of(64));
};
