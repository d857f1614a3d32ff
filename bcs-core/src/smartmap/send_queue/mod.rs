//! Send queues: the ranks of one node announce their sends to each other here (SMARTMAP;
//! point-to-point paper, 3.2.2).
//!
//! Each ordered pair of ranks has a queue, with one writer and one reader, and no atomic
//! read-modify-write between them (3.2.6). An entry is one cache line with a *stamp*, which holds
//! the position of the queue at which it was written. The reader polls the next line only, and
//! finds the whole of a short message there. So a message costs only the one line that has to cross
//! from core to core anyway.
//!
//! A longer payload that is copied at once lies beside the entries, in a region that is written and
//! returned in the same order. Stamps are apart from payload because the bytes of a payload can
//! look like a stamp.
//!
//! ```text
//! sender                                   receiver
//! reserve ── payload ──► fill
//! publish ── entry, stamp last ──────────► peek: is the stamp that of my position?
//!                                          read the payload
//! room  ◄─────────────── head ──────────── take
//! ```
//!
//! The paper's queue aborts when it is full. Here the sender keeps messages that do not fit, and
//! the receiver drains the queue whether or not it has matching receives.
//!
//! Both sides are ranks and do not trust each other: a reader copies an entry out before it checks
//! it, checks positions, and ignores a payload outside the region.
//!
//! Happens-before, named on both sides:
//! - **STAMP**: the sender's `Release` store of an entry's first word publishes its other words and
//!   its payload to the receiver's `Acquire` load of it.
//! - **TAKEN**: the receiver's `Release` store of `head` returns entries and their payload, after
//!   they were copied out, to the sender's `Acquire` load of it.

#[cfg(all(test, loom))]
mod loom_tests;
#[cfg(test)]
pub(crate) mod tests;

use crate::memory::ring::Words;
use crate::prefetch;
use crate::sync::{AtomicU64, Ordering};

/// Words of an entry: a cache line.
pub const ENTRY_WORDS: usize = 8;

/// The number of entries ahead that are prefetched. The next entry is left alone, because the other
/// side may be reading it.
const AHEAD: u64 = 2;

/// Payload starts at multiples of a cache line.
const LINE: u64 = 64;

/// Memory with room for payload.
pub trait PayloadMemory {
    /// Returns the words of an entry, of which this is the first.
    fn entry(&self, first: usize) -> &[AtomicU64; ENTRY_WORDS];
    /// Writes bytes at this offset.
    fn write(&self, offset: usize, bytes: &[u8]);
    /// Copies bytes from this offset.
    fn read(&self, offset: usize, bytes: &mut [u8]);
}

/// The places of a queue's parts.
#[derive(Clone, Copy, Debug)]
pub struct QueueLayout {
    /// The word that the receiver advances.
    pub head_word: usize,
    /// The first word of the first entry.
    pub first_entry_word: usize,
    /// The number of entries, a power of two.
    pub entries: u64,
    /// Offset of the region for payload, in bytes.
    pub payload: usize,
    /// Its length, a power of two.
    pub payload_bytes: u64,
}

impl QueueLayout {
    #[inline]
    fn entry(&self, position: u64) -> usize {
        let slot = position & (self.entries - 1);
        self.first_entry_word + usize::try_from(slot).expect("a slot fits usize") * ENTRY_WORDS
    }

    /// Returns the longest payload: an empty queue has room for it wherever it begins.
    #[must_use]
    pub fn longest(&self) -> usize {
        usize::try_from(self.payload_bytes / 2).expect("regions are small")
    }

    fn payload_at(&self, position: u64) -> usize {
        let offset = position & (self.payload_bytes - 1);
        self.payload + usize::try_from(offset).expect("regions are small")
    }
}

/// An entry without its stamp.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueEntry {
    /// The code that shares the first word with the stamp.
    pub code: u32,
    /// The other words.
    pub words: [u64; ENTRY_WORDS - 1],
}

impl QueueEntry {
    fn copy([first, others @ ..]: &[AtomicU64; ENTRY_WORDS]) -> Self {
        let stamped = first.load(Ordering::Relaxed);
        Self {
            code: u32::try_from(stamped >> 32).expect("half a word"),
            words: std::array::from_fn(|index| others[index].load(Ordering::Relaxed)),
        }
    }
}

/// The queue has no room. The sender keeps the message, and tries again when the receiver has taken
/// some.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueFull;

/// Room for an entry and its payload.
#[derive(Debug)]
#[must_use = "room is taken by publishing an entry"]
pub struct QueueReservation {
    /// The position of the payload, as the entry records it.
    pub payload: u64,
    end: u64,
}

/// The sending side.
#[derive(Debug)]
pub struct QueueSender<W> {
    words: W,
    layout: QueueLayout,
    tail: u64,
    head_seen: u64,
    payload_tail: u64,
    payload_head: u64,
    /// The end of each entry's payload.
    ends: Box<[u64]>,
}

fn stamp(position: u64) -> u64 {
    // Positions that differ by less than 2^32 have different stamps, and fresh memory has none.
    position.wrapping_add(1) & u64::from(u32::MAX)
}

impl<W: Words + PayloadMemory> QueueSender<W> {
    /// Returns the sender of an empty queue.
    pub fn new(words: W, layout: QueueLayout) -> Self {
        let entries = usize::try_from(layout.entries).expect("queues are small");
        Self {
            words,
            layout,
            tail: 0,
            head_seen: 0,
            payload_tail: 0,
            payload_head: 0,
            ends: vec![0; entries].into_boxed_slice(),
        }
    }

    fn slot(&self, position: u64) -> usize {
        usize::try_from(position & (self.layout.entries - 1)).expect("a slot fits usize")
    }

    /// Reserves room for an entry with a payload of `len` bytes, which may be 0.
    ///
    /// # Errors
    /// When the queue has no room.
    ///
    /// # Panics
    /// If the payload is longer than the [longest](QueueLayout::longest).
    #[inline]
    pub fn reserve(&mut self, len: usize) -> Result<QueueReservation, QueueFull> {
        assert!(len <= self.layout.longest(), "{len} bytes are too long");
        self.try_reserve(len)
            .or_else(|| {
                self.look_what_was_taken();
                self.try_reserve(len)
            })
            .ok_or(QueueFull)
    }

    fn try_reserve(&self, len: usize) -> Option<QueueReservation> {
        if self.tail - self.head_seen >= self.layout.entries {
            return None;
        }
        let size = self.layout.payload_bytes;
        let len = (len as u64).next_multiple_of(LINE);
        let left = size - (self.payload_tail & (size - 1));
        // The payload lies in one piece. Positions count bytes, and wrap after 2^64 of them.
        let skipped = if len <= left { 0 } else { left };
        let payload = self.payload_tail.wrapping_add(skipped);
        let end = payload.wrapping_add(len);
        (end.wrapping_sub(self.payload_head) <= size).then_some(QueueReservation { payload, end })
    }

    /// Writes bytes of a payload, from `offset` on.
    #[inline]
    pub fn fill(&self, room: &QueueReservation, offset: usize, bytes: &[u8]) {
        let filled = (offset + bytes.len()) as u64;
        assert!(
            filled <= room.end.wrapping_sub(room.payload),
            "a payload has its room"
        );
        let start = self.layout.payload_at(room.payload);
        self.words.write(start + offset, bytes);
    }

    /// Publishes an entry.
    #[inline]
    pub fn publish(&mut self, room: QueueReservation, entry: &QueueEntry) {
        let [first, others @ ..] = self.words.entry(self.layout.entry(self.tail));
        for (to, &word) in others.iter().zip(&entry.words) {
            to.store(word, Ordering::Relaxed);
        }
        let stamped = stamp(self.tail) | u64::from(entry.code) << 32;
        // STAMP: publishes the words above, and the payload.
        first.store(stamped, Ordering::Release);
        let slot = self.slot(self.tail);
        self.ends[slot] = room.end;
        self.payload_tail = room.end;
        self.tail += 1;
        prefetch::to_write(self.words.entry(self.layout.entry(self.tail + AHEAD)));
    }

    fn look_what_was_taken(&mut self) {
        // TAKEN: the parts that the receiver returned may be written again.
        let head = self
            .words
            .word(self.layout.head_word)
            .load(Ordering::Acquire);
        // Another rank may have overwritten it.
        if head > self.head_seen && head <= self.tail {
            self.head_seen = head;
            self.payload_head = self.ends[self.slot(head - 1)];
        }
    }

    /// Returns copies of the entries that the receiver has not taken, each with its position.
    pub fn untaken(&mut self) -> impl Iterator<Item = (u64, QueueEntry)> {
        self.look_what_was_taken();
        (self.head_seen..self.tail).map(|position| {
            let words = self.words.entry(self.layout.entry(position));
            (position, QueueEntry::copy(words))
        })
    }

    /// Returns how many entries were published.
    pub fn published(&self) -> u64 {
        self.tail
    }

    /// Returns how many entries the receiver has taken.
    pub fn taken(&mut self) -> u64 {
        self.look_what_was_taken();
        self.head_seen
    }
}

/// The receiving side.
#[derive(Debug)]
pub struct QueueReceiver<W> {
    words: W,
    layout: QueueLayout,
    head: u64,
}

impl<W: Words + PayloadMemory> QueueReceiver<W> {
    /// Returns the receiver of an empty queue.
    pub fn new(words: W, layout: QueueLayout) -> Self {
        Self {
            words,
            layout,
            head: 0,
        }
    }

    /// Returns whether there is an entry that is not taken yet, as far as the queue itself shows:
    /// for a thread that does not have the receiver. A rank that overwrites the queue can make it
    /// wrong.
    #[inline]
    pub fn is_filled(words: &W, layout: QueueLayout) -> bool {
        let head = words.word(layout.head_word).load(Ordering::Relaxed);
        let stamped = words.word(layout.entry(head)).load(Ordering::Relaxed);
        stamped & u64::from(u32::MAX) == stamp(head)
    }

    /// Returns a copy of the next entry, which stays in place.
    #[inline(always)]
    pub fn peek(&self) -> Option<QueueEntry> {
        let [first, others @ ..] = self.words.entry(self.layout.entry(self.head));
        // STAMP: the other words and the payload are visible if the stamp fits.
        let stamped = first.load(Ordering::Acquire);
        if stamped & u64::from(u32::MAX) != stamp(self.head) {
            return None;
        }
        Some(QueueEntry {
            code: u32::try_from(stamped >> 32).expect("half a word"),
            words: std::array::from_fn(|index| others[index].load(Ordering::Relaxed)),
        })
    }

    /// Copies bytes of the payload that an entry has at `payload`, from `offset` on. Returns false
    /// if they do not lie in the region.
    #[must_use]
    #[inline]
    pub fn read(&self, payload: u64, offset: usize, bytes: &mut [u8]) -> bool {
        let start = self.layout.payload_at(payload) - self.layout.payload;
        let size = usize::try_from(self.layout.payload_bytes).expect("regions are small");
        let end = start
            .checked_add(offset)
            .and_then(|at| at.checked_add(bytes.len()));
        if end.is_none_or(|end| end > size) {
            return false;
        }
        self.words.read(self.layout.payload + start + offset, bytes);
        true
    }

    /// Takes the entry that was peeked at. The sender may then overwrite it and its payload.
    #[inline]
    pub fn take(&mut self) {
        self.head += 1;
        // TAKEN: the entry and its payload were copied out.
        self.words
            .word(self.layout.head_word)
            .store(self.head, Ordering::Release);
    }

    /// Returns the longest payload that an entry may have.
    pub fn longest(&self) -> usize {
        self.layout.longest()
    }

    /// Returns how many entries were taken.
    pub fn taken(&self) -> u64 {
        self.head
    }

    /// Returns the same as far as the queue itself shows: for a caller that does not have the
    /// receiver. A rank that overwrites the queue can make it wrong.
    pub fn taken_of(words: &W, layout: QueueLayout) -> u64 {
        // TAKEN: only the position matters.
        words.word(layout.head_word).load(Ordering::Acquire)
    }
}
