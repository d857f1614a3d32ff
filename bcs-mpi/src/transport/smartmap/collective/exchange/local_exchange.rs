//! A member's part of an exchange: what it gives, and what it takes.

use crate::data::{ByteRange, DataView, DataViews, EvenBlocks, LONG_BYTES, Scratch};
use crate::steps::{LocalStep, Round};
use bcs_core::wait_state::CalledCollective;
use std::collections::VecDeque;

/// A member's part of an exchange.
#[derive(Debug)]
pub(crate) struct LocalExchange {
    /// The call, which must be the same at all members.
    pub(crate) called: CalledCollective,
    pub(crate) gives: GivenBlocks,
    pub(crate) takes: TakenBlocks,
    /// Its own block: source and destination.
    pub(crate) own: Option<(ByteRange, ByteRange)>,
    /// Memory that lasts until the exchange is over.
    pub(crate) scratch: Scratch,
}

/// The blocks that a member gives.
#[derive(Debug)]
pub(crate) enum GivenBlocks {
    Nothing,
    /// The same bytes to all takers.
    Same(ByteRange),
    /// To each member its block of a row.
    Row(EvenBlocks),
    /// To each member its own range; nothing to itself.
    Each(Box<[ByteRange]>),
}

/// The blocks that a member takes.
#[derive(Debug)]
pub(crate) enum TakenBlocks {
    /// From each giver, into the data view for it.
    Each(DataViews),
    /// From the only giver.
    One(DataView),
    /// From some givers at a time.
    Rounds(VecDeque<Round>),
}

impl LocalExchange {
    /// Returns whether this member, of this many, handles long data in it, or calls functions of
    /// the program.
    pub(super) fn takes_long(&self, member: usize, members: usize) -> bool {
        let own = self.own.map_or(0, |(from, _)| from.len());
        let lens = [
            self.gives.len(member, members),
            self.takes.len(members),
            own,
        ];
        let calls = match &self.takes {
            TakenBlocks::Rounds(rounds) => rounds
                .iter()
                .any(|round| round.then.iter().any(LocalStep::calls)),
            TakenBlocks::Each(_) | TakenBlocks::One(_) => false,
        };
        calls || lens.into_iter().any(|len| len > LONG_BYTES)
    }
}

impl TakenBlocks {
    /// Returns the largest possible length.
    fn len(&self, members: usize) -> usize {
        match self {
            Self::One(piece) => piece.len(),
            Self::Each(DataViews::Row(row)) => row.len().saturating_mul(members),
            Self::Each(DataViews::Each(pieces)) => {
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

    /// Returns the destination for the data of a giver, unless rounds define it.
    pub(super) fn of(&self, giver: usize) -> DataView {
        match self {
            Self::One(piece) => piece.clone(),
            Self::Each(pieces) => pieces.of(giver),
            Self::Rounds(_) => unreachable!("rounds name the givers"),
        }
    }

    /// From no member.
    pub(crate) const NOTHING: Self = Self::Rounds(VecDeque::new());
}
