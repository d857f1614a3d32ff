//! What of the slot is in use: it goes into core dumps, and nothing else of the slot does, because a
//! dump fills the holes that it meets.
//!
//! mimalloc hands out memory in segments of 32 MiB and fills each from its start. So what is in use
//! is a mark for each segment, which rises in steps. An allocation looks whether it reaches beyond
//! the mark; that is all it costs. What a program has allocated and never touched counts as in use.
#![expect(unsafe_code, reason = "madvise")]

use bcs_core::memory::slot::SLOT_BYTES;
use rustix::mm::Advice;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

/// mimalloc's segments.
const SEGMENT_SHIFT: u32 = 25;
const SEGMENT_BYTES: usize = 1 << SEGMENT_SHIFT;
const SEGMENTS: usize = SLOT_BYTES >> SEGMENT_SHIFT;

/// Marks rise in steps of this: one system call for as much memory as takes the kernel 100 µs to
/// provide.
const STEP_BYTES: usize = 1 << 20;

/// How much of each segment is in use, from its start.
static MARKS: [AtomicU32; SEGMENTS] = [const { AtomicU32::new(0) }; SEGMENTS];

/// Where the slot begins. Without one, where no block can be.
static BASE: AtomicUsize = AtomicUsize::new(NOWHERE);
const NOWHERE: usize = usize::MAX / 2;
static HIGH_WATER: AtomicUsize = AtomicUsize::new(0);

/// From now on the heap lies in this slot. Threads that see that see the heap set up, too.
pub(crate) fn begin(base: usize) {
    BASE.store(base, Ordering::Release);
}

/// Whether the heap lies where a slot does: in it, or, after a fork, in a copy of it.
#[inline]
pub(crate) fn in_slot() -> bool {
    BASE.load(Ordering::Acquire) != NOWHERE
}

pub(crate) fn high_water() -> usize {
    HIGH_WATER.load(Ordering::Relaxed)
}

/// The offset of an address in the slot, if it lies there.
#[inline]
pub(crate) fn offset_of(block: *const u8) -> Option<usize> {
    let offset = (block as usize).wrapping_sub(BASE.load(Ordering::Relaxed));
    (offset < SLOT_BYTES).then_some(offset)
}

/// A block was handed out. Those outside the slot, and null, do not matter.
#[inline]
pub(crate) fn note(block: *const u8, size: usize) {
    if let Some(offset) = offset_of(block) {
        let within = offset & (SEGMENT_BYTES - 1);
        let mark = MARKS[offset >> SEGMENT_SHIFT].load(Ordering::Relaxed);
        if within + size > mark as usize {
            commit(offset, size);
        }
    }
}

/// Raises the marks of all segments that a block reaches into.
#[cold]
fn commit(offset: usize, size: usize) {
    let end = (offset + size).next_multiple_of(STEP_BYTES).min(SLOT_BYTES);
    HIGH_WATER.fetch_max(end, Ordering::Relaxed);
    let first = offset >> SEGMENT_SHIFT;
    let mut raised_from = None;
    let segments = &MARKS[first..end.div_ceil(SEGMENT_BYTES)];
    let starts = (first << SEGMENT_SHIFT..).step_by(SEGMENT_BYTES);
    for (start, segment) in starts.zip(segments) {
        let mark = u32::try_from((end - start).min(SEGMENT_BYTES)).expect("a segment is no longer");
        let old = segment.fetch_max(mark, Ordering::Relaxed);
        if old < mark {
            raised_from.get_or_insert(start + old as usize);
        }
    }
    if let Some(start) = raised_from {
        let base = BASE.load(Ordering::Relaxed);
        advise(base + start, end - start, Advice::LinuxDoDump);
    }
}

/// Says again, of a fresh mapping of the slot, what is to be dumped.
pub(crate) fn say_again() {
    let base = BASE.load(Ordering::Relaxed);
    advise(base, SLOT_BYTES, Advice::LinuxDontDump);
    let segments = high_water().div_ceil(SEGMENT_BYTES);
    for (segment, mark) in MARKS.iter().enumerate().take(segments) {
        let mark = mark.load(Ordering::Relaxed) as usize;
        if mark > 0 {
            advise(base + (segment << SEGMENT_SHIFT), mark, Advice::LinuxDoDump);
        }
    }
}

fn advise(start: usize, len: usize, advice: Advice) {
    // SAFETY: about dumps only, of pages of the slot. If it is refused, a dump is larger or smaller.
    let _ = unsafe { rustix::mm::madvise(start as *mut _, len, advice) };
}
