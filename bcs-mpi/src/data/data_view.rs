//! Memory of a rank as messages name it.
//!
//! NICs and other ranks need numbers, so memory is named by address and nothing here borrows it. Who makes a
//! [`ByteRange`], a [`DataView`] or a [`Row`] of an address promises what a borrow would say ([`ByteRange::new`]). The promise
//! goes with the value, its copies and its parts, so whatever takes one is safe to call.
#![expect(unsafe_code, reason = "who names memory by address promises something")]

use bcs_core::layout::{DataLayout, Location};
use std::ops::Range;
use std::sync::Arc;

/// Bytes side by side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ByteRange {
    address: u64,
    len: usize,
}

impl ByteRange {
    /// No memory.
    pub const EMPTY: Self = Self { address: 0, len: 0 };

    /// So many bytes.
    ///
    /// # Safety
    /// While an operation has them (from the call that they are given to until that has returned and, if a request
    /// came of it, until the request is done):
    ///
    /// - they stay the promiser's: they are not freed, moved, or used for something else;
    /// - what is read is initialised, and nobody writes it;
    /// - what is written may be written, and nobody else uses it, no other operation either.
    ///
    /// It is *not* promised that there is memory. Ranks that need what is not there are told, and a rank that looks
    /// at its own is ended by the kernel, as without MPI (docs/faults.md).
    #[must_use]
    pub const unsafe fn new(address: u64, len: usize) -> Self {
        Self { address, len }
    }

    /// Where they begin.
    #[must_use]
    pub const fn address(self) -> u64 {
        self.address
    }

    /// How many they are.
    #[must_use]
    pub const fn len(self) -> usize {
        self.len
    }

    /// Whether they are none.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.len == 0
    }

    /// Some of them.
    ///
    /// # Panics
    /// If they are not among them.
    #[inline]
    pub(crate) fn part(self, part: Range<usize>) -> Self {
        assert!(part.start <= part.end && part.end <= self.len);
        Self {
            address: self.address + part.start as u64,
            len: part.len(),
        }
    }
}

/// Memory for a message: bytes side by side, or as a layout says. Whoever has posted it holds the
/// layout until the NIC is done with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataView {
    /// Where it is; with a layout, what its offsets are counted from.
    address: u64,
    /// How many bytes of a message it holds.
    len: usize,
    /// Where they are, if not side by side.
    layout: Option<Arc<DataLayout>>,
}

impl From<ByteRange> for DataView {
    fn from(ByteRange { address, len }: ByteRange) -> Self {
        Self {
            address,
            len,
            layout: None,
        }
    }
}

impl DataView {
    /// No memory.
    pub const EMPTY: Self = Self {
        address: 0,
        len: 0,
        layout: None,
    };

    /// Bytes side by side, or as a layout says whose offsets are counted from the address.
    ///
    /// # Safety
    /// As for [`ByteRange::new`], of all bytes where the layout says.
    #[must_use]
    pub const unsafe fn new(address: u64, len: usize, layout: Option<Arc<DataLayout>>) -> Self {
        Self {
            address,
            len,
            layout,
        }
    }

    /// Where it is; with a layout, what its offsets are counted from.
    #[must_use]
    pub const fn address(&self) -> u64 {
        self.address
    }

    /// How many bytes of a message it holds.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Whether it holds none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Where they are, if not side by side.
    #[must_use]
    pub const fn layout(&self) -> Option<&Arc<DataLayout>> {
        self.layout.as_ref()
    }

    /// Its bytes, if they lie side by side.
    #[inline]
    pub(crate) fn plain(&self) -> Option<ByteRange> {
        let (address, len) = (self.address, self.len);
        self.layout.is_none().then_some(ByteRange { address, len })
    }

    /// Whether it lies in pieces that have fewer bytes than that, in the mean.
    pub(crate) fn is_in_pieces_below(&self, small: u32) -> bool {
        let layout = self.layout.as_ref();
        layout.is_some_and(|layout| layout.grain() < small)
    }

    /// As descriptors name it.
    pub(crate) fn location(&self) -> Location {
        match &self.layout {
            None => Location::contiguous(self.address),
            Some(layout) => layout.location(self.address),
        }
    }
}

/// Blocks of one length, each of bytes side by side, at equal distances.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    first: ByteRange,
    /// From the start of one to that of the next.
    distance: i64,
}

impl Row {
    /// The blocks that begin with this one.
    ///
    /// # Safety
    /// As for [`ByteRange::new`], of as many as there are members in an operation that is given them.
    #[must_use]
    pub const unsafe fn new(first: ByteRange, distance: i64) -> Self {
        Self { first, distance }
    }

    /// The first block.
    #[must_use]
    pub const fn first(self) -> ByteRange {
        self.first
    }

    /// From the start of a block to that of the next.
    #[must_use]
    pub const fn distance(self) -> i64 {
        self.distance
    }

    /// The length of each.
    pub(crate) const fn len(self) -> usize {
        self.first.len
    }

    #[inline]
    pub(crate) fn block(self, block: usize) -> ByteRange {
        let distance = self.distance.wrapping_mul((block as u64).cast_signed());
        ByteRange {
            address: self.first.address.wrapping_add_signed(distance),
            len: self.first.len,
        }
    }

    fn piece(self, block: usize) -> DataView {
        match self.first.len {
            0 => DataView::EMPTY,
            _ => self.block(block).into(),
        }
    }
}

/// A piece for each member of a communicator.
#[derive(Clone, Debug)]
pub enum DataViews {
    /// The blocks of a row, in the order of the members: what needs no list.
    Row(Row),
    /// Any.
    Each(Vec<DataView>),
}

impl DataViews {
    /// Nothing for anybody.
    pub const NONE: Self = Self::Row(Row {
        first: ByteRange::EMPTY,
        distance: 0,
    });

    /// That of the member at a place.
    #[must_use]
    pub fn of(&self, place: usize) -> DataView {
        match self {
            Self::Row(row) => row.piece(place),
            Self::Each(pieces) => pieces[place].clone(),
        }
    }

    /// Its length.
    pub(crate) fn len_of(&self, place: usize) -> usize {
        match self {
            Self::Row(row) => row.len(),
            Self::Each(pieces) => pieces[place].len,
        }
    }

    /// Those that need a list. (Blocks of a buffer in a row lie side by side.)
    pub(crate) fn list(&self) -> &[DataView] {
        match self {
            Self::Row(_) => &[],
            Self::Each(pieces) => pieces,
        }
    }
}
