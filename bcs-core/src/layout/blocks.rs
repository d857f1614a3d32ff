//! Copies of blocks at equal distances.
#![expect(unsafe_code, reason = "data are named by address")]

use super::cursor::Strip;

/// Copies `count` blocks between places at equal distances. Copies of the usual lengths become
/// register moves, because the compiler knows the lengths.
///
/// # Safety
/// All of these blocks can be read and written at these distances, and they do not overlap.
pub unsafe fn copy_blocks(from: *const u8, to: *mut u8, distances: (isize, isize), strip: Strip) {
    let count = to_usize(strip.count);
    let copy = match strip.block {
        4 => each::<4>,
        8 => each::<8>,
        12 => each::<12>,
        16 => each::<16>,
        24 => each::<24>,
        32 => each::<32>,
        block => {
            // SAFETY: the caller's promise.
            return unsafe { each_of(to_usize(block), from, to, distances, count) };
        }
    };
    // SAFETY: the caller's promise.
    unsafe { copy(from, to, distances, count) };
}

/// # Safety
/// As for [`copy_blocks`].
unsafe fn each<const LEN: usize>(
    from: *const u8,
    to: *mut u8,
    distances: (isize, isize),
    count: usize,
) {
    // SAFETY: the caller's promise.
    unsafe { each_of(LEN, from, to, distances, count) }
}

/// # Safety
/// As for [`copy_blocks`].
#[inline(always)]
unsafe fn each_of(
    len: usize,
    mut from: *const u8,
    mut to: *mut u8,
    (from_distance, to_distance): (isize, isize),
    count: usize,
) {
    // Blocks for each turn of the loop: to count blocks and to advance costs as much as to copy
    // one.
    const TOGETHER: usize = 4;
    let mut copy = |times: usize| {
        for _ in 0..times {
            // SAFETY: the caller's promise.
            unsafe { std::ptr::copy_nonoverlapping(from, to, len) };
            // Behind the last block these addresses are invalid, and not used.
            from = from.wrapping_offset(from_distance);
            to = to.wrapping_offset(to_distance);
        }
    };
    for _ in 0..count / TOGETHER {
        copy(TOGETHER);
    }
    copy(count % TOGETHER);
}

fn to_usize(number: u64) -> usize {
    usize::try_from(number).expect("at most all bytes")
}
