//! The places of the blocks of a layout, found in one place for all loops that copy.

use bcs_core::layout::{BlockRun, DataLayout, Strip};
use std::ops::Range;

/// Elements of at most this many blocks are copied together, run by run.
const STRUCTURE_BLOCKS: u64 = 32;

/// The smallest and the largest number of elements that are copied together. Where one loop ends
/// and the next begins the processor mispredicts (structures of three in 128 at a time: a third
/// less time than in 32).
const LEAST_TILE: u64 = 32;
const MOST_TILE: u64 = 128;

/// Memory that a tile spans, unless that is fewer elements than the minimum: each run passes
/// through all of it.
const TILE_BYTES: u64 = 8 * 1024;

/// Where bytes of a message are in memory, from an offset of the message on.
pub(super) struct BlockSpan<'a> {
    pub(super) at: usize,
    pub(super) blocks: BlockPattern<'a>,
}

/// Blocks of one length.
pub(super) enum BlockPattern<'a> {
    /// At equal distances. In the message they are this far from each other.
    Strip(Strip, usize),
    /// At these places, counted from the first. In the message they follow each other.
    Irregular {
        from: i64,
        places: &'a [i32],
        block: usize,
    },
}

/// Reports where each block of a data view is, from byte `offset` of the message to `end`. Places
/// in the message count from `offset`.
///
/// Whole elements are processed run by run, without a [`Cursor`]. If elements have few blocks each
/// (structures, say), several are taken at a time: blocks of one length at equal distances are one
/// loop.
///
/// [`Cursor`]: bcs_core::layout::Cursor
pub(super) fn each_stretch(
    layout: &DataLayout,
    offset: usize,
    end: usize,
    mut tell: impl FnMut(BlockSpan<'_>),
) {
    let (size, extent) = (to_usize(layout.size()), layout.extent());
    let first = offset.next_multiple_of(size).min(end);
    let last = (end / size * size).max(first);
    if let Some(blocks) = layout.irregular_parts() {
        return each_place(layout, blocks, offset..end, &mut tell);
    }
    // The walk is best for a single block: it takes all elements at once.
    if layout.single_block().is_some() {
        return walk(layout, offset..end, offset, &mut tell);
    }
    in_an_element(layout, offset..first, offset, &mut tell);
    let tile = to_usize(tile(layout));
    let (mut element, elements) = (first / size, last / size);
    while element < elements {
        let count = (elements - element).min(tile);
        let place = extent.wrapping_mul((element as u64).cast_signed());
        let start = element * size - offset;
        for run in layout.runs() {
            let mut strip = strip_of(&run, place);
            let mut at = start + to_usize(run.start);
            let block = to_usize(run.block);
            if tile == 1 {
                tell(BlockSpan {
                    at,
                    blocks: BlockPattern::Strip(strip, block),
                });
                continue;
            }
            for _ in 0..run.count {
                strip.stride = extent;
                strip.count = count as u64;
                tell(BlockSpan {
                    at,
                    blocks: BlockPattern::Strip(strip, size),
                });
                strip.offset = strip.offset.wrapping_add(run.stride);
                at += block;
            }
        }
        element += count;
    }
    in_an_element(layout, last..end, offset, &mut tell);
}

/// Does [`each_stretch`] where the blocks are irregular.
fn each_place(
    layout: &DataLayout,
    (block, places): (u64, &[i32]),
    range: Range<usize>,
    tell: &mut impl FnMut(BlockSpan<'_>),
) {
    let (block, size) = (to_usize(block), to_usize(layout.size()));
    let (offset, end) = (range.start, range.end);
    let first = offset.next_multiple_of(block).min(end);
    let last = (end / block * block).max(first);
    walk(layout, offset..first, offset, tell);
    let mut at = first;
    while at < last {
        let (element, index) = (at / size, at % size / block);
        let count = ((last - at) / block).min(places.len() - index);
        let extent = layout.extent();
        tell(BlockSpan {
            at: at - offset,
            blocks: BlockPattern::Irregular {
                from: extent.wrapping_mul((element as u64).cast_signed()),
                places: &places[index..index + count],
                block,
            },
        });
        at += count * block;
    }
    walk(layout, last..end, offset, tell);
}

/// Does [`each_stretch`] for bytes of one element: all its whole runs without a cursor.
fn in_an_element(
    layout: &DataLayout,
    range: Range<usize>,
    offset: usize,
    tell: &mut impl FnMut(BlockSpan<'_>),
) {
    let size = to_usize(layout.size());
    let element = range.start / size;
    let base = element * size;
    let place = layout.extent();
    let place = place.wrapping_mul((element as u64).cast_signed());
    let mut runs = layout.runs_from((range.start - base) as u64).peekable();
    let first = runs.peek().map_or(size, |run| to_usize(run.start)) + base;
    let mut done = first.min(range.end);
    walk(layout, range.start..done, offset, tell);
    for run in runs {
        let (block, start) = (to_usize(run.block), base + to_usize(run.start));
        let end = start + block * to_usize(run.count);
        if end > range.end {
            break;
        }
        let strip = strip_of(&run, place);
        tell(BlockSpan {
            at: start - offset,
            blocks: BlockPattern::Strip(strip, block),
        });
        done = end;
    }
    walk(layout, done..range.end, offset, tell);
}

/// Does [`each_stretch`] from any byte to any other.
pub(super) fn walk(
    layout: &DataLayout,
    range: Range<usize>,
    offset: usize,
    tell: &mut impl FnMut(BlockSpan<'_>),
) {
    if range.is_empty() {
        return;
    }
    let mut at = range.start - offset;
    for strip in layout.pieces(range.start as u64, range.end as u64) {
        let distance = to_usize(strip.block);
        let bytes = distance * to_usize(strip.count);
        tell(BlockSpan {
            at,
            blocks: BlockPattern::Strip(strip, distance),
        });
        at += bytes;
    }
}

/// Returns the blocks of a run, of an element at this place.
fn strip_of(run: &BlockRun, place: i64) -> Strip {
    Strip {
        offset: place.wrapping_add(run.offset),
        block: run.block,
        stride: run.stride,
        count: run.count,
    }
}

/// Returns how many elements are processed together: one, unless they have few blocks.
fn tile(layout: &DataLayout) -> u64 {
    let blocks = layout.runs().try_fold(0, |sum: u64, run| {
        sum.checked_add(run.count)
            .filter(|&sum| sum <= STRUCTURE_BLOCKS)
    });
    let extent = layout.extent().unsigned_abs().max(1);
    blocks.map_or(1, |_| (TILE_BYTES / extent).clamp(LEAST_TILE, MOST_TILE))
}

pub(super) fn to_usize(number: u64) -> usize {
    usize::try_from(number).expect("at most all bytes")
}
