//! The memory for the data of scripted ranks: contiguous, or in pieces.

use bcs_core::layout::{DataLayout, LayoutBuilder, Location};
use bcs_fabric::sim::RankStore;
use std::num::NonZeroU64;
use std::ops::Range;

/// The byte that a rank writes around its data before it receives: it must be there afterwards.
const CANARY: u8 = 0xee;

/// Room for a message.
#[derive(Clone, Debug)]
pub(super) struct CanaryBuffer {
    /// The address at which the rank's memory begins.
    start: u64,
    pub(super) location: Location,
    layout: Option<DataLayout>,
    /// All memory from the first piece to the last.
    span: Range<usize>,
}

impl CanaryBuffer {
    /// Makes room for `len` bytes from a byte of a rank's memory on, in pieces if there is a seed
    /// for them.
    pub(super) fn new(
        len: usize,
        pieces: Option<u64>,
        start: usize,
        store: &mut RankStore,
    ) -> Self {
        let address = store.start + start as u64;
        let Some(seed) = pieces.filter(|_| len > 0) else {
            return Self {
                start: store.start,
                location: Location::contiguous(address),
                layout: None,
                span: start..start + len,
            };
        };
        let layout = layout(seed);
        let words = layout.words().iter().flat_map(|word| word.to_le_bytes());
        let words: Vec<u8> = words.collect();
        let base = address + words.len() as u64;
        let elements = (len as u64).div_ceil(layout.size());
        let span = elements * layout.extent().unsigned_abs();
        let first = start + words.len();
        // Layout words are never at address 0 of a rank: that means "no layout".
        let at = NonZeroU64::new(address).expect("a rank keeps its first word free");
        store.bytes[start..first].copy_from_slice(&words);
        Self {
            start: store.start,
            location: Location {
                address: base,
                layout: Some(at),
                grain: 100,
            },
            layout: Some(layout),
            span: first..first + index(span),
        }
    }

    /// Makes room from a byte of a rank's memory to its end, and on beyond it.
    pub(super) fn beyond(start: usize, store: &RankStore) -> Self {
        Self {
            start: store.start,
            location: Location::contiguous(store.start + start as u64),
            layout: None,
            span: start..store.bytes.len(),
        }
    }

    /// Returns the first byte behind it.
    pub(super) fn end(&self) -> usize {
        self.span.end
    }

    fn pieces(&self, len: usize) -> Vec<Range<usize>> {
        let Some(layout) = &self.layout else {
            let start = self.span.start;
            return std::iter::once(start..start + len).collect();
        };
        let mut pieces = Vec::new();
        for strip in layout.pieces(0, len as u64) {
            for offset in strip.offsets() {
                let address = self.location.address.wrapping_add_signed(offset);
                let start = index(address - self.start);
                pieces.push(start..start + index(strip.block));
            }
        }
        pieces
    }

    /// Writes a message there.
    pub(super) fn fill(&self, bytes: &[u8], store: &mut RankStore) {
        let mut at = 0;
        for piece in self.pieces(bytes.len()) {
            let next = at + piece.len();
            store.bytes[piece].copy_from_slice(&bytes[at..next]);
            at = next;
        }
    }

    /// Fills it with canaries before a receive.
    pub(super) fn guard(&self, store: &mut RankStore) {
        store.bytes[self.span.clone()].fill(CANARY);
    }

    /// Returns the first `len` bytes as a message.
    pub(super) fn message(&self, len: usize, store: &RankStore) -> Vec<u8> {
        let pieces = self.pieces(len).into_iter();
        pieces
            .flat_map(|piece| store.bytes[piece].iter().copied())
            .collect()
    }

    /// Whether nothing was written except the first `len` bytes of a message.
    pub(super) fn is_guarded(&self, len: usize, store: &RankStore) -> bool {
        let mut rest = store.bytes[self.span.clone()].to_vec();
        for piece in self.pieces(len) {
            rest[piece.start - self.span.start..piece.end - self.span.start].fill(CANARY);
        }
        rest.iter().all(|&byte| byte == CANARY)
    }
}

/// Draws a layout from the seed: up to 20 blocks with gaps, upwards or downwards, of equal or
/// different lengths.
fn layout(seed: u64) -> DataLayout {
    let mut state = seed;
    let mut random = |below: u64| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let (regular, downwards) = (random(2) == 0, random(2) == 0);
    let (block, gap) = (1 + random(200), 1 + random(40));
    let mut blocks = Vec::new();
    let mut end = random(8);
    for _ in 0..1 + random(20) {
        let (len, gap) = if regular {
            (block, gap)
        } else {
            (1 + random(200), random(40))
        };
        blocks.push((end.cast_signed(), len));
        end += len + gap;
    }
    if downwards {
        blocks.reverse();
    }
    let mut builder = LayoutBuilder::default();
    for (offset, len) in blocks {
        builder.push(offset, len).expect("few blocks");
    }
    builder.finish(end.cast_signed())
}

fn index(address: u64) -> usize {
    usize::try_from(address).expect("small")
}
