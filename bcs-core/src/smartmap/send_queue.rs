//! Send queues: by which the ranks of one node tell each other what they send (SMARTMAP; point-to-
//! point paper, 3.2.2).
//!
//! One queue for each ordered pair of ranks, with one writer and one reader, and no atomic
//! read-modify-write between them (3.2.6). An entry is one cache line, and bears a *stamp* that
//! says at which position of the queue it was written: the reader looks at the next line only, and
//! what it finds there is the whole of a short message. So a message costs the one line that has to
//! cross from core to core anyway.
//!
//! Longer payload that is to be copied at once lies beside the entries, in a region that is
//! written and given back in the same order. Stamps are kept apart from payload because a payload
//! can be any bytes, a stamp among them.
//!
//! ```text
//! sender                                   receiver
//! reserve ── payload ──► fill
//! publish ── entry, stamp last ──────────► peek: is the stamp that of my position?
//!                                          read the payload
//! room  ◄─────────────── head ──────────── take
//! ```
//!
//! The paper's queue aborts when it is full; here the sender keeps what does not fit, and the
//! receiver drains the queue whether or not it has a receive for what it finds (DESIGN 6).
//!
//! Both sides are ranks, so everything here is an allegation to either: an entry is copied out before
//! it is looked at, positions are checked, and a payload outside the region is none.
//!
//! Happens-before, named on both sides:
//! - **STAMP**: the sender's `Release` store of an entry's first word publishes its other words and
//!   its payload to the receiver's `Acquire` load of it.
//! - **TAKEN**: the receiver's `Release` store of `head` returns entries and their payload, after
//!   they were copied out, to the sender's `Acquire` load of it.

use super::prefetch;
use crate::memory::ring::Words;
use crate::sync::{AtomicU64, Ordering};

/// Words of an entry: a cache line.
pub const ENTRY_WORDS: usize = 8;

/// So many entries ahead lines are asked for. The next one is left alone: the other side may be
/// looking at it.
const AHEAD: u64 = 3;

/// Payload starts at multiples of a cache line.
const LINE: u64 = 64;

/// Memory with room for payload.
pub trait Payload {
    /// The words of an entry, of which this is the first.
    fn entry(&self, first: usize) -> &[AtomicU64; ENTRY_WORDS];
    /// Writes bytes at this offset.
    fn write(&self, offset: usize, bytes: &[u8]);
    /// Copies bytes from this offset.
    fn read(&self, offset: usize, bytes: &mut [u8]);
}

/// Where a queue lies.
#[derive(Clone, Copy, Debug)]
pub struct QueueLayout {
    /// The word that the receiver advances.
    pub head_word: usize,
    /// The first word of the first entry.
    pub first_entry_word: usize,
    /// Entries, a power of two.
    pub entries: u64,
    /// Offset of the region for payload, in bytes.
    pub payload: usize,
    /// Its length, a power of two.
    pub payload_bytes: u64,
}

impl QueueLayout {
    fn entry(&self, position: u64) -> usize {
        let slot = position & (self.entries - 1);
        self.first_entry_word + usize::try_from(slot).expect("a slot fits usize") * ENTRY_WORDS
    }

    /// The longest payload: an empty queue has room for it wherever it begins.
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
pub struct Entry {
    /// What shares the first word with the stamp.
    pub code: u32,
    /// The others.
    pub words: [u64; ENTRY_WORDS - 1],
}

/// The queue has no room: keep the message, and try again when the receiver has taken some.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueFull;

/// Room for an entry and its payload.
#[derive(Debug)]
#[must_use = "room is taken by publishing an entry"]
pub struct Room {
    /// What the entry says of where its payload is.
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
    /// Where the payload of each entry ends.
    ends: Box<[u64]>,
}

fn stamp(position: u64) -> u64 {
    // Positions that differ by less than 2^32 have different stamps, and fresh memory has none.
    position.wrapping_add(1) & u64::from(u32::MAX)
}

impl<W: Words + Payload> QueueSender<W> {
    /// The sender of an empty queue.
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

    /// Room for an entry with a payload of so many bytes, which may be none.
    ///
    /// # Errors
    /// When there is none.
    ///
    /// # Panics
    /// If the payload is longer than the [longest](QueueLayout::longest).
    #[inline]
    pub fn reserve(&mut self, len: usize) -> Result<Room, QueueFull> {
        assert!(len <= self.layout.longest(), "{len} bytes are too long");
        self.try_reserve(len)
            .or_else(|| {
                self.look_what_was_taken();
                self.try_reserve(len)
            })
            .ok_or(QueueFull)
    }

    fn try_reserve(&self, len: usize) -> Option<Room> {
        if self.tail - self.head_seen >= self.layout.entries {
            return None;
        }
        let size = self.layout.payload_bytes;
        let len = (len as u64).next_multiple_of(LINE);
        let left = size - (self.payload_tail & (size - 1));
        // It lies in one piece.
        let payload = self.payload_tail + if len <= left { 0 } else { left };
        let end = payload + len;
        (end - self.payload_head <= size).then_some(Room { payload, end })
    }

    /// Writes bytes of a payload, from `offset` on.
    #[inline]
    pub fn fill(&self, room: &Room, offset: usize, bytes: &[u8]) {
        let filled = (offset + bytes.len()) as u64;
        assert!(filled <= room.end - room.payload, "a payload has its room");
        let start = self.layout.payload_at(room.payload);
        self.words.write(start + offset, bytes);
    }

    /// Publishes an entry.
    #[inline]
    pub fn publish(&mut self, room: Room, entry: &Entry) {
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
        // TAKEN: what the receiver returned may be written again.
        let head = self
            .words
            .word(self.layout.head_word)
            .load(Ordering::Acquire);
        // Anybody may have scribbled over it.
        if head > self.head_seen && head <= self.tail {
            self.head_seen = head;
            self.payload_head = self.ends[self.slot(head - 1)];
        }
    }

    /// How many entries were published.
    pub fn published(&self) -> u64 {
        self.tail
    }

    /// How many entries the receiver has taken.
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

impl<W: Words + Payload> QueueReceiver<W> {
    /// The receiver of an empty queue.
    pub fn new(words: W, layout: QueueLayout) -> Self {
        Self {
            words,
            layout,
            head: 0,
        }
    }

    /// Whether there is an entry that has not been taken, as far as the queue itself tells: for a
    /// thread that has not got the receiver. What a rank scribbles over may make it wrong.
    pub fn is_filled(words: &W, layout: QueueLayout) -> bool {
        let head = words.word(layout.head_word).load(Ordering::Relaxed);
        let stamped = words.word(layout.entry(head)).load(Ordering::Relaxed);
        stamped & u64::from(u32::MAX) == stamp(head)
    }

    /// A copy of the next entry, which stays where it is.
    #[inline]
    pub fn peek(&self) -> Option<Entry> {
        let [first, others @ ..] = self.words.entry(self.layout.entry(self.head));
        // STAMP: the other words and the payload are visible if the stamp fits.
        let stamped = first.load(Ordering::Acquire);
        if stamped & u64::from(u32::MAX) != stamp(self.head) {
            return None;
        }
        Some(Entry {
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

    /// Takes the entry that was peeked at: it and its payload may be written again.
    #[inline]
    pub fn take(&mut self) {
        self.head += 1;
        // TAKEN: the entry and its payload were copied out.
        self.words
            .word(self.layout.head_word)
            .store(self.head, Ordering::Release);
    }

    /// The longest payload that an entry may have.
    pub fn longest(&self) -> usize {
        self.layout.longest()
    }

    /// How many entries were taken.
    pub fn taken(&self) -> u64 {
        self.head
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use std::sync::Arc;

    /// Words for entries, and cells for payload: loom sees if both sides are at one of them.
    pub(crate) struct Heap(pub(crate) Vec<AtomicU64>, Vec<Cell>);

    /// So many words and cells, all zero.
    pub(crate) fn heap(words: usize, cells: usize) -> Arc<Heap> {
        let words = (0..words).map(|_| AtomicU64::new(0)).collect();
        let cells = (0..cells).map(|_| Cell::default()).collect();
        Arc::new(Heap(words, cells))
    }

    impl Words for Arc<Heap> {
        fn word(&self, index: usize) -> &AtomicU64 {
            &self.0[index]
        }
    }

    impl Payload for Arc<Heap> {
        fn entry(&self, first: usize) -> &[AtomicU64; ENTRY_WORDS] {
            self.0[first..].first_chunk().expect("an entry is whole")
        }

        fn write(&self, offset: usize, bytes: &[u8]) {
            for (at, &byte) in (offset..).zip(bytes) {
                self.1[at].set(byte);
            }
        }

        fn read(&self, offset: usize, bytes: &mut [u8]) {
            for (at, byte) in (offset..).zip(bytes) {
                *byte = self.1[at].get();
            }
        }
    }

    #[cfg(not(loom))]
    #[derive(Default)]
    pub(crate) struct Cell(std::sync::atomic::AtomicU8);

    #[cfg(not(loom))]
    impl Cell {
        fn set(&self, byte: u8) {
            self.0.store(byte, Ordering::Relaxed);
        }

        fn get(&self) -> u8 {
            self.0.load(Ordering::Relaxed)
        }
    }

    #[cfg(loom)]
    #[derive(Default)]
    pub(crate) struct Cell(loom::cell::Cell<u8>);

    #[cfg(loom)]
    impl Cell {
        fn set(&self, byte: u8) {
            self.0.set(byte);
        }

        fn get(&self) -> u8 {
            self.0.get()
        }
    }

    #[cfg(loom)]
    #[expect(unsafe_code, reason = "cells that loom looks after")]
    // SAFETY: loom fails the test if two threads are at one of them.
    unsafe impl Sync for Cell {}

    pub(super) fn queue(entries: u64, payload_bytes: u64) -> (Arc<Heap>, QueueLayout) {
        let layout = QueueLayout {
            head_word: 0,
            first_entry_word: 1,
            entries,
            payload: 0,
            payload_bytes,
        };
        let words = 1 + ENTRY_WORDS * usize::try_from(entries).unwrap();
        let cells = usize::try_from(payload_bytes).unwrap();
        (heap(words, cells), layout)
    }

    pub(crate) fn send(
        sender: &mut QueueSender<Arc<Heap>>,
        number: u64,
        payload: &[u8],
    ) -> Result<(), QueueFull> {
        let room = sender.reserve(payload.len())?;
        sender.fill(&room, 0, payload);
        let mut entry = Entry {
            code: 7,
            words: [number; ENTRY_WORDS - 1],
        };
        entry.words[1] = room.payload;
        entry.words[2] = payload.len() as u64;
        sender.publish(room, &entry);
        Ok(())
    }

    pub(crate) fn receive(receiver: &mut QueueReceiver<Arc<Heap>>) -> Option<(u64, Vec<u8>)> {
        let entry = receiver.peek()?;
        assert_eq!(entry.code, 7);
        let mut payload = vec![0; usize::try_from(entry.words[2]).unwrap()];
        assert!(receiver.read(entry.words[1], 0, &mut payload));
        receiver.take();
        assert_eq!(entry.words[0], entry.words[6], "an entry is whole");
        Some((entry.words[0], payload))
    }

    #[cfg(not(loom))]
    mod oracle {
        use super::*;
        use proptest::prelude::*;
        use std::collections::VecDeque;

        proptest! {
            #[test]
            fn behaves_like_a_bounded_queue(
                steps in prop::collection::vec(prop::option::of(0_usize..=128), 0..400),
            ) {
                let (heap, layout) = queue(8, 256);
                let mut sender = QueueSender::new(heap.clone(), layout);
                let mut receiver = QueueReceiver::new(heap, layout);
                let mut oracle = VecDeque::new();
                for (number, step) in (0..).zip(steps) {
                    let Some(len) = step else {
                        prop_assert_eq!(receive(&mut receiver), oracle.pop_front());
                        continue;
                    };
                    let payload = vec![u8::try_from(number & 0xff).unwrap(); len];
                    match send(&mut sender, number, &payload) {
                        Ok(()) => oracle.push_back((number, payload)),
                        Err(QueueFull) => prop_assert!(!oracle.is_empty()),
                    }
                }
            }

            #[test]
            fn nothing_outside_the_region_is_read(payload: u64, offset: usize, len in 0_usize..400) {
                let (heap, layout) = queue(8, 256);
                let receiver = QueueReceiver::new(heap, layout);
                let start = usize::try_from(payload % 256).unwrap();
                let inside = offset.checked_add(start + len).is_some_and(|end| end <= 256);
                prop_assert_eq!(receiver.read(payload, offset, &mut vec![0; len]), inside);
            }

            #[test]
            fn rubbish_in_head_is_no_room(head: u64) {
                let (heap, layout) = queue(2, 256);
                let mut sender = QueueSender::new(heap.clone(), layout);
                send(&mut sender, 0, &[]).unwrap();
                send(&mut sender, 1, &[]).unwrap();
                heap.0[0].store(head, Ordering::Relaxed);
                prop_assert_eq!(send(&mut sender, 2, &[]).is_ok(), (1..=2).contains(&head));
            }
        }

        #[test]
        fn a_payload_that_looks_like_a_stamp_is_none() {
            let (heap, layout) = queue(2, 256);
            let mut sender = QueueSender::new(heap.clone(), layout);
            let mut receiver = QueueReceiver::new(heap, layout);
            for number in 0..10 {
                let stamps: Vec<u8> = (0..128).map(|byte| byte % 12).collect();
                send(&mut sender, number, &stamps).unwrap();
                assert_eq!(receive(&mut receiver), Some((number, stamps)));
                assert_eq!(receive(&mut receiver), None);
            }
        }
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use super::tests::{queue, receive, send};
    use super::*;

    /// Three messages through a queue of two, and payload through a region for one and a half: both
    /// STAMP and TAKEN are needed for them to arrive whole.
    #[test]
    fn messages_arrive_whole_and_in_order() {
        loom::model(|| {
            let (heap, layout) = queue(2, 128);
            let mut receiver = QueueReceiver::new(heap.clone(), layout);
            let sending = loom::thread::spawn(move || {
                let mut sender = QueueSender::new(heap, layout);
                for number in 1..=3 {
                    let payload = [u8::try_from(number).unwrap(); 2];
                    while send(&mut sender, number, &payload).is_err() {
                        loom::thread::yield_now();
                    }
                }
            });
            for number in 1..=3 {
                let message = loop {
                    if let Some(message) = receive(&mut receiver) {
                        break message;
                    }
                    loom::thread::yield_now();
                };
                let payload = vec![u8::try_from(number).unwrap(); 2];
                assert_eq!(message, (number, payload));
            }
            sending.join().unwrap();
        });
    }
}
