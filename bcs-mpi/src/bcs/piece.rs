//! Memory of a rank as messages name it, and the bytes in it.

use super::buffer;
use bcs_core::layout::{Layout, Location, Strip};
use std::ops::Range;
use std::sync::Arc;

/// Memory for a message: bytes side by side, or as a layout says. Whoever has posted it holds the
/// layout until the NIC is done with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Where it is; with a layout, what its offsets are counted from.
    pub address: u64,
    /// How many bytes of a message it holds.
    pub len: usize,
    /// Where they are, if not side by side.
    pub layout: Option<Arc<Layout>>,
}

impl Piece {
    /// No memory.
    pub const EMPTY: Self = Self::new(0, 0);

    /// Bytes side by side.
    #[must_use]
    pub const fn new(address: u64, len: usize) -> Self {
        Self {
            address,
            len,
            layout: None,
        }
    }

    /// As descriptors name it.
    pub(crate) fn location(&self) -> Location {
        match &self.layout {
            None => Location::at(self.address),
            Some(layout) => layout.location(self.address),
        }
    }
}

/// Blocks of one length, each of bytes side by side, at equal distances.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// Where the first one is.
    pub address: u64,
    /// From the start of one to that of the next.
    pub distance: i64,
    /// The length of each.
    pub len: usize,
}

impl Row {
    pub(crate) fn address_of(&self, block: usize) -> u64 {
        let distance = self.distance.wrapping_mul((block as u64).cast_signed());
        self.address.wrapping_add_signed(distance)
    }

    pub(crate) fn piece(&self, block: usize) -> Piece {
        match self.len {
            0 => Piece::EMPTY,
            len => Piece::new(self.address_of(block), len),
        }
    }
}

/// A piece for each member of a communicator.
#[derive(Clone, Debug)]
pub enum Pieces {
    /// The blocks of a row, in the order of the members: what needs no list.
    Row(Row),
    /// Any.
    Each(Vec<Piece>),
}

impl Pieces {
    /// Nothing for anybody.
    pub const NONE: Self = Self::Row(Row {
        address: 0,
        distance: 0,
        len: 0,
    });

    /// That of the member at a place.
    #[must_use]
    pub fn of(&self, place: usize) -> Piece {
        match self {
            Self::Row(row) => row.piece(place),
            Self::Each(pieces) => pieces[place].clone(),
        }
    }

    /// Its length.
    pub(crate) fn len_of(&self, place: usize) -> usize {
        match self {
            Self::Row(row) => row.len,
            Self::Each(pieces) => pieces[place].len,
        }
    }

    /// Those that need a list. (Blocks of a buffer in a row lie side by side.)
    pub(crate) fn list(&self) -> &[Piece] {
        match self {
            Self::Row(_) => &[],
            Self::Each(pieces) => pieces,
        }
    }
}

/// Bytes that are copied at a time between two pieces that both have a layout.
const BOUNCE_BYTES: usize = 16 * 1024;

/// Elements of at most so many blocks are copied together, run by run.
const STRUCTURE_BLOCKS: u64 = 32;

/// How many of them at least, and at most: where one loop ends and the next begins the processor guesses wrongly
/// (structures of three in 128 at a time: a third less time than in 32).
const LEAST_TILE: u64 = 32;
const MOST_TILE: u64 = 128;

/// Memory that they span, unless it is fewer elements than that: all of it is gone through once for each run.
const TILE_BYTES: u64 = 8 * 1024;

/// Where bytes of a message are in memory, from a place of the message on.
struct Stretch<'a> {
    at: usize,
    blocks: Blocks<'a>,
}

/// Blocks of one length.
enum Blocks<'a> {
    /// At equal distances; in the message they are this far from each other.
    Strip(Strip, usize),
    /// At these places, counted from the first; in the message they follow each other.
    Irregular {
        from: i64,
        places: &'a [i32],
        block: usize,
    },
}

/// Says of each block of a piece where it is, from byte `offset` of the message to `end`; places in
/// the message count from `offset`.
///
/// What is of whole elements is gone through run by run, without a [`Cursor`]. Elements of few blocks
/// each (structures, say) are taken some at a time: blocks of one length at equal distances are one
/// loop.
///
/// [`Cursor`]: bcs_core::layout::Cursor
fn each_stretch(layout: &Layout, offset: usize, end: usize, mut tell: impl FnMut(Stretch<'_>)) {
    let (size, extent) = (to_usize(layout.size()), layout.extent());
    let first = offset.next_multiple_of(size).min(end);
    let last = (end / size * size).max(first);
    if let Some(blocks) = layout.irregular_parts() {
        return each_place(layout, blocks, offset..end, &mut tell);
    }
    // A single block is best gone through by the walk, which takes all elements at once.
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
            let mut strip = Strip {
                offset: place.wrapping_add(run.offset),
                block: run.block,
                stride: run.stride,
                count: run.count,
            };
            let mut at = start + to_usize(run.start);
            let block = to_usize(run.block);
            if tile == 1 {
                tell(Stretch {
                    at,
                    blocks: Blocks::Strip(strip, block),
                });
                continue;
            }
            for _ in 0..run.count {
                strip.stride = extent;
                strip.count = count as u64;
                tell(Stretch {
                    at,
                    blocks: Blocks::Strip(strip, size),
                });
                strip.offset = strip.offset.wrapping_add(run.stride);
                at += block;
            }
        }
        element += count;
    }
    in_an_element(layout, last..end, offset, &mut tell);
}

/// [`each_stretch`] where the blocks are irregular.
fn each_place(
    layout: &Layout,
    (block, places): (u64, &[i32]),
    range: Range<usize>,
    tell: &mut impl FnMut(Stretch<'_>),
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
        tell(Stretch {
            at: at - offset,
            blocks: Blocks::Irregular {
                from: extent.wrapping_mul((element as u64).cast_signed()),
                places: &places[index..index + count],
                block,
            },
        });
        at += count * block;
    }
    walk(layout, last..end, offset, tell);
}

/// [`each_stretch`] of bytes of one element: all its whole runs without a cursor.
fn in_an_element(
    layout: &Layout,
    range: Range<usize>,
    offset: usize,
    tell: &mut impl FnMut(Stretch<'_>),
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
        let strip = Strip {
            offset: place.wrapping_add(run.offset),
            block: run.block,
            stride: run.stride,
            count: run.count,
        };
        tell(Stretch {
            at: start - offset,
            blocks: Blocks::Strip(strip, block),
        });
        done = end;
    }
    walk(layout, done..range.end, offset, tell);
}

/// [`each_stretch`] from any byte to any other.
fn walk(layout: &Layout, range: Range<usize>, offset: usize, tell: &mut impl FnMut(Stretch<'_>)) {
    if range.is_empty() {
        return;
    }
    let mut at = range.start - offset;
    for strip in layout.pieces(range.start as u64, range.end as u64) {
        let distance = to_usize(strip.block);
        let bytes = distance * to_usize(strip.count);
        tell(Stretch {
            at,
            blocks: Blocks::Strip(strip, distance),
        });
        at += bytes;
    }
}

/// How many elements are gone through together: one, unless they have few blocks.
fn tile(layout: &Layout) -> u64 {
    let blocks = layout.runs().try_fold(0, |sum: u64, run| {
        sum.checked_add(run.count)
            .filter(|&sum| sum <= STRUCTURE_BLOCKS)
    });
    let extent = layout.extent().unsigned_abs().max(1);
    blocks.map_or(1, |_| (TILE_BYTES / extent).clamp(LEAST_TILE, MOST_TILE))
}

/// Copies the bytes of a piece from `offset` on, as they are in a message.
///
/// # Safety
/// They are initialised and nobody writes them.
///
/// # Panics
/// If the piece does not have as many.
#[expect(unsafe_code, reason = "data are named by address")]
pub(crate) unsafe fn gather(from: &Piece, offset: usize, into: &mut [u8]) {
    assert!(offset <= from.len && into.len() <= from.len - offset);
    let Some(layout) = &from.layout else {
        let address = from.address.wrapping_add(offset as u64);
        // SAFETY: the caller's promise.
        into.copy_from_slice(unsafe { buffer::bytes(address, into.len()) });
        return;
    };
    each_stretch(
        layout,
        offset,
        offset + into.len(),
        |Stretch { at, blocks }| match blocks {
            Blocks::Strip(strip, distance) => {
                // SAFETY: the caller's promise, for each block of the layout.
                unsafe { buffer::gather(from.address, strip, distance, &mut into[at..]) };
            }
            Blocks::Irregular {
                from: element,
                places,
                block,
            } => {
                let base = from.address.wrapping_add_signed(element);
                // SAFETY: as above.
                unsafe { buffer::gather_places(base, places, block, &mut into[at..]) };
            }
        },
    );
}

/// Fills a piece from `offset` on with bytes of a message. What lies between them stays untouched.
///
/// # Safety
/// The piece may be written, nobody else uses it, and `bytes` are not in it.
///
/// # Panics
/// If the piece does not have as many.
#[expect(unsafe_code, reason = "data are named by address")]
pub(crate) unsafe fn scatter(into: &Piece, offset: usize, bytes: &[u8]) {
    // SAFETY: the caller's promise.
    unsafe { scatter_from(into, offset, bytes) };
}

/// The same with bytes that need not be this process's to borrow: another rank's, in a slot. To copy them
/// first, even in parts that stay in a cache, takes half as long again (measured).
///
/// # Safety
/// As for [`scatter`], and the bytes are there.
///
/// # Panics
/// If the piece does not have as many.
#[expect(unsafe_code, reason = "data are named by address")]
pub(crate) unsafe fn scatter_from(into: &Piece, offset: usize, bytes: *const [u8]) {
    assert!(offset <= into.len && bytes.len() <= into.len - offset);
    let Some(layout) = &into.layout else {
        // SAFETY: the caller's promise.
        unsafe { buffer::fill(into.address.wrapping_add(offset as u64), bytes) };
        return;
    };
    each_stretch(
        layout,
        offset,
        offset + bytes.len(),
        |Stretch { at, blocks }| match blocks {
            Blocks::Strip(strip, distance) => {
                // SAFETY: the caller's promise, for each block of the layout.
                unsafe { buffer::scatter(into.address, strip, distance, (bytes, at)) };
            }
            Blocks::Irregular {
                from: element,
                places,
                block,
            } => {
                let base = into.address.wrapping_add_signed(element);
                // SAFETY: as above.
                unsafe { buffer::scatter_places(base, places, block, (bytes, at)) };
            }
        },
    );
}

/// Copies a part of a message between two places where it lies in the same pieces.
///
/// # Safety
/// The pieces are there, at both; those at `to` may be written, and nobody else uses them. They do not overlap.
#[expect(unsafe_code, reason = "data are named by address")]
pub(crate) unsafe fn copy_alike(layout: &Layout, from: u64, to: u64, part: Range<usize>) {
    each_stretch(
        layout,
        part.start,
        part.end,
        |Stretch { blocks, .. }| match blocks {
            // SAFETY: the caller's promise, for each block of the layout.
            Blocks::Strip(strip, _) => unsafe { buffer::copy_strip(from, to, strip) },
            Blocks::Irregular {
                from: element,
                places,
                block,
            } => {
                let [from, to] = [from, to].map(|base| base.wrapping_add_signed(element));
                // SAFETY: as above.
                unsafe { buffer::copy_places(from, to, places, block) };
            }
        },
    );
}

/// Copies one piece to the start of another. Pieces without a layout may overlap.
///
/// # Safety
/// What is read is initialised, what is written may be, and nobody else uses either.
///
/// # Panics
/// If the other has fewer bytes.
#[expect(unsafe_code, reason = "data are named by address")]
pub(crate) unsafe fn copy(from: &Piece, to: &Piece) {
    assert!(from.len <= to.len);
    if from.layout.is_none() && to.layout.is_none() {
        // SAFETY: the caller's promise.
        unsafe { buffer::copy(from.address, to.address, from.len) };
        return;
    }
    let mut bounce = [0; BOUNCE_BYTES];
    let mut offset = 0;
    while offset < from.len {
        let bytes = &mut bounce[..(from.len - offset).min(BOUNCE_BYTES)];
        // SAFETY: the caller's promise.
        unsafe { gather(from, offset, bytes) };
        // SAFETY: the caller's promise.
        unsafe { scatter(to, offset, bytes) };
        offset += bytes.len();
    }
}

fn to_usize(number: u64) -> usize {
    usize::try_from(number).expect("at most all bytes")
}

#[cfg(test)]
mod tests {
    use super::*;
    use bcs_core::layout::Builder;
    use proptest::prelude::*;

    /// Where each byte of a message is, by whoever tells of the stretches.
    fn places(len: usize, tell: impl FnOnce(&mut dyn FnMut(Stretch<'_>))) -> Vec<Option<i64>> {
        let mut found = vec![None; len];
        tell(&mut |stretch: Stretch<'_>| {
            let (places, block, distance): (Vec<i64>, _, _) = match stretch.blocks {
                Blocks::Strip(strip, distance) => {
                    (strip.offsets().collect(), to_usize(strip.block), distance)
                }
                Blocks::Irregular {
                    from,
                    places,
                    block,
                } => {
                    let places = places
                        .iter()
                        .map(|&place| from.wrapping_add(i64::from(place)));
                    (places.collect(), block, block)
                }
            };
            for (nth, place) in places.into_iter().enumerate() {
                for byte in 0..block {
                    let at = stretch.at + nth * distance + byte;
                    let before = found[at].replace(place + (byte as u64).cast_signed());
                    assert_eq!(before, None, "byte {at} is told of twice");
                }
            }
        });
        found
    }

    /// What copies alike is what gathers and scatters.
    #[expect(unsafe_code, reason = "data are named by address")]
    fn copied_alike(layout: &Arc<Layout>, len: usize, [from, to]: [usize; 2]) {
        let (low, bytes) = layout.span(len as u64).unwrap();
        let data: Vec<u8> = (0..bytes).map(|at| (at % 251) as u8).collect();
        let mut found = vec![255u8; data.len()];
        let mut wanted = found.clone();
        let base = |bytes: *const u8| (bytes.expose_provenance() as u64).wrapping_add_signed(-low);
        let piece = |bytes: *const u8| Piece {
            address: base(bytes),
            len,
            layout: Some(layout.clone()),
        };
        let mut packed = vec![0; to - from];
        // SAFETY: both have all bytes of the span, and nobody else uses them.
        unsafe { gather(&piece(data.as_ptr()), from, &mut packed) };
        let into = piece(wanted.as_mut_ptr());
        // SAFETY: as above.
        unsafe { scatter(&into, from, &packed) };
        let into = base(found.as_mut_ptr());
        // SAFETY: as above.
        unsafe { copy_alike(layout, base(data.as_ptr()), into, from..to) };
        assert!(found == wanted, "{from}..{to} of {layout:?}");
    }

    proptest! {
        /// The same of many blocks of one length at any places.
        #[test]
        fn irregular_stretches_are_the_walk(
            offsets in prop::collection::vec(-400i64..4_000, 40..120),
            block in 4u64..20, extent in -900i64..9_000, elements in 1usize..9, cut: [u16; 2],
        ) {
            let mut builder = Builder::default();
            for offset in &offsets {
                builder.push(offset * 20, block).unwrap();
            }
            let layout = Arc::new(builder.finish(extent));
            prop_assert!(layout.irregular_parts().is_some());
            let bytes = to_usize(layout.size()) * elements;
            let mut ends = cut.map(|at| usize::from(at) * 7 % (bytes + 1));
            ends.sort_unstable();
            for [from, to] in [ends, [0, bytes]] {
                let found = places(to - from, |tell| each_stretch(&layout, from, to, tell));
                let walked = places(to - from, |mut tell| walk(&layout, from..to, from, &mut tell));
                prop_assert!(found == walked, "{from}..{to} of {layout:?}");
                prop_assert!(found.iter().all(Option::is_some));
                copied_alike(&layout, bytes, [from, to]);
            }
        }

        /// Gone through run by run or walked, the bytes are at the same places.
        #[test]
        fn stretches_are_the_walk(
            blocks in prop::collection::vec((-40i64..200, 1u64..9), 1..12),
            repeated in 1u64..40, extent in -900i64..900, elements in 1usize..90, cut: [u16; 2],
        ) {
            let mut builder = Builder::default();
            for (offset, len) in blocks {
                builder.push(offset, len).unwrap();
            }
            let layout = Arc::new(builder.repeat(repeated, 500).unwrap().finish(extent));
            let bytes = to_usize(layout.size()) * elements;
            let mut ends = cut.map(|at| usize::from(at) * 7 % (bytes + 1));
            ends.sort_unstable();
            for [from, to] in [ends, [0, bytes]] {
                let found = places(to - from, |tell| each_stretch(&layout, from, to, tell));
                let walked = places(to - from, |mut tell| walk(&layout, from..to, from, &mut tell));
                prop_assert!(found == walked, "{from}..{to} of {layout:?}");
                prop_assert!(found.iter().all(Option::is_some));
                copied_alike(&layout, bytes, [from, to]);
            }
        }
    }
}
