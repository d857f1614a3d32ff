//! NIC memory of one rank: what the rank and its NIC share.
//!
//! ```text
//! header   send ring   receive ring   collective ring   payload slots   request slots
//! └ one cache line per word that one side writes: bell, positions, summaries
//! ```
//!
//! One sealed memfd per rank. The rank writes descriptors, tail positions, payload and its bell's
//! ASLEEP; the NIC writes head positions, request slots and the summaries. Everything the rank
//! can write is an allegation to the NIC.

use super::mapping::{MapError, MappedWord, MappedWords, Mapping, sealed_memfd};
use crate::descriptor::{CollectiveDescriptor, ReceiveDescriptor, SendDescriptor};
use crate::limits::{
    COLLECTIVE_RING_ENTRIES, INLINE_BYTES, PAYLOAD_SLOTS, RECEIVE_RING_ENTRIES, REQUEST_SLOTS,
    SEND_RING_ENTRIES,
};
use crate::memory::ring::RingLayout;
use crate::request::{COMPLETION_WORDS, Completion, RequestId};
use crate::whereabouts::{self, Whereabouts};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};

const LINE: usize = 128; // two cache lines: adjacent-line prefetch counts as sharing
const BELL: usize = 0;
const COMPLETIONS: usize = LINE;
const UNEXPECTED: usize = 2 * LINE;
const SEND_TAIL: usize = 3 * LINE;
const SEND_HEAD: usize = 4 * LINE;
const RECEIVE_TAIL: usize = 5 * LINE;
const RECEIVE_HEAD: usize = 6 * LINE;
const COLLECTIVE_TAIL: usize = 7 * LINE;
const COLLECTIVE_HEAD: usize = 8 * LINE;
const HELD_BACK: usize = 9 * LINE;
const ROOM_WANTED: usize = 10 * LINE;
const WHEREABOUTS: usize = 11 * LINE;
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
}

impl NicMemory {
    /// Bytes of NIC memory of a rank. Only what is used is ever touched.
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

    /// NIC memory that only this process sees (simulator, tests).
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
        }
    }

    /// The same memory of a rank whose bell lies elsewhere, where others of its node can ring it, too.
    /// Its NIC and the rank itself have to do the same.
    #[must_use]
    pub fn with_bell(self, bell: MappedWord) -> Self {
        Self { bell, ..self }
    }

    /// The storage for [`send_ring`](Self::send_ring) and the others.
    #[must_use]
    pub fn words(&self) -> MappedWords {
        MappedWords(self.mapping.clone())
    }

    /// How much of one of its rings the NIC has taken.
    #[must_use]
    pub fn taken(&self, ring: RingLayout) -> u64 {
        let head = self.mapping.word64(ring.head_word * 8);
        head.load(Ordering::Acquire)
    }

    /// Where the send ring lies (rank → BS).
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

    /// Where the receive ring lies (rank → BR).
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

    /// Where the collective ring lies (rank → BS).
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

    /// The positions the rank alleges to have published: send, receive, collective ring. Taken
    /// together at a strobe they are the rank's part of the cut.
    #[must_use]
    pub fn tails(&self) -> [u64; 3] {
        // ENTRY: see the ring; the cut is sent to the threads that take the entries.
        [SEND_TAIL, RECEIVE_TAIL, COLLECTIVE_TAIL]
            .map(|tail| self.mapping.word64(tail).load(Ordering::Acquire))
    }

    /// The rank's bell: the rank sleeps on it, its NIC and others of its node ring it.
    #[must_use]
    pub fn bell(&self) -> &AtomicU32 {
        self.bell.word()
    }

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

    /// Completions the NIC has released to this rank so far: a rank that waits compares it with
    /// what it saw before it looks at its requests again.
    #[must_use]
    pub fn completions(&self) -> &AtomicU64 {
        self.mapping.word64(COMPLETIONS)
    }

    /// Envelopes that BR holds for this rank and that no receive has matched: while it is zero, a
    /// receive or probe of this rank is alone and asks for no slice (law 2). One more once a node
    /// has died: then any receive may have to fail.
    #[must_use]
    pub fn unexpected(&self) -> &AtomicU64 {
        self.mapping.word64(UNEXPECTED)
    }

    /// Sends of this rank that BS has taken from the ring but not delivered to a BR yet: Finalize
    /// waits for zero.
    #[must_use]
    pub fn held_back(&self) -> &AtomicU64 {
        self.mapping.word64(HELD_BACK)
    }

    /// Rank side: asks to be rung when the NIC has taken descriptors, or delivered what it held
    /// back. Whoever asks then looks at the ring positions and [`held_back`](Self::held_back) once
    /// more before it sleeps.
    pub fn want_room(&self) {
        let wanted = self.mapping.word64(ROOM_WANTED);
        if wanted.load(Ordering::Relaxed) == 0 {
            wanted.store(1, Ordering::Relaxed);
        }
        // ROOM: either the look that follows sees what the NIC has taken, or the NIC sees the wish.
        fence(Ordering::SeqCst);
    }

    /// NIC side, after it has published what it took: whether the rank is to be rung for that. The
    /// wish is spent.
    #[must_use]
    pub fn take_wish_for_room(&self) -> bool {
        fence(Ordering::SeqCst); // ROOM
        let wanted = self.mapping.word64(ROOM_WANTED);
        wanted.load(Ordering::Relaxed) != 0 && wanted.swap(0, Ordering::AcqRel) != 0
    }

    /// Rank side, one thread at a time: says where this rank is. Returns what
    /// [`went_on`](Self::went_on) takes.
    pub fn say_where(&self, whereabouts: &Whereabouts) -> u64 {
        let version = self.mapping.word64(WHEREABOUTS + 8);
        let next = version.load(Ordering::Relaxed).wrapping_add(1).max(1);
        version.store(next, Ordering::Relaxed);
        let said = self.mapping.word64(WHEREABOUTS);
        said.store(0, Ordering::Relaxed);
        fence(Ordering::Release); // WHERE: who sees a word of these sees that nothing is said.
        self.mapping
            .write_words(WHEREABOUTS + 16, &whereabouts.encode());
        said.store(next, Ordering::Release); // WHERE: publishes the words above.
        next
    }

    /// Rank side: this rank is no longer where it said, unless another thread has said something
    /// since.
    pub fn went_on(&self, said: u64) {
        let word = self.mapping.word64(WHEREABOUTS);
        let _newer = word.compare_exchange(said, 0, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// Manager side: where the rank says it is, with a number that no other such saying has;
    /// `None` if it says nothing, nothing sensible, or something new at this moment.
    #[must_use]
    pub fn whereabouts(&self) -> Option<(u64, Whereabouts)> {
        let said = self.mapping.word64(WHEREABOUTS);
        let number = said.load(Ordering::Acquire); // WHERE
        let mut words = [0; whereabouts::WORDS];
        for (index, word) in words.iter_mut().enumerate() {
            let at = self.mapping.word64(WHEREABOUTS + 16 + index * 8);
            *word = at.load(Ordering::Relaxed);
        }
        fence(Ordering::Acquire); // WHERE
        if number == 0 || said.load(Ordering::Relaxed) != number {
            return None;
        }
        Some((number, Whereabouts::decode(&words)?))
    }

    /// The address, in this process, of an eager payload slot.
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

    /// Copies part of a payload slot out; returns false when the range lies outside the slot.
    #[must_use]
    pub fn read_payload(&self, slot: usize, offset: usize, bytes: &mut [u8]) -> bool {
        let inside = slot < PAYLOAD_SLOTS
            && offset
                .checked_add(bytes.len())
                .is_some_and(|end| end <= self.payload_slot_bytes);
        if inside {
            self.mapping.read(self.payload(slot) + offset, bytes);
        }
        inside
    }

    fn payload(&self, slot: usize) -> usize {
        assert!(slot < PAYLOAD_SLOTS, "payload slot {slot} does not exist");
        PAYLOAD + slot * self.payload_slot_bytes
    }

    fn slot(&self, request: RequestId) -> usize {
        let first = (PAYLOAD + PAYLOAD_SLOTS * self.payload_slot_bytes).next_multiple_of(4096);
        first + request.slot as usize * COMPLETION_WORDS * 8
    }

    /// NIC side: completes a request. The caller rings the rank's bell after a batch of these.
    /// Returns false when the slot does not exist: the rank posted rubbish.
    pub fn complete(&self, request: RequestId, completion: &Completion) -> bool {
        if request.slot as usize >= REQUEST_SLOTS {
            return false;
        }
        let slot = self.slot(request);
        let words = completion.encode(request);
        self.mapping.write_words(slot + 8, &words[1..]);
        // COMPLETION: publishes the words above.
        self.mapping.word64(slot).store(words[0], Ordering::Release);
        true
    }

    /// Rank side: the completion of a request, once its NIC has written it.
    #[must_use]
    pub fn completion(&self, request: RequestId) -> Option<Completion> {
        let slot = self.slot(request);
        // COMPLETION: the other words of the slot are visible once the first one fits.
        let first = self.mapping.word64(slot).load(Ordering::Acquire);
        if !Completion::is_for(first, request) {
            return None;
        }
        let mut words = [0; COMPLETION_WORDS];
        words[0] = first;
        for (index, word) in words.iter_mut().enumerate().skip(1) {
            *word = self
                .mapping
                .word64(slot + index * 8)
                .load(Ordering::Relaxed);
        }
        Some(Completion::decode(&words))
    }
}

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

fn payload_slot_bytes(eager_limit: usize) -> usize {
    eager_limit.max(INLINE_BYTES).next_multiple_of(64)
}

const _: () = {
    assert!(ROOM_WANTED + LINE <= WHEREABOUTS);
    assert!(WHEREABOUTS + 16 + whereabouts::WORDS * 8 <= SEND_RING);
    assert!(PAYLOAD.is_multiple_of(64));
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_completion_is_seen_only_by_the_request_it_belongs_to() {
        let (fd, nic) = NicMemory::create(4096).unwrap();
        let rank = NicMemory::map(&fd, 4096).unwrap();
        let request = RequestId {
            slot: 7,
            generation: 3,
        };
        assert_eq!(rank.completion(request), None);
        let done = Completion {
            source: 1,
            tag: -5,
            len: 4,
            ..Completion::default()
        };
        assert!(nic.complete(request, &done));
        assert_eq!(rank.completion(request), Some(done));
        assert_eq!(
            rank.completion(RequestId {
                slot: 7,
                generation: 4
            }),
            None
        );
        let rubbish = RequestId {
            slot: u32::MAX,
            generation: 0,
        };
        assert!(!nic.complete(rubbish, &Completion::default()));
    }

    #[test]
    fn a_receive_is_claimed_once() {
        let (fd, nic) = NicMemory::create(4096).unwrap();
        let rank = NicMemory::map(&fd, 4096).unwrap();
        let mut request = RequestId {
            slot: 7,
            generation: 1 << 30,
        };
        for (first, second) in [(&rank, &nic), (&nic, &rank)] {
            request.generation += 1;
            assert!(!first.claim(request, Claimant::Nic), "it is not open");
            rank.open_claim(request);
            assert_eq!(nic.claimant(request), None);
            assert!(first.claim(request, Claimant::Rank));
            assert!(!second.claim(request, Claimant::Nic));
            assert_eq!(nic.claimant(request), Some(Claimant::Rank));
        }
    }

    #[test]
    fn whereabouts_are_those_said_last() {
        use crate::whereabouts::Wait;
        let (fd, manager) = NicMemory::create(4096).unwrap();
        let rank = NicMemory::map(&fd, 4096).unwrap();
        assert_eq!(manager.whereabouts(), None);
        let told = |wait| Whereabouts {
            wait,
            entered: vec![],
        };
        let first = rank.say_where(&told(Wait::Any));
        assert_eq!(manager.whereabouts(), Some((first, told(Wait::Any))));
        let second = rank.say_where(&told(Wait::Sends));
        rank.went_on(first);
        assert_eq!(manager.whereabouts(), Some((second, told(Wait::Sends))));
        rank.went_on(second);
        assert_eq!(manager.whereabouts(), None);
    }

    #[test]
    fn a_payload_outside_its_slot_is_refused() {
        let memory = NicMemory::private(100).unwrap();
        memory.write_payload(3, 0, &[9; 100]);
        let mut bytes = [0; 28];
        assert!(
            memory.read_payload(3, 100, &mut bytes),
            "slots are whole cache lines"
        );
        assert!(!memory.read_payload(3, 101, &mut bytes));
        assert!(!memory.read_payload(PAYLOAD_SLOTS, 0, &mut bytes));
        assert!(!memory.read_payload(0, usize::MAX, &mut bytes));
    }
}
