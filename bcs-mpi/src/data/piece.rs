//! Memory of a rank as messages name it.

use bcs_core::layout::{Layout, Location};
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
