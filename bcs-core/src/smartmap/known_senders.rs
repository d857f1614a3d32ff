//! Known senders: bits by which a rank knows which send queues it has to poll.
//!
//! A node has a queue for each ordered pair of ranks, and most pairs never use theirs. A receiver
//! that polled all of them would touch a page for each. So each rank has a bit for each sender of
//! its node, and a sender *introduces* itself once, before it fills its first entry. A poll reads
//! one word for 64 ranks, and the queues of the ranks that have ever sent.
//!
//! Happens-before, named on both sides:
//! - **INTRODUCED**: a sender sets its bit, fills its entry, and only then passes the fence of the
//!   ring (edge WORK of [`bell`](crate::wake::bell)); a receiver announces its sleep, passes the
//!   fence of that (edge NAP), and only then reads the bits and polls the queues. So either it sees
//!   the bit and the entry, or the sender rings it. The bit itself publishes nothing: the stamps of
//!   a queue publish its entries.
//!
//! Any rank of the node can overwrite the bits. Then a receiver polls empty queues, or misses a
//! queue with entries, as if these had been overwritten.

use crate::memory::ring::Words;
use crate::sync::Ordering;

/// Places for which a word has a bit.
const PLACES: usize = u64::BITS as usize;

/// Returns the words that have a bit for each of `places` places.
#[must_use]
pub const fn words_for(places: usize) -> usize {
    places.div_ceil(PLACES)
}

/// Sender, before its first entry: makes the receiver poll its queue. The receiver's bits begin
/// with `first_word`.
pub fn mark_sender<W: Words>(words: &W, first_word: usize, from: usize) {
    let word = words.word(first_word + from / PLACES);
    word.fetch_or(1 << (from % PLACES), Ordering::Relaxed); // INTRODUCED
}

/// Receiver, on any thread: returns the first of the places `from..end` that has introduced itself.
#[inline]
pub fn next_sender<W: Words>(
    words: &W,
    first_word: usize,
    from: usize,
    end: usize,
) -> Option<usize> {
    let mut place = from;
    while place < end {
        let word = words.word(first_word + place / PLACES);
        let bits = word.load(Ordering::Relaxed) >> (place % PLACES); // INTRODUCED
        if bits != 0 {
            let found = place + bits.trailing_zeros() as usize;
            return (found < end).then_some(found);
        }
        place = (place / PLACES + 1) * PLACES;
    }
    None
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::smartmap::send_queue::tests::heap;
    use std::collections::BTreeSet;

    #[test]
    fn whoever_has_introduced_itself_is_found() {
        let places = 130;
        let heap = heap(1 + words_for(places), 0);
        let mut known = BTreeSet::new();
        for place in [64, 0, 129, 63, 63, 1, 128] {
            mark_sender(&heap, 1, place);
            known.insert(place);
            for (from, end) in [(0, places), (1, 129), (64, 64), (65, 128), (129, 130)] {
                let mut found = Vec::new();
                let mut at = from;
                while let Some(place) = next_sender(&heap, 1, at, end) {
                    found.push(place);
                    at = place + 1;
                }
                let expected: Vec<usize> = known.range(from..end).copied().collect();
                assert_eq!(found, expected, "{from}..{end}");
            }
        }
    }

    #[test]
    fn bits_of_ranks_that_there_are_not_are_nobody() {
        let heap = heap(2, 0);
        heap.0
            .iter()
            .for_each(|word| word.store(u64::MAX, Ordering::Relaxed));
        assert_eq!(next_sender(&heap, 0, 70, 70), None);
        assert_eq!(next_sender(&heap, 0, 69, 70), Some(69));
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use super::*;
    use crate::smartmap::send_queue::tests::{heap, receive, send};
    use crate::smartmap::send_queue::{ENTRY_WORDS, QueueLayout, QueueReceiver, QueueSender};
    use crate::sync::{AtomicU32, full_fence};
    use std::sync::Arc;

    /// Two new senders send their first message to a rank that is about to sleep. For each, either
    /// the rank sees the message, or the sender sees that it has to ring.
    #[test]
    fn a_first_message_is_seen_or_its_receiver_rung() {
        loom::model(|| {
            let queue_words = 1 + ENTRY_WORDS;
            let layout = move |from: usize| QueueLayout {
                head_word: 1 + from * queue_words,
                first_entry_word: 2 + from * queue_words,
                entries: 1,
                payload: 0,
                payload_bytes: 64,
            };
            let heap = heap(1 + 2 * queue_words, 64);
            let asleep = Arc::new(AtomicU32::new(0));
            let sending = [0, 1].map(|from| {
                let (heap, asleep) = (heap.clone(), asleep.clone());
                loom::thread::spawn(move || {
                    mark_sender(&heap, 0, from);
                    let mut sender = QueueSender::new(heap, layout(from));
                    send(&mut sender, from as u64, &[]).unwrap();
                    full_fence(); // of the ring
                    asleep.load(Ordering::Relaxed) == 1
                })
            });
            asleep.store(1, Ordering::Relaxed);
            full_fence(); // of the sleep
            let mut seen = [false; 2];
            let mut at = 0;
            while let Some(from) = next_sender(&heap, 0, at, 2) {
                at = from + 1;
                let mut receiver = QueueReceiver::new(heap.clone(), layout(from));
                if let Some((number, _)) = receive(&mut receiver) {
                    assert_eq!(number, from as u64);
                    seen[from] = true;
                }
            }
            for (seen, sending) in seen.into_iter().zip(sending) {
                let rings = sending.join().unwrap();
                assert!(seen || rings, "it sleeps beside a message");
            }
        });
    }
}
