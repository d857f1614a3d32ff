//! Layouts against a list of every byte.

use super::{BadLayout, Cursor, DataLayout, LayoutBuilder, RemoteRuns, Runs, Strip};
use crate::limits::MAX_LAYOUT_RUNS;
use proptest::prelude::*;

/// Returns the offset of each byte of a message of `elements` elements.
fn bytes_of(blocks: &[(i64, u64)], extent: i64, elements: i64) -> Vec<i64> {
    let element = |at: i64| {
        let blocks = blocks.iter();
        blocks.flat_map(move |&(offset, len)| (0..len.cast_signed()).map(move |b| at + offset + b))
    };
    (0..elements)
        .flat_map(|nth| element(nth * extent))
        .collect()
}

fn built(blocks: &[(i64, u64)], extent: i64) -> DataLayout {
    let mut builder = LayoutBuilder::default();
    for &(offset, len) in blocks {
        builder.push(offset, len).unwrap();
    }
    builder.finish(extent)
}

fn expand(strip: Strip) -> impl Iterator<Item = i64> {
    strip
        .offsets()
        .flat_map(move |offset| (0..strip.block.cast_signed()).map(move |byte| offset + byte))
}

fn all<R: Runs>(mut cursor: Cursor<R>) -> Result<Vec<i64>, BadLayout> {
    let mut found = Vec::new();
    while let Some(strip) = cursor.advance()? {
        found.extend(expand(strip));
    }
    Ok(found)
}

/// Returns a function that reads words as if they were memory at an address.
fn memory(words: &[u64], base: u64) -> impl FnMut(u64, &mut [u8]) -> bool {
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
    move |address, into| {
        let from = usize::try_from(address.wrapping_sub(base)).unwrap();
        let there = from
            .checked_add(into.len())
            .and_then(|to| bytes.get(from..to));
        there.map(|there| into.copy_from_slice(there)).is_some()
    }
}

fn blocks() -> impl Strategy<Value = Vec<(i64, u64)>> {
    let irregular = prop::collection::vec((-40i64..200, 1u64..9), 1..40);
    let regular = (0i64..20, 1u64..5, -12i64..12, 1i64..300)
        .prop_map(|(from, len, stride, n)| (0..n).map(|nth| (from + nth * stride, len)).collect());
    prop_oneof![irregular, regular]
}

proptest! {
    #[test]
    fn a_walk_from_anywhere_is_the_same_bytes(
        blocks in blocks(), extent in -300i64..300, elements in 1i64..5, cut: [u16; 2],
    ) {
        let layout = built(&blocks, extent);
        let bytes = bytes_of(&blocks, extent, elements);
        prop_assert_eq!(layout.size() * elements.cast_unsigned(), bytes.len() as u64);
        let mut ends = cut.map(|at| usize::from(at) % (bytes.len() + 1));
        ends.sort_unstable();
        let [from, to] = ends;
        let found = all(layout.pieces(from as u64, to as u64)).unwrap();
        prop_assert!(found == bytes[from..to], "{from}..{to} of {layout:?}");
        let remote = RemoteRuns::pieces(memory(layout.words(), 4096), 4096, from as u64, to as u64);
        prop_assert!(all(remote.unwrap()).unwrap() == bytes[from..to]);
    }

    #[test]
    fn all_bytes_are_in_the_span_and_layouts_alike_have_one_digest(
        blocks in blocks(), other in blocks(), extent in -300i64..300, elements in 1i64..5,
    ) {
        let layout = built(&blocks, extent);
        let bytes = bytes_of(&blocks, extent, elements);
        let (low, len) = layout.span(bytes.len() as u64).unwrap();
        prop_assert_eq!(Some(&low), bytes.iter().min());
        prop_assert_eq!(low + len.cast_signed() - 1, *bytes.iter().max().unwrap());
        let other = built(&other, extent);
        prop_assert_eq!(layout.words() == other.words(), layout.digest() == other.digest());
        prop_assert_eq!(layout.digest(), built(&blocks, extent).digest());
    }

    #[test]
    fn repeating_is_pushing_again_and_again(
        blocks in blocks(), stride in -300i64..300, count in 0u64..40,
    ) {
        let mut one = LayoutBuilder::default();
        for &(offset, len) in &blocks {
            one.push(offset, len).unwrap();
        }
        let repeated = one.repeat(count, stride).unwrap().finish(0);
        let bytes = bytes_of(&blocks, stride, count.cast_signed());
        prop_assert_eq!(repeated.size(), bytes.len() as u64);
        prop_assert!(all(repeated.pieces(0, repeated.size())).unwrap() == bytes);
    }

    /// The walk of a NIC ends in no more steps than there are bytes, whatever a rank writes in the
    /// place of its layout.
    #[test]
    fn rubbish_ends(
        mut words in prop::collection::vec(
            prop_oneof![0u64..20, any::<u64>(), Just(u64::MAX), Just(1 << 63)], 8..60),
        runs in 0u64..12, size in 0u64..64, from in any::<u64>(), len in 0u64..4096,
    ) {
        words[0] = runs;
        words[1] = size;
        let to = from.saturating_add(len);
        if let Ok(mut cursor) = RemoteRuns::pieces(memory(&words, 0), 0, from, to) {
            let mut moved = 0;
            while let Ok(Some(strip)) = cursor.advance() {
                prop_assert!(strip.block > 0 && strip.count > 0);
                moved += strip.block * strip.count;
            }
            prop_assert!(moved <= len);
        }
    }
}

#[test]
fn no_span_is_longer_than_all_memory() {
    let layout = built(&[(0, 8)], i64::MAX);
    assert_eq!(layout.span(0), Some((0, 0)));
    assert_eq!(layout.span(16), Some((0, i64::MAX.cast_unsigned() + 8)));
    assert_eq!(layout.span(32), None);
    assert_eq!(
        built(&[(8, 8)], i64::MIN).span(16),
        Some((i64::MIN + 8, (1 << 63) + 8))
    );
    assert_eq!(built(&[(8, 8)], i64::MIN).span(24), None);
}

#[test]
fn a_vector_is_one_run_and_a_matrix_one_block() {
    let column = LayoutBuilder::block(0, 8).repeat(1 << 40, 800).unwrap();
    let layout = column.finish(8);
    assert_eq!(layout.runs().len(), 1);
    assert_eq!(layout.size(), 8 << 40);
    let matrix = LayoutBuilder::block(0, 8).repeat(100, 8).unwrap();
    let matrix = matrix.repeat(100, 800).unwrap().finish(80_000);
    assert_eq!(matrix.single_block(), Some((0, 80_000)));
    assert!(matrix.is_contiguous());
    let planes = LayoutBuilder::block(0, 8).repeat(100, 800).unwrap();
    let planes = planes.repeat(1 << 30, 80_000).unwrap();
    assert_eq!(planes.finish(0).runs().len(), 1);
}

#[test]
fn what_is_too_irregular_is_refused() {
    let mut two = LayoutBuilder::block(0, 1);
    two.push(3, 2).unwrap();
    assert!(two.repeat(u64::MAX, 10).is_err());
    assert!(two.repeat(MAX_LAYOUT_RUNS as u64, 10).is_err());
}

#[test]
fn a_walk_begins_after_a_bisection() {
    let blocks: Vec<(i64, u64)> = (0..100_000i64)
        .map(|n| (n * n, 1 + (n % 2).cast_unsigned()))
        .collect();
    let layout = built(&blocks, 0);
    let mut reads = 0;
    let mut read = memory(layout.words(), 8);
    let counting = |address, bytes: &mut [u8]| {
        reads += 1;
        read(address, bytes)
    };
    let from = layout.size() * 2 / 3;
    let cursor = RemoteRuns::pieces(counting, 8, from, from + 10).unwrap();
    let bytes = bytes_of(&blocks, 0, 1);
    let from = usize::try_from(from).unwrap();
    assert_eq!(all(cursor).unwrap(), bytes[from..from + 10]);
    assert!(reads < 25, "{reads} reads");
}
