//! Single-producer single-consumer rings of fixed-size entries in shared memory.
//!
//! A rank produces descriptors, a NIC thread consumes them. The consumer does not trust the
//! producer's position: it keeps its own position in private memory, and checks that the producer's
//! is at most one ring ahead. Entries are atomic words. So if a rank overwrites an entry while the
//! consumer reads it, only the values change; the read stays defined.
//!
//! Happens-before, named on both sides:
//! - **ENTRY**: the producer's `Release` store of `tail` publishes the words of an entry to the
//!   consumer's `Acquire` load of `tail`.
//! - **SPACE**: the consumer's `Release` store of `head` returns an entry, after its words were
//!   copied out, to the producer's `Acquire` load of `head`.

use crate::prefetch;
use crate::sync::{AtomicU64, Ordering};

/// The number of entries ahead that are prefetched (by the consumer only if it knows that they are
/// published). While the lines come from the other side's core, this side works on the entries
/// before them.
const AHEAD: u64 = 2;

const LINE_WORDS: usize = 8;

/// Memory seen as 64-bit atomic words.
pub trait Words {
    /// Returns the word with this index.
    fn word(&self, index: usize) -> &AtomicU64;

    /// Returns `words` words, beginning with word `first`.
    fn words(&self, first: usize, words: usize) -> &[AtomicU64];
}

/// The place of a ring, in words.
#[derive(Clone, Copy, Debug)]
pub struct RingLayout {
    /// The word the producer advances.
    pub tail_word: usize,
    /// The word the consumer advances.
    pub head_word: usize,
    /// The first word of the first entry.
    pub first_entry_word: usize,
    /// Words of an entry.
    pub entry_words: usize,
    /// The number of entries, a power of two.
    pub entries: u64,
}

impl RingLayout {
    /// Returns the first word of the entry at a position.
    pub(super) fn entry(&self, position: u64) -> usize {
        let slot = position & (self.entries - 1);
        self.first_entry_word + usize::try_from(slot).expect("a slot fits usize") * self.entry_words
    }
}

/// The producing side.
#[derive(Debug)]
pub struct Producer<W> {
    words: W,
    layout: RingLayout,
    tail: u64,
    head_seen: u64,
}

/// The ring has no free entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RingFull;

impl<W: Words> Producer<W> {
    /// Returns the producer of an empty ring.
    pub fn new(words: W, layout: RingLayout) -> Self {
        Self {
            words,
            layout,
            tail: 0,
            head_seen: 0,
        }
    }

    /// Publishes one entry.
    ///
    /// # Errors
    /// [`RingFull`] when the consumer has not yet taken the entry that lies one ring behind.
    #[inline]
    pub fn push(&mut self, entry: &[u64]) -> Result<(), RingFull> {
        assert_eq!(
            entry.len(),
            self.layout.entry_words,
            "an entry has a fixed size"
        );
        if self.tail - self.head_seen >= self.layout.entries {
            self.consumed();
            if self.tail - self.head_seen >= self.layout.entries {
                return Err(RingFull);
            }
        }
        let first = self.layout.entry(self.tail);
        let to = self.words.words(first, entry.len());
        for (to, &word) in to.iter().zip(entry) {
            to.store(word, Ordering::Relaxed);
        }
        self.tail += 1;
        // ENTRY: publishes the words above.
        self.words
            .word(self.layout.tail_word)
            .store(self.tail, Ordering::Release);
        let ahead = self.layout.entry(self.tail + AHEAD);
        let ahead = self.words.words(ahead, entry.len());
        ahead
            .chunks(LINE_WORDS)
            .for_each(|line| prefetch::to_write(&line[0]));
        Ok(())
    }

    /// Returns how many entries the consumer has taken since the ring was made.
    pub fn consumed(&mut self) -> u64 {
        // SPACE: the entries that the consumer returned may be written again.
        let head = self
            .words
            .word(self.layout.head_word)
            .load(Ordering::Acquire);
        // The NIC is trusted, but a rank may have overwritten the word.
        if head <= self.tail && head >= self.head_seen {
            self.head_seen = head;
        }
        self.head_seen
    }

    /// Returns how many entries were pushed since the ring was made.
    pub fn pushed(&self) -> u64 {
        self.tail
    }
}

/// The consuming side.
#[derive(Debug)]
pub struct Consumer<W> {
    words: W,
    layout: RingLayout,
    head: u64,
}

/// The producer's position is impossible: the rank has overwritten it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("ring position {tail} cannot follow {head} in a ring of {entries} entries")]
pub struct RingCorrupt {
    /// The position found.
    pub tail: u64,
    /// The consumer's own position.
    pub head: u64,
    /// Entries of the ring.
    pub entries: u64,
}

impl<W: Words> Consumer<W> {
    /// Returns the consumer of an empty ring.
    pub fn new(words: W, layout: RingLayout) -> Self {
        Self {
            words,
            layout,
            head: 0,
        }
    }

    /// Returns the position up to which entries are published. Cuts consist of such positions.
    ///
    /// # Errors
    /// [`RingCorrupt`] when that position lies behind the consumer's own one, or more than a ring
    /// ahead of it.
    pub fn published(&self) -> Result<u64, RingCorrupt> {
        // ENTRY: the words of all entries before `tail` are visible from here on.
        let tail = self
            .words
            .word(self.layout.tail_word)
            .load(Ordering::Acquire);
        self.check(tail)?;
        Ok(tail)
    }

    /// Checks a position that another thread read from the ring's tail.
    ///
    /// # Errors
    /// As [`published`](Self::published).
    pub fn check(&self, tail: u64) -> Result<(), RingCorrupt> {
        if tail
            .checked_sub(self.head)
            .is_some_and(|ahead| ahead <= self.layout.entries)
        {
            return Ok(());
        }
        Err(RingCorrupt {
            tail,
            head: self.head,
            entries: self.layout.entries,
        })
    }

    /// Takes the next entry before position `cut`, copying it out.
    ///
    /// `cut` must have passed [`check`](Self::check), and must have been read from the tail with
    /// `Acquire`: here, or on a thread that then sent it here.
    #[inline]
    pub fn pop<const N: usize>(&mut self, cut: u64) -> Option<[u64; N]> {
        assert_eq!(N, self.layout.entry_words, "an entry has a fixed size");
        if self.head >= cut {
            return None;
        }
        let first = self.layout.entry(self.head);
        let from = self.words.words(first, N);
        let entry = std::array::from_fn(|offset| from[offset].load(Ordering::Relaxed));
        self.head += 1;
        if self.head + AHEAD < cut {
            let ahead = self.layout.entry(self.head + AHEAD);
            let ahead = self.words.words(ahead, N);
            ahead
                .chunks(LINE_WORDS)
                .for_each(|line| prefetch::to_read(&line[0]));
        }
        // SPACE: the entry was copied out, it may be written again.
        self.words
            .word(self.layout.head_word)
            .store(self.head, Ordering::Release);
        Some(entry)
    }

    /// Returns the consumer's own position.
    pub fn position(&self) -> u64 {
        self.head
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    pub(super) struct Heap(pub(super) Vec<AtomicU64>);

    impl Words for Arc<Heap> {
        fn word(&self, index: usize) -> &AtomicU64 {
            &self.0[index]
        }

        fn words(&self, first: usize, words: usize) -> &[AtomicU64] {
            &self.0[first..first + words]
        }
    }

    pub(super) fn ring(entries: u64, entry_words: usize) -> (Arc<Heap>, RingLayout) {
        let layout = RingLayout {
            tail_word: 0,
            head_word: 1,
            first_entry_word: 2,
            entry_words,
            entries,
        };
        let words = 2 + entry_words * usize::try_from(entries).unwrap();
        (
            Arc::new(Heap((0..words).map(|_| AtomicU64::new(0)).collect())),
            layout,
        )
    }

    #[cfg(not(loom))]
    mod oracle {
        use super::*;
        use proptest::prelude::*;
        use std::collections::VecDeque;

        proptest! {
            #[test]
            fn behaves_like_a_bounded_queue(steps in prop::collection::vec(any::<bool>(), 0..400)) {
                let (heap, layout) = ring(8, 2);
                let mut producer = Producer::new(heap.clone(), layout);
                let mut consumer = Consumer::new(heap, layout);
                let mut oracle = VecDeque::new();
                for (step, push) in (0u64..).zip(steps) {
                    if push {
                        let accepted = producer.push(&[step, !step]).is_ok();
                        prop_assert_eq!(accepted, oracle.len() < 8);
                        if accepted {
                            oracle.push_back([step, !step]);
                        }
                    } else {
                        let cut = consumer.published().unwrap();
                        prop_assert_eq!(consumer.pop::<2>(cut), oracle.pop_front());
                    }
                }
            }

            #[test]
            fn an_impossible_position_is_refused(tail: u64, taken in 0u64..8) {
                let (heap, layout) = ring(8, 1);
                let mut producer = Producer::new(heap.clone(), layout);
                let mut consumer = Consumer::new(heap.clone(), layout);
                for value in 0..taken {
                    producer.push(&[value]).unwrap();
                    let cut = consumer.published().unwrap();
                    consumer.pop::<1>(cut).unwrap();
                }
                heap.0[0].store(tail, Ordering::Relaxed);
                let possible = (taken..=taken + 8).contains(&tail);
                prop_assert_eq!(consumer.published().is_ok(), possible);
            }
        }

        #[test]
        fn what_is_posted_after_the_cut_stays() {
            let (heap, layout) = ring(8, 1);
            let mut producer = Producer::new(heap.clone(), layout);
            let mut consumer = Consumer::new(heap, layout);
            producer.push(&[1]).unwrap();
            let cut = consumer.published().unwrap();
            producer.push(&[2]).unwrap();
            assert_eq!(consumer.pop::<1>(cut), Some([1]));
            assert_eq!(consumer.pop::<1>(cut), None);
        }
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use super::tests::ring;
    use super::*;

    /// Two entries through a ring of one: both ENTRY and SPACE are needed for the words to
    /// arrive whole.
    #[test]
    fn entries_arrive_whole_and_in_order() {
        loom::model(|| {
            let (heap, layout) = ring(1, 2);
            let mut consumer = Consumer::new(heap.clone(), layout);
            let producer = loom::thread::spawn(move || {
                let mut producer = Producer::new(heap, layout);
                for value in 1..=2u64 {
                    while producer.push(&[value, value * 10]).is_err() {
                        loom::thread::yield_now();
                    }
                }
            });
            for value in 1..=2u64 {
                let entry = loop {
                    let cut = consumer.published().unwrap();
                    if let Some(entry) = consumer.pop::<2>(cut) {
                        break entry;
                    }
                    loom::thread::yield_now();
                };
                assert_eq!(entry, [value, value * 10]);
            }
            producer.join().unwrap();
        });
    }
}
