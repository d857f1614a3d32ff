//! Threads that allocate, and free blocks that others have allocated.

use crate::rank::{as_rank, in_slot};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::sync::mpsc;

const THREADS: u64 = 6;
const ROUNDS: usize = 20_000;

/// A block that is recognised by its pattern.
pub(crate) struct Block {
    bytes: Vec<u8>,
    seed: u8,
}

impl Block {
    pub(crate) fn new(len: usize, seed: u8) -> Self {
        let bytes: Vec<u8> = (0..len).map(|index| pattern(index, seed)).collect();
        assert!(len == 0 || in_slot(bytes.as_ptr()));
        Self { bytes, seed }
    }

    pub(crate) fn check(&self) {
        for (index, &byte) in self.bytes.iter().enumerate() {
            assert!(
                byte == pattern(index, self.seed),
                "byte {index} of {}",
                self.bytes.len()
            );
        }
    }

    fn resize(&mut self, len: usize) {
        let old = self.bytes.len();
        self.bytes.resize(len, 0);
        for index in old..len {
            self.bytes[index] = pattern(index, self.seed);
        }
    }
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "the low byte is what is wanted"
)]
fn pattern(index: usize, seed: u8) -> u8 {
    (index as u8).wrapping_mul(31) ^ (index >> 8) as u8 ^ seed
}

/// Most blocks are small, some are large, one in a thousand very large.
pub(crate) fn random_len(random: &mut impl Rng) -> usize {
    match random.random_range(0..1000) {
        0 => random.random_range(0..24 << 20),
        1..20 => random.random_range(0..256 << 10),
        20..200 => random.random_range(0..8 << 10),
        _ => random.random_range(0..256),
    }
}

fn work(seed: u64, out: &mpsc::Sender<Block>, inbox: &mpsc::Receiver<Block>) {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut held: Vec<Block> = Vec::new();
    for _ in 0..ROUNDS {
        match random.random_range(0..10) {
            0..4 => held.push(Block::new(random_len(&mut random), random.random())),
            4..6 if !held.is_empty() => {
                let index = random.random_range(0..held.len());
                let block = held.swap_remove(index);
                block.check();
                // Another thread frees half of them.
                if random.random() {
                    let _ = out.send(block);
                }
            }
            6 if !held.is_empty() => {
                let index = random.random_range(0..held.len());
                held[index].resize(random_len(&mut random));
            }
            7 => assert!(vec![0_u64; 1000].iter().all(|&word| word == 0)),
            _ => inbox.try_iter().for_each(|block| block.check()),
        }
        if held.len() > 200 {
            held.drain(..100).for_each(|block| block.check());
        }
    }
    held.iter().for_each(Block::check);
}

#[test]
fn threads_find_in_their_blocks_what_they_have_put_there() {
    as_rank(
        "threads::threads_find_in_their_blocks_what_they_have_put_there",
        || {
            let (senders, inboxes): (Vec<_>, Vec<_>) =
                (0..THREADS).map(|_| mpsc::channel()).unzip();
            let mut senders = senders;
            senders.rotate_left(1);
            let threads: Vec<_> = (1..)
                .zip(senders.into_iter().zip(inboxes))
                .map(|(seed, (out, inbox))| std::thread::spawn(move || work(seed, &out, &inbox)))
                .collect();
            for thread in threads {
                thread.join().unwrap();
            }
            assert!(slot_heap::high_water() > 0);
        },
    );
}

/// Turnstiles come in pages of 63, and are used again.
#[test]
fn hundreds_of_threads_come_and_go() {
    as_rank("threads::hundreds_of_threads_come_and_go", || {
        for _ in 0..4 {
            let barrier = std::sync::Barrier::new(150);
            std::thread::scope(|scope| {
                for seed in 0..150 {
                    let barrier = &barrier;
                    scope.spawn(move || {
                        let block = Block::new(1000, seed);
                        barrier.wait();
                        block.check();
                    });
                }
            });
        }
        assert!(slot_heap::high_water() < 32 << 30);
    });
}

#[test]
fn alignments_are_kept() {
    as_rank("threads::alignments_are_kept", || {
        for shift in 0..25 {
            for size in [1, 24, 100, 5000, 70_000, 1 << 20, 5 << 20, 40 << 20] {
                let alignment = 1 << shift;
                for block in [
                    slot_heap::heap::allocate_aligned(size, alignment),
                    slot_heap::heap::allocate_zeroed_aligned(size, alignment),
                ] {
                    assert!(!block.is_null(), "{size} at {alignment}");
                    assert_eq!(block as usize % alignment, 0, "{size} at {alignment}");
                    assert!(in_slot(block));
                    // SAFETY: the block was allocated above.
                    let usable = unsafe { slot_heap::heap::usable_size(block) };
                    assert!(usable >= size);
                    // SAFETY: as above, and this is its end.
                    unsafe { slot_heap::heap::free(block) };
                }
            }
        }
    });
}
