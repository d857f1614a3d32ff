//! Queues in the memory of a heap.

use super::*;
use std::sync::Arc;

/// Words for entries, and cells for payload: loom detects if both sides access the same one.
pub(crate) struct Heap(pub(crate) Vec<AtomicU64>, Vec<Cell>);

/// Returns zeroed words and cells.
pub(crate) fn heap(words: usize, cells: usize) -> Arc<Heap> {
    let words = (0..words).map(|_| AtomicU64::new(0)).collect();
    let cells = (0..cells).map(|_| Cell::default()).collect();
    Arc::new(Heap(words, cells))
}

impl Words for Arc<Heap> {
    fn word(&self, index: usize) -> &AtomicU64 {
        &self.0[index]
    }

    fn words(&self, first: usize, words: usize) -> &[AtomicU64] {
        &self.0[first..first + words]
    }
}

impl PayloadMemory for Arc<Heap> {
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
// SAFETY: loom fails the test if two threads access one of them.
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
    let mut entry = QueueEntry {
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

    /// A stamp has 32 bits of a position, and the positions of payload count bytes.
    #[test]
    fn entries_are_whole_and_in_order_when_stamps_come_round() {
        let (heap, layout) = queue(8, 512);
        let mut sender = QueueSender::new(heap.clone(), layout);
        let mut receiver = QueueReceiver::new(heap.clone(), layout);
        let first = (1_u64 << 32) - 20;
        (sender.tail, sender.head_seen, receiver.head) = (first, first, first);
        let payload = 0_u64.wrapping_sub(20 * LINE);
        (sender.payload_tail, sender.payload_head) = (payload, payload);
        heap.word(layout.head_word).store(first, Ordering::Relaxed);
        for position in first - 8..first {
            let word = heap.word(layout.entry(position));
            word.store(stamp(position), Ordering::Relaxed);
        }
        let mut next = 0;
        for number in 0..100 {
            while send(&mut sender, number, &[0xff; 3]).is_err() {
                assert!(QueueReceiver::is_filled(&heap, layout));
                assert_eq!(receive(&mut receiver), Some((next, vec![0xff; 3])));
                next += 1;
            }
            if number % 11 == 0 {
                while let Some((found, _)) = receive(&mut receiver) {
                    assert_eq!(found, next);
                    next += 1;
                }
                assert!(!QueueReceiver::is_filled(&heap, layout));
                assert_eq!(next, number + 1);
            }
        }
    }

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
