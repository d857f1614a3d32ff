//! Records which parts of the slot are in use. Only these parts go into a core dump, because a dump
//! fills the holes that it meets.
//!
//! mimalloc hands out memory in segments of 32 MiB and fills each from its start. So one mark per
//! segment, which rises in steps, describes what is in use. An allocation only checks whether it
//! reaches beyond the mark. Memory that a program has allocated and never touched counts as in use.
#![expect(unsafe_code, reason = "madvise")]

use bcs_core::memory::slot::SLOT_BYTES;
use rustix::mm::Advice;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

/// mimalloc's segments.
const SEGMENT_SHIFT: u32 = 25;
const SEGMENT_BYTES: usize = 1 << SEGMENT_SHIFT;
const SEGMENTS: usize = SLOT_BYTES >> SEGMENT_SHIFT;

/// The step by which marks rise: one system call for an amount of memory that the kernel needs 100
/// µs to provide.
const STEP_BYTES: usize = 1 << 20;

/// The bytes in use of each segment, from its start.
static MARKS: [AtomicU32; SEGMENTS] = [const { AtomicU32::new(0) }; SEGMENTS];

/// Where the slot begins. Without a slot, an address at which no block can lie.
static BASE: AtomicUsize = AtomicUsize::new(NOWHERE);
const NOWHERE: usize = usize::MAX / 2;
static HIGH_WATER: AtomicUsize = AtomicUsize::new(0);

/// Notes that the heap lies in this slot from now on. Threads that see this also see the heap set
/// up.
pub(crate) fn begin(base: usize) {
    BASE.store(base, Ordering::Release);
}

/// Returns whether the heap lies where a slot does: in it, or, after a fork, in a copy of it.
#[inline]
pub(crate) fn in_slot() -> bool {
    BASE.load(Ordering::Acquire) != NOWHERE
}

pub(crate) fn high_water() -> usize {
    HIGH_WATER.load(Ordering::Relaxed)
}

/// Returns the offset of an address in the slot, if it lies there.
#[inline]
pub(crate) fn offset_of(block: *const u8) -> Option<usize> {
    let offset = (block as usize).wrapping_sub(BASE.load(Ordering::Relaxed));
    (offset < SLOT_BYTES).then_some(offset)
}

/// Notes that a block was handed out. Ignores null and blocks outside the slot.
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

/// Repeats the advice on what to dump, for a fresh mapping of the slot.
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
    // SAFETY: the advice affects only dumps of the slot's pages. If it is refused, a dump is larger
    // or smaller.
    let _ = unsafe { rustix::mm::madvise(start as *mut _, len, advice) };
}
