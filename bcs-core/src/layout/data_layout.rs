//! A layout that this process has made, and a walk through it.

use super::cursor::{Cursor, Runs, Strip};
use super::location::Location;
use super::run::{BadLayout, BlockRun, HEADER_WORDS, RUN_WORDS};

/// A layout in the memory of the rank that made it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataLayout {
    pub(super) words: Box<[u64]>,
    pub(super) digest: u128,
    /// Where the first byte of an element is in memory, and behind which the last one.
    pub(super) bounds: [i64; 2],
    /// Bytes of a block on average.
    pub(super) grain: u32,
    /// The length of parts of which all blocks are made, and where they are, if runs say little of them.
    pub(super) part: u64,
    pub(super) places: Box<[i32]>,
}

impl DataLayout {
    /// Bytes of one element in a message.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.words[1]
    }

    /// Bytes from one element to the next.
    #[must_use]
    pub fn extent(&self) -> i64 {
        self.words[2].cast_signed()
    }

    /// The runs of one element, in the order of the message.
    pub fn runs(&self) -> impl ExactSizeIterator<Item = BlockRun> {
        let (runs, _) = self.words[HEADER_WORDS..].as_chunks();
        runs.iter().copied().map(BlockRun::from_words)
    }

    /// Those of them that start at this byte of the element or behind it.
    pub fn runs_from(&self, byte: u64) -> impl ExactSizeIterator<Item = BlockRun> {
        let (runs, _) = self.words[HEADER_WORDS..].as_chunks::<RUN_WORDS>();
        let first = runs.partition_point(|&[start, ..]| start < byte);
        runs[first..].iter().copied().map(BlockRun::from_words)
    }

    /// If blocks are irregular: a length of which all are made, and where each such part of an element is, in the
    /// order of the message. To go through runs of a few blocks each is mostly to read the runs.
    #[must_use]
    pub fn irregular_parts(&self) -> Option<(u64, &[i32])> {
        (!self.places.is_empty()).then_some((self.part, &*self.places))
    }

    /// Bytes of a block on average.
    #[must_use]
    pub fn grain(&self) -> u32 {
        self.grain
    }

    /// The words, as a descriptor names them.
    #[must_use]
    pub fn words(&self) -> &[u64] {
        &self.words
    }

    /// What stands for the words where they are not at hand: another rank's layout of the same digest is the same.
    /// (Of two that differ it is the same by a chance of 2^-128.)
    #[must_use]
    pub fn digest(&self) -> u128 {
        self.digest
    }

    /// Data of this layout in this process's memory.
    #[must_use]
    pub fn location(&self, address: u64) -> Location {
        let layout = self.words.as_ptr().expose_provenance() as u64;
        Location::from_words(address, layout, self.grain.into())
    }

    /// Offset and length, if an element is one block.
    #[must_use]
    pub fn single_block(&self) -> Option<(i64, u64)> {
        let mut runs = self.runs();
        match (runs.next(), runs.len()) {
            (Some(run), 0) if run.count == 1 => Some((run.offset, run.block)),
            _ => None,
        }
    }

    /// Whether elements that follow each other are one block together.
    #[must_use]
    pub fn is_contiguous(&self) -> bool {
        let block = self.single_block();
        block.is_some_and(|(_, len)| i64::try_from(len) == Ok(self.extent()))
    }

    /// Where the first `len` bytes of a message lie: from which offset on, and in how many bytes, gaps included.
    /// `None` if no address space has as many.
    #[must_use]
    pub fn span(&self, len: u64) -> Option<(i64, u64)> {
        if len == 0 || self.size() == 0 {
            return Some((0, 0));
        }
        let [low, high] = self.bounds.map(i128::from);
        let elements = len.div_ceil(self.size());
        let shift = i128::from(self.extent()) * i128::from(elements - 1);
        let (low, high) = (low + shift.min(0), high + shift.max(0));
        Some((low.try_into().ok()?, (high - low).try_into().ok()?))
    }

    /// The pieces of bytes `from` to `to` of a message of this layout.
    ///
    /// # Panics
    /// If there are such bytes but an element has none.
    #[must_use]
    pub fn pieces(&self, from: u64, to: u64) -> Cursor<LocalRuns<'_>> {
        let (size, extent) = (self.size(), self.extent());
        Cursor::new(LocalRuns(self), size, extent, from, to)
    }
}

/// The runs of a layout that this process has made itself.
#[derive(Clone, Copy, Debug)]
pub struct LocalRuns<'a>(&'a DataLayout);

impl Runs for LocalRuns<'_> {
    fn len(&self) -> u64 {
        self.0.words[0]
    }

    fn run(&mut self, index: u64) -> Result<BlockRun, BadLayout> {
        let index = usize::try_from(index).map_err(|_| BadLayout)?;
        let (runs, _) = self.0.words[HEADER_WORDS..].as_chunks();
        Ok(BlockRun::from_words(*runs.get(index).ok_or(BadLayout)?))
    }
}

/// For a layout of one's own.
impl Iterator for Cursor<LocalRuns<'_>> {
    type Item = Strip;

    #[inline]
    fn next(&mut self) -> Option<Strip> {
        self.advance()
            .expect("a layout of this process is what its builder made it")
    }
}
