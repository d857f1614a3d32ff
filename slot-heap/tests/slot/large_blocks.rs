//! Large blocks: their contents, and what becomes of their memory.

use crate::rank::as_rank;

/// Returns the bytes of the slot that take memory.
fn used() -> i64 {
    let own = slot_heap::slot().unwrap().unwrap();
    rustix::fs::fstat(own.fd()).unwrap().st_blocks * 512
}

const MIB: usize = 1 << 20;

#[test]
fn freed_blocks_give_their_memory_back() {
    as_rank("large_blocks::freed_blocks_give_their_memory_back", || {
        for len in [200 * MIB, 40 * MIB] {
            let before = used();
            let block = vec![1_u8; len];
            assert!(used() >= before + (len as i64));
            drop(block);
            assert!(used() < before + (4 * MIB as i64), "{}", used());
        }
        // Some smaller blocks are kept.
        for _ in 0..4 {
            let blocks: Vec<_> = (0..20).map(|_| vec![1_u8; 10 * MIB]).collect();
            drop(blocks);
            assert!(used() < (80 * MIB as i64), "{}", used());
        }
    });
}

#[test]
fn zeroed_blocks_are_zero_wherever_they_come_from() {
    as_rank(
        "large_blocks::zeroed_blocks_are_zero_wherever_they_come_from",
        || {
            for len in [4 * MIB, 4 * MIB + 1, 9 * MIB - 7, 17 * MIB, 33 * MIB + 4097] {
                for _ in 0..3 {
                    let mut block = vec![0_u8; len];
                    assert!(block.iter().all(|&byte| byte == 0), "{len}");
                    block.fill(0xa5);
                    drop(block);
                    let dirty = vec![0x5a_u8; len];
                    drop(dirty);
                }
            }
        },
    );
}

#[test]
fn blocks_keep_their_bytes_when_they_grow_and_shrink() {
    as_rank(
        "large_blocks::blocks_keep_their_bytes_when_they_grow_and_shrink",
        || {
            let mut words: Vec<u32> = Vec::new();
            for len in [
                1000_u32, 3_000_000, 900_000, 5_000_000, 10, 12_000_000, 1_200_000,
            ] {
                let old = words.len();
                words.resize(len as usize, 0);
                words.shrink_to_fit();
                for (index, word) in (0..).zip(&mut words).skip(old) {
                    *word = index;
                }
                let right = (0..).zip(&words).all(|(index, &word)| word == index);
                assert!(right, "{len}");
            }
        },
    );
}

#[test]
fn what_does_not_fit_the_slot_is_refused() {
    as_rank(
        "large_blocks::what_does_not_fit_the_slot_is_refused",
        || {
            assert!(slot_heap::heap::allocate(600 << 30).is_null());
            let mut block: Vec<u8> = Vec::new();
            assert!(block.try_reserve_exact(511 << 30).is_err() || block.capacity() > 0);
            assert!(block.try_reserve_exact(600 << 30).is_err());
            drop(vec![1_u8; 100]);
        },
    );
}

/// Returns the bytes of the slot that are mapped by huge pages.
fn huge_bytes() -> usize {
    let smaps = std::fs::read_to_string("/proc/self/smaps").unwrap();
    let lines = smaps.lines();
    let huge = lines.filter_map(|line| line.strip_prefix("ShmemPmdMapped:"));
    let kib = huge.filter_map(|rest| rest.trim().strip_suffix(" kB")?.parse::<usize>().ok());
    kib.sum::<usize>() * 1024
}

#[test]
fn large_blocks_get_huge_pages() {
    as_rank("large_blocks::large_blocks_get_huge_pages", || {
        let block = vec![1_u8; 32 * MIB];
        if huge_bytes() == 0 {
            println!("skipped: this kernel gives none to shared memory");
            return;
        }
        assert!(huge_bytes() >= 30 * MIB, "{}", huge_bytes());
        drop(block);
        assert!(huge_bytes() < 30 * MIB, "{}", huge_bytes());
    });
}
