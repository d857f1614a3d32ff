//! Changes of a program to the pages of its heap, compared with what the kernel has mapped there.

use crate::rank::{as_rank, in_slot};
use libc::{
    MADV_DONTNEED, MADV_FREE, MAP_ANONYMOUS, MAP_FIXED, MAP_PRIVATE, MAP_SHARED, MREMAP_FIXED,
    MREMAP_MAYMOVE, PROT_NONE, PROT_READ, PROT_WRITE, c_int,
};
use rand::{Rng as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;
use slot_heap::remapping::{advise, map, protect, remap, unmap};
use std::alloc::{GlobalAlloc as _, Layout};
use std::ops::Range;

const PAGE: usize = 4096;
const PAGES: usize = 32;
const ALL: c_int = PROT_READ | PROT_WRITE;
const FRESH: c_int = MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS;
const SHARED: c_int = MAP_FIXED | MAP_SHARED | MAP_ANONYMOUS;

/// Returns which pages the kernel maps from the slot, for reading and writing.
fn of_slot(block: usize) -> Vec<bool> {
    let own = slot_heap::slot().unwrap().unwrap();
    let file = rustix::fs::fstat(own.fd()).unwrap().st_ino.to_string();
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let mut pages = vec![false; PAGES];
    for line in maps.lines() {
        let words: Vec<_> = line.split_whitespace().collect();
        let (start, end) = words[0].split_once('-').unwrap();
        let [start, end, offset] =
            [start, end, words[2]].map(|word| usize::from_str_radix(word, 16).unwrap());
        for (page, is_slots) in pages.iter_mut().enumerate() {
            if (start..end).contains(&(block + page * PAGE)) {
                let in_place = start.checked_sub(own.slot().base()) == Some(offset);
                *is_slots = words[1] == "rw-s" && words[4] == file && in_place;
            }
        }
    }
    pages
}

/// Returns whether others must access these pages through the kernel.
fn known_to_others(block: usize) -> Vec<bool> {
    let own = slot_heap::slot().unwrap().unwrap();
    let offset = block - own.slot().base();
    let touch = |page| own.remapped().overlaps(offset + page * PAGE + 1, 1);
    (0..PAGES).map(touch).collect()
}

/// Makes one of the changes that a program may make to some pages. It may fail.
fn act(random: &mut ChaCha8Rng, block: usize) -> String {
    let first = random.random_range(0..PAGES);
    let pages = random.random_range(1..=(PAGES - first).min(9));
    let (start, len) = (block + first * PAGE, pages * PAGE);
    let to = block + random.random_range(0..=PAGES - pages) * PAGE;
    let protection = [ALL, ALL, PROT_NONE, PROT_READ][random.random_range(0..4)];
    let kind = random.random_range(0..8);
    let answer = match kind {
        // SAFETY: pages of a block of the test's own, which it does not touch, here and below.
        0 => unsafe { map(start, len, protection, FRESH, -1, 0) },
        // SAFETY: as above.
        1 => unsafe { map(start, len, protection, SHARED, -1, 0) },
        // SAFETY: as above.
        2 => unsafe { unmap(start, len) },
        // SAFETY: as above.
        3 | 4 => unsafe { protect(start, len, protection, None) },
        // SAFETY: as above.
        5 => unsafe { remap(start, len, len, MREMAP_MAYMOVE | MREMAP_FIXED, to) },
        // SAFETY: as above.
        6 => unsafe { advise(start, len, MADV_DONTNEED) },
        // SAFETY: as above.
        _ => unsafe { advise(start, len, MADV_FREE) },
    };
    format!("{kind}: {first} {pages} {to:#x} {protection} {answer:?}")
}

#[test]
fn others_know_just_the_pages_that_are_no_longer_the_slots() {
    let test = "remapping::others_know_just_the_pages_that_are_no_longer_the_slots";
    as_rank(test, || {
        let layout = Layout::from_size_align(PAGES * PAGE, PAGE).unwrap();
        for seed in 0..60 {
            let mut random = ChaCha8Rng::seed_from_u64(seed);
            // SAFETY: a layout with a size.
            let block = unsafe { crate::HEAP.alloc(layout) };
            assert!(in_slot(block));
            let block = block as usize;
            for _ in 0..40 {
                let done = act(&mut random, block);
                let slots = of_slot(block);
                let known = known_to_others(block);
                let right = slots
                    .iter()
                    .zip(&known)
                    .all(|(slots, known)| slots != known);
                assert!(right, "{seed}: {done}\n{slots:?}\n{known:?}");
            }
            // SAFETY: a block of the heap.
            unsafe { crate::HEAP.dealloc(block as *mut u8, layout) };
            assert!(of_slot(block).iter().all(|&is_slots| is_slots));
            assert!(slot_heap::slot().unwrap().unwrap().remapped().is_empty());
        }
    });
}

fn fill(block: usize, pages: Range<usize>, value: u8) {
    let start = (block + pages.start * PAGE) as *mut u8;
    // SAFETY: pages of the test's own.
    unsafe { start.write_bytes(value, pages.len() * PAGE) };
}

fn byte(block: usize, page: usize) -> u8 {
    // SAFETY: as above.
    unsafe { ((block + page * PAGE + 7) as *const u8).read() }
}

#[test]
fn what_pages_hold_is_what_private_ones_would() {
    let test = "remapping::what_pages_hold_is_what_private_ones_would";
    as_rank(test, || {
        let layout = Layout::from_size_align(PAGES * PAGE, PAGE).unwrap();
        // SAFETY: a layout with a size.
        let block = unsafe { crate::HEAP.alloc(layout) } as usize;
        let at = |page: usize| block + page * PAGE;
        let moves = MREMAP_MAYMOVE | MREMAP_FIXED;
        fill(block, 0..PAGES, 1);
        // SAFETY: pages of a block of the test's own, here and below.
        unsafe { advise(at(1), PAGE, MADV_DONTNEED) }.unwrap();
        // SAFETY: as above.
        unsafe { map(at(3), PAGE, ALL, FRESH, -1, 0) }.unwrap();
        // SAFETY: as above.
        unsafe { map(at(5), PAGE, ALL, SHARED, -1, 0) }.unwrap();
        fill(block, 5..6, 5);
        // The moved pages are first a mapping of the program's, and then the slot's pages. SAFETY:
        // as above.
        unsafe { remap(at(5), PAGE, PAGE, moves, at(7)) }.unwrap();
        fill(block, 9..10, 9);
        // SAFETY: as above.
        unsafe { remap(at(9), PAGE, PAGE, moves, at(11)) }.unwrap();
        let found: Vec<_> = [0, 1, 2, 3, 4, 6, 7, 8, 10, 11, 12]
            .map(|page| byte(block, page))
            .into();
        assert_eq!(found, [1, 0, 1, 0, 1, 1, 5, 1, 1, 9, 1]);
        for gone in [5, 9] {
            assert!(!of_slot(block)[gone] && known_to_others(block)[gone]);
        }
        for (from, len, new_len, flags, to) in [
            (at(12), PAGE, 2 * PAGE, 0, 0),
            (at(12), 0, PAGE, MREMAP_MAYMOVE, 0),
            (at(12), 2 * PAGE, 2 * PAGE, moves, at(13)),
            (at(12), PAGE, PAGE, MREMAP_FIXED, at(20)),
            (at(12) + 1, PAGE, PAGE, moves, at(20)),
            (at(12), PAGE, PAGE, moves, at(20) + 1),
            (at(10), 3 * PAGE, 3 * PAGE, moves | 64, at(20)),
        ] {
            // SAFETY: as above; it is refused.
            let answer = unsafe { remap(from, len, new_len, flags, to) };
            assert!(answer.is_err(), "{from:#x} {len} {new_len} {flags} {to:#x}");
        }
        assert_eq!([12, 13, 20].map(|page| byte(block, page)), [1, 1, 1]);
        // SAFETY: as above.
        unsafe { remap(at(14), 4 * PAGE, 2 * PAGE, 0, 0) }.unwrap();
        let known = known_to_others(block);
        assert_eq!(known[14..18], [false, false, true, true]);
        let endless = usize::MAX - block;
        // SAFETY: it is refused, here and below.
        assert!(unsafe { protect(block, endless, PROT_NONE, None) }.is_err());
        // SAFETY: as above.
        assert!(unsafe { advise(block, endless, MADV_DONTNEED) }.is_err());
        // SAFETY: as above.
        assert!(unsafe { unmap(block, endless) }.is_err());
        assert_eq!(known_to_others(block), known);
        // SAFETY: a block of the heap.
        unsafe { crate::HEAP.dealloc(block as *mut u8, layout) };
    });
}
