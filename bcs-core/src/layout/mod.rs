//! Layouts: where the bytes of a message lie in a rank's memory when they do not lie side by side.
//!
//! A derived datatype (MPI 5.0, chapter 5) is compiled to a list of *runs*. A run is `count` blocks
//! of `block` bytes each, `stride` bytes from one start to the next; so a vector is one run, however
//! long it is, and what lies side by side is one block. A message is so many elements as its length
//! says, `extent` bytes from one to the next, and each has all runs of the list.
//!
//! ```text
//! word    0     1     2       3      4       5      6       7      8 ...
//!         runs  size  extent  start  offset  block  stride  count  the next run
//!                             └ of run 0 ┘
//! ```
//!
//! The words are what a rank and its NIC share: a descriptor names their address in the rank's
//! memory. `start` is how many bytes of an element come before the run, so whoever wants to begin
//! in the middle of a message finds the place by bisection ([`Cursor`]). A rank reads its own words
//! ([`Layout`]); to the NIC they are an allegation, of which it reads what it needs and checks each
//! run ([`RemoteRuns`]).
//!
//! Addresses that come of it are computed modulo 2^64. That is no hole: they are addresses in the
//! memory of the rank that wrote the words, and the kernel says which of them there are.

mod builder;
mod cursor;
mod remote;
#[cfg(test)]
mod tests;

pub use builder::{Builder, TooManyRuns};
pub use cursor::{Cursor, Runs, Strip};
pub use remote::RemoteRuns;

use std::num::NonZeroU64;

/// Words in front of the runs.
const HEADER_WORDS: usize = 3;
/// Words of a run.
const RUN_WORDS: usize = 5;

/// Blocks of one length at equal distances.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// Bytes of an element that come before it in a message.
    pub start: u64,
    /// Where its first block is, in bytes from the start of the element.
    pub offset: i64,
    /// Bytes of a block; not 0.
    pub block: u64,
    /// Bytes from the start of a block to that of the next.
    pub stride: i64,
    /// How many blocks; not 0.
    pub count: u64,
}

impl Run {
    fn words(self) -> [u64; RUN_WORDS] {
        let Self {
            start,
            offset,
            block,
            stride,
            count,
        } = self;
        let (offset, stride) = (offset.cast_unsigned(), stride.cast_unsigned());
        [start, offset, block, stride, count]
    }

    fn from_words(words: [u64; RUN_WORDS]) -> Self {
        let [start, offset, block, stride, count] = words;
        let (offset, stride) = (offset.cast_signed(), stride.cast_signed());
        Self {
            start,
            offset,
            block,
            stride,
            count,
        }
    }

    /// Bytes of all its blocks.
    fn bytes(&self) -> u64 {
        self.block * self.count
    }
}

/// Words that are no layout, or not there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the layout of a message is not in its rank's memory, or contradicts itself")]
pub struct BadLayout;

/// Where the data of a message are in its rank's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Location {
    /// Where they begin; with a layout, what its offsets are counted from.
    pub address: u64,
    /// Where the words of the layout are, if they do not lie side by side.
    pub layout: Option<NonZeroU64>,
    /// Bytes of a piece on average, by which the NIC reckons what moving them costs; 0 without a
    /// layout. A rank that says more than there are holds up its own job.
    pub grain: u32,
}

impl Location {
    /// Bytes side by side.
    #[must_use]
    pub fn at(address: u64) -> Self {
        Self {
            address,
            layout: None,
            grain: 0,
        }
    }

    /// From three words of a descriptor.
    #[must_use]
    pub fn from_words(address: u64, layout: u64, grain: u64) -> Self {
        let layout = NonZeroU64::new(layout);
        let grain = u32::try_from(grain.max(1)).unwrap_or(u32::MAX);
        Self {
            address,
            layout,
            grain: layout.map_or(0, |_| grain),
        }
    }

    /// The second word of a descriptor.
    #[must_use]
    pub fn layout_word(self) -> u64 {
        self.layout.map_or(0, NonZeroU64::get)
    }

    /// Whether these are addresses of so many bytes, as far as that can be told from the words.
    pub(crate) fn may_have(self, len: u64) -> bool {
        self.layout.is_some() || self.address.checked_add(len).is_some()
    }
}

/// A layout in the memory of the rank that made it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    words: Box<[u64]>,
    digest: u128,
    /// Where the first byte of an element is in memory, and behind which the last one.
    bounds: [i64; 2],
    /// Bytes of a block on average.
    grain: u32,
    /// The length of parts of which all blocks are made, and where they are, if runs say little of them.
    part: u64,
    places: Box<[i32]>,
}

impl Layout {
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
    pub fn runs(&self) -> impl ExactSizeIterator<Item = Run> {
        let (runs, _) = self.words[HEADER_WORDS..].as_chunks();
        runs.iter().copied().map(Run::from_words)
    }

    /// Those of them that start at this byte of the element or behind it.
    pub fn runs_from(&self, byte: u64) -> impl ExactSizeIterator<Item = Run> {
        let (runs, _) = self.words[HEADER_WORDS..].as_chunks::<RUN_WORDS>();
        let first = runs.partition_point(|&[start, ..]| start < byte);
        runs[first..].iter().copied().map(Run::from_words)
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
pub struct LocalRuns<'a>(&'a Layout);

impl Runs for LocalRuns<'_> {
    fn len(&self) -> u64 {
        self.0.words[0]
    }

    fn run(&mut self, index: u64) -> Result<Run, BadLayout> {
        let index = usize::try_from(index).map_err(|_| BadLayout)?;
        let (runs, _) = self.0.words[HEADER_WORDS..].as_chunks();
        Ok(Run::from_words(*runs.get(index).ok_or(BadLayout)?))
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
