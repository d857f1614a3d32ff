//! Memory of a rank as messages name it.
//!
//! NICs and other ranks need numbers, so memory is named by address and nothing here borrows it.
//! Code that makes a [`ByteRange`], a [`DataView`] or a [`Row`] from an address promises what a
//! borrow would guarantee ([`ByteRange::new`]). The promise goes with the value, its copies and its
//! parts, so functions that take one are safe to call.
#![expect(unsafe_code, reason = "who names memory by address promises something")]

use bcs_core::layout::{DataLayout, Location};
use std::ops::Range;
use std::sync::Arc;

/// Contiguous bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ByteRange {
    address: u64,
    len: usize,
}

impl ByteRange {
    /// No memory.
    pub const EMPTY: Self = Self { address: 0, len: 0 };

    /// Makes a range of `len` bytes.
    ///
    /// # Safety
    /// As long as an operation has them (from the call that gets them until it has returned, or
    /// until its request is done):
    ///
    /// - the code that promises owns them: they are not freed, moved, or used for something else;
    /// - bytes that the operation reads are initialised, and nothing writes them;
    /// - bytes that the operation writes may be written, and nothing else uses them, no other
    ///   operation either.
    ///
    /// The promise does *not* include that the memory is mapped. Ranks that need unmapped memory
    /// get an error, and the kernel ends a rank that touches its own, as without MPI
    /// (docs/faults.md).
    #[must_use]
    pub const unsafe fn new(address: u64, len: usize) -> Self {
        Self { address, len }
    }

    /// Returns the address of the first byte.
    #[must_use]
    pub const fn address(self) -> u64 {
        self.address
    }

    /// Returns the number of bytes.
    #[must_use]
    pub const fn len(self) -> usize {
        self.len
    }

    /// Returns whether the range is empty.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.len == 0
    }

    /// Returns a part of the range.
    ///
    /// # Panics
    /// If the part is not within it.
    #[inline]
    pub(crate) fn part(self, part: Range<usize>) -> Self {
        assert!(part.start <= part.end && part.end <= self.len);
        Self {
            address: self.address + part.start as u64,
            len: part.len(),
        }
    }
}

/// Memory for a message: contiguous bytes, or bytes with a layout. The code that has posted it
/// holds the layout until the NIC is done with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataView {
    /// Its address. The offsets of a layout count from it.
    address: u64,
    /// How many bytes of a message it holds.
    len: usize,
    /// The places of the bytes, if they are not contiguous.
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

    /// Makes a data view of contiguous bytes, or of bytes with a layout whose offsets count from
    /// the address.
    ///
    /// # Safety
    /// As for [`ByteRange::new`], for all bytes of the layout.
    #[must_use]
    pub const unsafe fn new(address: u64, len: usize, layout: Option<Arc<DataLayout>>) -> Self {
        Self {
            address,
            len,
            layout,
        }
    }

    /// Returns its address. The offsets of a layout count from it.
    #[must_use]
    pub const fn address(&self) -> u64 {
        self.address
    }

    /// Returns how many bytes of a message it holds.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Returns whether it is empty.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the places of the bytes, if they are not contiguous.
    #[must_use]
    pub const fn layout(&self) -> Option<&Arc<DataLayout>> {
        self.layout.as_ref()
    }

    /// Returns its bytes, if they are contiguous.
    #[inline]
    pub(crate) fn plain(&self) -> Option<ByteRange> {
        let (address, len) = (self.address, self.len);
        self.layout.is_none().then_some(ByteRange { address, len })
    }

    /// Returns whether it consists of pieces with fewer bytes than this, on average.
    pub(crate) fn is_in_pieces_below(&self, small: u32) -> bool {
        let layout = self.layout.as_ref();
        layout.is_some_and(|layout| layout.grain() < small)
    }

    /// Returns it in the form that descriptors use.
    pub(crate) fn location(&self) -> Location {
        match &self.layout {
            None => Location::contiguous(self.address),
            Some(layout) => layout.location(self.address),
        }
    }
}

/// Contiguous blocks of one length, at equal distances.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EvenBlocks {
    first: ByteRange,
    /// From the start of a block to that of the next.
    distance: i64,
}

impl EvenBlocks {
    /// Makes the row of blocks that begins with this one.
    ///
    /// # Safety
    /// As for [`ByteRange::new`], for as many blocks as the operation that gets them has members.
    #[must_use]
    pub const unsafe fn new(first: ByteRange, distance: i64) -> Self {
        Self { first, distance }
    }

    /// Returns the first block.
    #[must_use]
    pub const fn first(self) -> ByteRange {
        self.first
    }

    /// Returns the distance from the start of a block to that of the next.
    #[must_use]
    pub const fn distance(self) -> i64 {
        self.distance
    }

    /// Returns the length of each block.
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

/// A data view for each member of a communicator.
#[derive(Clone, Debug)]
pub enum DataViews {
    /// The blocks of a row, in the order of the members. It needs no list.
    Row(EvenBlocks),
    /// Any data views.
    Each(Vec<DataView>),
}

impl DataViews {
    /// No data for any member.
    pub const NONE: Self = Self::Row(EvenBlocks {
        first: ByteRange::EMPTY,
        distance: 0,
    });

    /// Returns the data view of the member at this place.
    #[must_use]
    pub fn of(&self, place: usize) -> DataView {
        match self {
            Self::Row(row) => row.piece(place),
            Self::Each(pieces) => pieces[place].clone(),
        }
    }

    /// Returns its length.
    pub(crate) fn len_of(&self, place: usize) -> usize {
        match self {
            Self::Row(row) => row.len(),
            Self::Each(pieces) => pieces[place].len,
        }
    }

    /// Returns the data views of a list. (A row has none: its blocks are contiguous.)
    pub(crate) fn list(&self) -> &[DataView] {
        match self {
            Self::Row(_) => &[],
            Self::Each(pieces) => pieces,
        }
    }
}
