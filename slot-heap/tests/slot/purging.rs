//! Freed memory goes back to the system.

use crate::rank::as_rank;
use crate::threads::Block;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::time::{Duration, Instant};

const MIB: i64 = 1 << 20;

/// Blocks of a thread.
const HELD: usize = 16;

/// Returns the bytes of the slot that take memory.
fn resident() -> i64 {
    let own = slot_heap::slot().unwrap().unwrap();
    rustix::fs::fstat(own.fd()).unwrap().st_blocks * 512
}

/// Takes and frees blocks of 1 KiB to 4 MiB, with the logarithm of the size uniformly distributed,
/// and holds [`HELD`] at a time. The next thread frees the rest.
fn come_and_go(seed: u64, rest: &mut Vec<Block>) {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    for turn in 0..100 {
        let longest = 2 << random.random_range(10..21);
        let len = random.random_range(1 << 10..=longest);
        let block = Block::new(len, turn);
        if rest.len() < HELD {
            rest.push(block);
        } else {
            let index = random.random_range(0..rest.len());
            let before = std::mem::replace(&mut rest[index], block);
            before.check();
        }
    }
}

/// Threads come and go, three at a time, and leave blocks behind that the next ones free.
fn churn(rounds: u64) {
    let mut rests: [Vec<Block>; 3] = std::array::from_fn(|_| Vec::new());
    for round in 0..rounds {
        std::thread::scope(|scope| {
            let seeds = 3 * round..;
            let threads: Vec<_> = seeds
                .zip(&mut rests)
                .map(|(seed, rest)| scope.spawn(move || come_and_go(seed, rest)))
                .collect();
            // The end of a scope does not wait until its threads have given up their heaps.
            for thread in threads {
                thread.join().unwrap();
            }
        });
        rests.rotate_left(1);
    }
}

/// Returns how many bytes may be resident when nothing is in use: what the test's own blocks need
/// at the start; for each segment (32 MiB) that was ever used its head and a page of small blocks,
/// 64 KiB each; and what a test takes meanwhile.
fn bound(at_start: i64) -> i64 {
    let segments = slot_heap::high_water().div_ceil(32 << 20);
    at_start + 2 * (64 << 10) * i64::try_from(segments).unwrap() + MIB
}

#[test]
fn what_threads_have_freed_is_given_back() {
    as_rank("purging::what_threads_have_freed_is_given_back", || {
        let at_start = resident();
        churn(40);
        let before = resident();
        assert!(slot_heap::heap::trim());
        let after = resident();
        println!("{before} bytes resident, {after} after trimming");
        assert!(after <= bound(at_start), "{before}, {after}");
    });
}

/// Without any request, a thread that continues to allocate gives back what it and ended threads
/// have freed.
#[test]
fn who_allocates_gives_back_what_is_free() {
    as_rank("purging::who_allocates_gives_back_what_is_free", || {
        let at_start = resident();
        churn(10);
        let blocks: Vec<_> = (0..64).map(|seed| Block::new(2 << 20, seed)).collect();
        drop(blocks);
        let peak = resident();
        assert!(peak > bound(at_start));
        let deadline = Instant::now() + Duration::from_secs(60);
        while resident() > bound(at_start) {
            assert!(Instant::now() < deadline, "{peak}, {}", resident());
            let blocks: Vec<_> = (0..200).map(|seed| Block::new(3000, seed)).collect();
            blocks.iter().for_each(Block::check);
        }
    });
}

/// Returns how many pages this thread has faulted on.
fn faults() -> i64 {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: it writes there.
    unsafe { libc::getrusage(libc::RUSAGE_THREAD, usage.as_mut_ptr()) };
    // SAFETY: zeroes are initialised, too.
    unsafe { usage.assume_init() }.ru_minflt
}

/// The pages of a block that is taken and freed again and again are given back once a second, and
/// not each time.
#[test]
fn a_block_that_is_taken_again_has_its_pages() {
    as_rank("purging::a_block_that_is_taken_again_has_its_pages", || {
        for size in [64 << 10, 200 << 10, 1 << 20, 3 << 20, 4 << 20] {
            let start = Instant::now();
            let before = faults();
            for _ in 0..200 {
                drop(std::hint::black_box(vec![1_u8; size]));
            }
            let faults = faults() - before;
            // At the start, at the thread's first purge, and once a second. Four blocks of 64 KiB
            // are in a page of mimalloc's.
            let times = 2 + i64::try_from(start.elapsed().as_secs()).unwrap();
            let pages = i64::try_from(size.max(512 << 10) / 4096).unwrap();
            assert!(faults <= times * pages + 64, "{faults} for {size}");
        }
    });
}
