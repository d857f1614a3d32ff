//! A layout that this process has made, and a walk through it.

use super::cursor::{Cursor, Runs, Strip};
use super::location::Location;
use super::run::{BadLayout, BlockRun, HEADER_WORDS, RUN_WORDS};

/// A layout in the memory of the rank that made it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataLayout {
    pub(super) words: Box<[u64]>,
    pub(super) digest: u128,
    /// The offset of the first byte of an element in memory, and the offset behind the last byte.
    pub(super) bounds: [i64; 2],
    /// Bytes of a block on average.
    pub(super) grain: u32,
    /// The length of the parts that make up all blocks, and their offsets, if runs are short.
    pub(super) part: u64,
    pub(super) places: Box<[i32]>,
}

impl DataLayout {
    /// Returns the bytes of one element in a message.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.words[1]
    }

    /// Returns the bytes from one element to the next.
    #[must_use]
    pub fn extent(&self) -> i64 {
        self.words[2].cast_signed()
    }

    /// Returns the runs of one element, in the order of the message.
    pub fn runs(&self) -> impl ExactSizeIterator<Item = BlockRun> {
        let (runs, _) = self.words[HEADER_WORDS..].as_chunks();
        runs.iter().copied().map(BlockRun::from_words)
    }

    /// Returns the runs that start at this byte of the element or behind it.
    pub fn runs_from(&self, byte: u64) -> impl ExactSizeIterator<Item = BlockRun> {
        let (runs, _) = self.words[HEADER_WORDS..].as_chunks::<RUN_WORDS>();
        let first = runs.partition_point(|&[start, ..]| start < byte);
        runs[first..].iter().copied().map(BlockRun::from_words)
    }

    /// Returns, if blocks are irregular, the length of the parts that make up all blocks, and the
    /// offset of each part of an element, in the order of the message. A walk through runs of only
    /// a few blocks would spend most time reading runs.
    #[must_use]
    pub fn irregular_parts(&self) -> Option<(u64, &[i32])> {
        (!self.places.is_empty()).then_some((self.part, &*self.places))
    }

    /// Returns the bytes of a block on average.
    #[must_use]
    pub fn grain(&self) -> u32 {
        self.grain
    }

    /// Returns the words, whose address descriptors hold.
    #[must_use]
    pub fn words(&self) -> &[u64] {
        &self.words
    }

    /// Returns a digest that stands for the words where they are not at hand. Layouts of other
    /// ranks with the same digest are the same. (Two layouts that differ have the same digest with
    /// a chance of 2^-128.)
    #[must_use]
    pub fn digest(&self) -> u128 {
        self.digest
    }

    /// Returns the location of data with this layout in this process's memory.
    #[must_use]
    pub fn location(&self, address: u64) -> Location {
        let layout = self.words.as_ptr().expose_provenance() as u64;
        Location::from_words(address, layout, self.grain.into())
    }

    /// Returns offset and length, if an element is one block.
    #[must_use]
    pub fn single_block(&self) -> Option<(i64, u64)> {
        let mut runs = self.runs();
        match (runs.next(), runs.len()) {
            (Some(run), 0) if run.count == 1 => Some((run.offset, run.block)),
            _ => None,
        }
    }

    /// Returns whether consecutive elements together form one block.
    #[must_use]
    pub fn is_contiguous(&self) -> bool {
        let block = self.single_block();
        block.is_some_and(|(_, len)| i64::try_from(len) == Ok(self.extent()))
    }

    /// Returns the offset where the first `len` bytes of a message begin, and the bytes they span,
    /// gaps included. Returns `None` if that exceeds any address space.
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

    /// Returns the pieces of bytes `from` to `to` of a message of this layout.
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

/// For a layout of this process.
impl Iterator for Cursor<LocalRuns<'_>> {
    type Item = Strip;

    #[inline]
    fn next(&mut self) -> Option<Strip> {
        self.advance()
            .expect("a layout of this process is what its builder made it")
    }
}
