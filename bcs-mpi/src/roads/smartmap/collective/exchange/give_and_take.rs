//! A member's part of an exchange: what it gives, and what it takes.

use crate::data::{LONG_BYTES, Piece, Pieces, Plain, Row, Scratch};
use crate::steps::{Local, Round};
use bcs_core::whereabouts::Called;
use std::collections::VecDeque;

/// A member's part of an exchange.
#[derive(Debug)]
pub(crate) struct Exchange {
    /// All members must have called the same.
    pub(crate) called: Called,
    pub(crate) gives: Gives,
    pub(crate) takes: Takes,
    /// What it gives itself: from where and where to.
    pub(crate) own: Option<(Plain, Plain)>,
    /// Memory that lasts until the exchange is over.
    pub(crate) scratch: Scratch,
}

/// What a member gives.
#[derive(Debug)]
pub(crate) enum Gives {
    Nothing,
    /// The same bytes to all it gives to.
    Same(Plain),
    /// To each member its block of a row.
    Row(Row),
    /// To each member what is there for it; nothing to itself.
    Each(Box<[Plain]>),
}

/// What a member takes.
#[derive(Debug)]
pub(crate) enum Takes {
    /// From each that gives to it, into the piece for it.
    Each(Pieces),
    /// From the only one that gives to it.
    One(Piece),
    /// From some at a time.
    Rounds(VecDeque<Round>),
}

impl Exchange {
    /// Whether this member of so many goes over long data in it, or calls functions of the
    /// program's.
    pub(super) fn takes_long(&self, member: usize, members: usize) -> bool {
        let own = self.own.map_or(0, |(from, _)| from.len());
        let lens = [
            self.gives.len(member, members),
            self.takes.len(members),
            own,
        ];
        let calls = match &self.takes {
            Takes::Rounds(rounds) => rounds
                .iter()
                .any(|round| round.then.iter().any(Local::calls)),
            Takes::Each(_) | Takes::One(_) => false,
        };
        calls || lens.into_iter().any(|len| len > LONG_BYTES)
    }
}

impl Takes {
    /// How much it may be.
    fn len(&self, members: usize) -> usize {
        match self {
            Self::One(piece) => piece.len(),
            Self::Each(Pieces::Row(row)) => row.len().saturating_mul(members),
            Self::Each(Pieces::Each(pieces)) => {
                let lens = pieces.iter().map(|piece| piece.len());
                lens.fold(0, usize::saturating_add)
            }
            Self::Rounds(rounds) => {
                let receives = rounds.iter().flat_map(|round| &round.receives);
                let lens = receives.map(|(_, piece)| piece.len());
                lens.fold(0, usize::saturating_add)
            }
        }
    }

    /// Where goes what a member gives, if that is not said by rounds.
    pub(super) fn of(&self, giver: usize) -> Piece {
        match self {
            Self::One(piece) => piece.clone(),
            Self::Each(pieces) => pieces.of(giver),
            Self::Rounds(_) => unreachable!("rounds name the givers"),
        }
    }

    /// From nobody.
    pub(crate) const NOTHING: Self = Self::Rounds(VecDeque::new());
}
