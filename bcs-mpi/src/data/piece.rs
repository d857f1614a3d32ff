//! Memory of a rank as messages name it.
//!
//! NICs and other ranks need numbers, so memory is named by address and nothing here borrows it. Who makes a
//! [`Plain`], a [`Piece`] or a [`Row`] of an address promises what a borrow would say ([`Plain::new`]). The promise
//! goes with the value, its copies and its parts, so whatever takes one is safe to call.
#![expect(unsafe_code, reason = "who names memory by address promises something")]

use bcs_core::layout::{Layout, Location};
use std::ops::Range;
use std::sync::Arc;

/// Bytes side by side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Plain {
    address: u64,
    len: usize,
}

impl Plain {
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
pub struct Piece {
    /// Where it is; with a layout, what its offsets are counted from.
    address: u64,
    /// How many bytes of a message it holds.
    len: usize,
    /// Where they are, if not side by side.
    layout: Option<Arc<Layout>>,
}

impl From<Plain> for Piece {
    fn from(Plain { address, len }: Plain) -> Self {
        Self {
            address,
            len,
            layout: None,
        }
    }
}

impl Piece {
    /// No memory.
    pub const EMPTY: Self = Self {
        address: 0,
        len: 0,
        layout: None,
    };

    /// Bytes side by side, or as a layout says whose offsets are counted from the address.
    ///
    /// # Safety
    /// As for [`Plain::new`], of all bytes where the layout says.
    #[must_use]
    pub const unsafe fn new(address: u64, len: usize, layout: Option<Arc<Layout>>) -> Self {
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
    pub const fn layout(&self) -> Option<&Arc<Layout>> {
        self.layout.as_ref()
    }

    /// Its bytes, if they lie side by side.
    #[inline]
    pub(crate) fn plain(&self) -> Option<Plain> {
        let (address, len) = (self.address, self.len);
        self.layout.is_none().then_some(Plain { address, len })
    }

    /// Whether it lies in pieces that have fewer bytes than that, in the mean.
    pub(crate) fn is_in_pieces_below(&self, small: u32) -> bool {
        let layout = self.layout.as_ref();
        layout.is_some_and(|layout| layout.grain() < small)
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
    first: Plain,
    /// From the start of one to that of the next.
    distance: i64,
}

impl Row {
    /// The blocks that begin with this one.
    ///
    /// # Safety
    /// As for [`Plain::new`], of as many as there are members in an operation that is given them.
    #[must_use]
    pub const unsafe fn new(first: Plain, distance: i64) -> Self {
        Self { first, distance }
    }

    /// The first block.
    #[must_use]
    pub const fn first(self) -> Plain {
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
    pub(crate) fn block(self, block: usize) -> Plain {
        let distance = self.distance.wrapping_mul((block as u64).cast_signed());
        Plain {
            address: self.first.address.wrapping_add_signed(distance),
            len: self.first.len,
        }
    }

    fn piece(self, block: usize) -> Piece {
        match self.first.len {
            0 => Piece::EMPTY,
            _ => self.block(block).into(),
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
        first: Plain::EMPTY,
        distance: 0,
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
            Self::Row(row) => row.len(),
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
