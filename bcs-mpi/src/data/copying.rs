//! Copies of messages out of data views, into them, and between them.
#![expect(unsafe_code, reason = "data are named by address")]

use super::block_spans::{BlockPattern, BlockSpan, each_stretch};
use super::bytes as buffer;
use super::data_view::DataView;
use super::words::{self, InlineWords};
use bcs_core::layout::DataLayout;
use std::ops::Range;

/// Bytes that are copied at a time between two data views that both have a layout.
const BOUNCE_BYTES: usize = 16 * 1024;

/// Copies the bytes of a data view from `offset` on, as they are in a message.
///
/// # Panics
/// If the data view does not have as many.
pub(crate) fn gather(from: &DataView, offset: usize, into: &mut [u8]) {
    assert!(offset <= from.len() && into.len() <= from.len() - offset);
    let Some(layout) = from.layout() else {
        let address = from.address().wrapping_add(offset as u64);
        // SAFETY: the promise of a data view. `into` is borrowed, so it does not overlap.
        unsafe { buffer::take(address, into) };
        return;
    };
    each_stretch(
        layout,
        offset,
        offset + into.len(),
        |BlockSpan { at, blocks }| match blocks {
            BlockPattern::Strip(strip, distance) => {
                // SAFETY: the promise of a data view, for each block of its layout.
                unsafe { buffer::gather(from.address(), strip, distance, &mut into[at..]) };
            }
            BlockPattern::Irregular {
                from: element,
                places,
                block,
            } => {
                let base = from.address().wrapping_add_signed(element);
                // SAFETY: as above.
                unsafe { buffer::gather_places(base, places, block, &mut into[at..]) };
            }
        },
    );
}

/// Returns all bytes of a short data view as words.
///
/// # Panics
/// If the data view has more bytes.
#[inline(always)]
pub(crate) fn gather_words(from: &DataView) -> InlineWords {
    assert!(from.len() <= size_of::<InlineWords>());
    if let Some(plain) = from.plain() {
        // SAFETY: the promise of a data view.
        return unsafe { words::take(plain.address(), plain.len()) };
    }
    let mut bytes = [[0; 8]; size_of::<InlineWords>() / 8];
    gather(from, 0, &mut bytes.as_flattened_mut()[..from.len()]);
    bytes.map(u64::from_le_bytes)
}

/// Fills the start of a data view with `len` bytes of words.
///
/// # Panics
/// If there are not as many, in either.
#[inline(always)]
pub(crate) fn scatter_words(into: &DataView, bytes: InlineWords, len: usize) {
    assert!(len <= into.len() && len <= size_of::<InlineWords>());
    if let Some(plain) = into.plain() {
        // SAFETY: the promise of a data view.
        return unsafe { words::fill(plain.address(), bytes, len) };
    }
    let bytes = bytes.map(u64::to_le_bytes);
    scatter(into, 0, &bytes.as_flattened()[..len]);
}

/// Fills a data view from `offset` on with bytes of a message. The gaps stay untouched.
///
/// # Panics
/// If the data view does not have as many.
pub(crate) fn scatter(into: &DataView, offset: usize, bytes: &[u8]) {
    // SAFETY: the bytes are borrowed.
    unsafe { scatter_from(into, offset, bytes) };
}

/// Does the same with bytes that this process may be unable to borrow: another rank's, in a slot.
/// To copy them first, even in parts that stay in a cache, takes half as long again (measured).
///
/// # Safety
/// The bytes are mapped, and do not overlap the data view.
///
/// # Panics
/// If the data view does not have as many.
pub(crate) unsafe fn scatter_from(into: &DataView, offset: usize, bytes: *const [u8]) {
    assert!(offset <= into.len() && bytes.len() <= into.len() - offset);
    let Some(layout) = into.layout() else {
        // SAFETY: the promise of a data view, and the caller's.
        unsafe { buffer::fill(into.address().wrapping_add(offset as u64), bytes) };
        return;
    };
    each_stretch(
        layout,
        offset,
        offset + bytes.len(),
        |BlockSpan { at, blocks }| match blocks {
            BlockPattern::Strip(strip, distance) => {
                // SAFETY: as above, for each block of the layout.
                unsafe { buffer::scatter(into.address(), strip, distance, (bytes, at)) };
            }
            BlockPattern::Irregular {
                from: element,
                places,
                block,
            } => {
                let base = into.address().wrapping_add_signed(element);
                // SAFETY: as above.
                unsafe { buffer::scatter_places(base, places, block, (bytes, at)) };
            }
        },
    );
}

/// Copies a part of a message between two places with the same layout.
///
/// # Safety
/// The blocks are mapped at both places. Those at `to` may be written, and nothing else uses them.
/// They do not overlap.
pub(crate) unsafe fn copy_alike(layout: &DataLayout, from: u64, to: u64, part: Range<usize>) {
    each_stretch(
        layout,
        part.start,
        part.end,
        |BlockSpan { blocks, .. }| match blocks {
            // SAFETY: the caller's promise, for each block of the layout.
            BlockPattern::Strip(strip, _) => unsafe { buffer::copy_strip(from, to, strip) },
            BlockPattern::Irregular {
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

/// Copies a data view to the start of another. Data views without a layout may overlap.
///
/// # Panics
/// If the other has fewer bytes.
pub(crate) fn copy(from: &DataView, to: &DataView) {
    assert!(from.len() <= to.len());
    if from.layout().is_none() && to.layout().is_none() {
        // SAFETY: the promise of both.
        return unsafe { buffer::copy(from.address(), to.address(), from.len()) };
    }
    look_at::<BOUNCE_BYTES>(from, 0..from.len(), |offset, bytes| {
        scatter(to, offset, bytes)
    });
}

/// Passes a part of a data view to `look`, as it is in a message. A contiguous part is passed at
/// once, any other in portions of this size, each with its offset in the part.
pub(crate) fn look_at<const BOUNCE: usize>(
    from: &DataView,
    part: Range<usize>,
    mut look: impl FnMut(usize, &[u8]),
) {
    if let Some(plain) = from.plain() {
        // SAFETY: `look` has the bytes for that long, and writes elsewhere.
        return look(0, unsafe { plain.part(part).bytes() });
    }
    let mut bounce = [0; BOUNCE];
    for start in part.clone().step_by(BOUNCE) {
        let bytes = &mut bounce[..(part.end - start).min(BOUNCE)];
        gather(from, start, bytes);
        look(start - part.start, bytes);
    }
}

/// Has `bring` fill a part of a data view, as it is in a message. A contiguous part is filled at
/// once, any other in portions of this size, each with its offset in the part.
///
/// # Errors
/// The first error of `bring`.
pub(crate) fn fill<const BOUNCE: usize, E>(
    into: &DataView,
    part: Range<usize>,
    mut bring: impl FnMut(usize, &mut [u8]) -> Result<(), E>,
) -> Result<(), E> {
    if let Some(plain) = into.plain() {
        // SAFETY: `bring` has the bytes for that long, and reads elsewhere.
        return bring(0, unsafe { plain.part(part).bytes_mut() });
    }
    let mut bounce = [0; BOUNCE];
    for start in part.clone().step_by(BOUNCE) {
        let bytes = &mut bounce[..(part.end - start).min(BOUNCE)];
        bring(start - part.start, bytes)?;
        scatter(into, start, bytes);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::block_spans::{to_usize, walk};
    use super::*;
    use bcs_core::layout::LayoutBuilder;
    use proptest::prelude::*;
    use std::sync::Arc;

    /// Returns where each byte of a message is, from the blocks that `tell` reports.
    fn places(len: usize, tell: impl FnOnce(&mut dyn FnMut(BlockSpan<'_>))) -> Vec<Option<i64>> {
        let mut found = vec![None; len];
        tell(&mut |stretch: BlockSpan<'_>| {
            let (places, block, distance): (Vec<i64>, _, _) = match stretch.blocks {
                BlockPattern::Strip(strip, distance) => {
                    (strip.offsets().collect(), to_usize(strip.block), distance)
                }
                BlockPattern::Irregular {
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

    /// A copy between equal layouts gives the same bytes as gather and scatter.
    fn copied_alike(layout: &Arc<DataLayout>, len: usize, [from, to]: [usize; 2]) {
        let (low, bytes) = layout.span(len as u64).unwrap();
        let data: Vec<u8> = (0..bytes).map(|at| (at % 251) as u8).collect();
        let mut found = vec![255u8; data.len()];
        let mut wanted = found.clone();
        let base = |bytes: *const u8| (bytes.expose_provenance() as u64).wrapping_add_signed(-low);
        let piece = |bytes: *const u8| {
            // SAFETY: all bytes of the span are mapped, and nothing else uses them.
            unsafe { DataView::new(base(bytes), len, Some(layout.clone())) }
        };
        let mut packed = vec![0; to - from];
        gather(&piece(data.as_ptr()), from, &mut packed);
        scatter(&piece(wanted.as_mut_ptr()), from, &packed);
        let into = base(found.as_mut_ptr());
        // SAFETY: as above.
        unsafe { copy_alike(layout, base(data.as_ptr()), into, from..to) };
        assert!(found == wanted, "{from}..{to} of {layout:?}");
    }

    proptest! {
        /// The same for many blocks of one length at any places.
        #[test]
        fn irregular_stretches_are_the_walk(
            offsets in prop::collection::vec(-400i64..4_000, 40..120),
            block in 4u64..20, extent in -900i64..9_000, elements in 1usize..9, cut: [u16; 2],
        ) {
            let mut builder = LayoutBuilder::default();
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

        /// Processing run by run and the walk find the bytes at the same places.
        #[test]
        fn stretches_are_the_walk(
            blocks in prop::collection::vec((-40i64..200, 1u64..9), 1..12),
            repeated in 1u64..40, extent in -900i64..900, elements in 1usize..90, cut: [u16; 2],
        ) {
            let mut builder = LayoutBuilder::default();
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
