//! An exchange in which not all memory can be reached: each giver's stream goes through its record, so many
//! bytes at a time, and takers take what is theirs. There are as many parts as the longest stream needs, and
//! each is entered by all members like a collective of its own.
//!
//! What is to be folded in rounds comes all at once here, so it needs memory of its own.
#![expect(unsafe_code, reason = "buffers are named by address")]

use super::gift::{Gift, Lies};
use super::machine::Exchanging;
use super::taking::laid;
use super::{Exchange, Takes};
use crate::data::{Piece, copy, scatter};
use crate::plan::Round;
use crate::roads::smartmap::collective::Surroundings;
use crate::roads::smartmap::collective::group::Group;
use bcs_core::smartmap::coll_info::PAYLOAD_BYTES;
use std::collections::VecDeque;
use std::ops::Range;

/// What goes through the records.
#[derive(Debug, Default)]
pub(super) struct Parts {
    /// Bytes of each stream that have gone.
    gone: usize,
    /// The length of this rank's stream, and of the longest one.
    own: usize,
    longest: u64,
    taking: Vec<Taking>,
    /// What follows, and where what is to be taken for it is then.
    rounds: VecDeque<Round>,
    staged: VecDeque<Piece>,
}

/// What this rank takes from one member.
#[derive(Debug)]
struct Taking {
    giver: usize,
    /// Where it begins in the stream.
    at: u64,
    into: Piece,
}

impl Parts {
    /// All have said what they give, and that not all memory can be reached. `None` if a record is
    /// rubbish.
    pub(super) fn begin(
        exchanging: &mut Exchanging,
        group: &mut Group,
        around: Surroundings<'_>,
    ) -> Option<Self> {
        let (me, members) = (group.me(), group.members().len());
        let streams = (0..members).map(|member| Exchanging::giver(group, member).stream().1);
        let mut parts = Self {
            longest: streams.max().unwrap_or(0),
            ..Self::default()
        };
        if Exchanging::giver(group, me).is_long() {
            parts.own = exchanging.exchange.gives.len(me, members);
        }
        for (giver, into) in parts.wanted(exchanging, group, around) {
            let Some(Gift { len, lies }) = Exchanging::giver(group, giver).gift(me) else {
                group.suspects(giver);
                return None;
            };
            if !exchanging.agrees(group, around, giver, len, into.len) || into.len == 0 {
                continue;
            }
            match lies {
                Lies::Here { total, at } => {
                    laid(Exchanging::giver(group, giver), (total, at), &into);
                }
                Lies::There { at, .. } => parts.taking.push(Taking { giver, at, into }),
            }
        }
        Some(parts)
    }

    /// What is to be taken from whom, and where to.
    fn wanted(
        &mut self,
        exchanging: &mut Exchanging,
        group: &Group,
        around: Surroundings<'_>,
    ) -> Vec<(usize, Piece)> {
        let flow = exchanging.flow;
        let givers = group.others();
        let givers = givers.filter(|&giver| flow.passes(giver, group.me()));
        let Exchange { takes, scratch, .. } = &mut exchanging.exchange;
        match std::mem::replace(takes, Takes::NOTHING) {
            Takes::Each(pieces) => givers.map(|giver| (giver, pieces.of(giver))).collect(),
            Takes::One(piece) => givers.map(|giver| (giver, piece.clone())).collect(),
            Takes::Rounds(rounds) => {
                self.rounds = rounds;
                let receives = self.rounds.iter().flat_map(|round| &round.receives);
                let giver = |rank: u32| group.place_of(rank, around.first);
                if self.rounds.len() == 1 {
                    let wanted = receives.map(|(rank, into)| (giver(*rank), into.clone()));
                    let wanted = wanted.collect();
                    self.rounds[0].receives.clear();
                    return wanted;
                }
                let staged = receives.map(|(rank, into)| (giver(*rank), scratch.piece(into.len)));
                let staged: Vec<(usize, Piece)> = staged.collect();
                self.staged = staged.iter().map(|(_, piece)| piece.clone()).collect();
                staged
            }
        }
    }

    /// What this rank lays in its record for this part: these bytes of its stream.
    pub(super) fn given(&self) -> Range<usize> {
        let from = self.gone.min(self.own);
        from..(from + PAYLOAD_BYTES).min(self.own)
    }

    /// All have laid this part.
    pub(super) fn take(&mut self, group: &Group) {
        let (first, last) = (self.gone as u64, (self.gone + PAYLOAD_BYTES) as u64);
        for Taking { giver, at, into } in &self.taking {
            let end = at.saturating_add(into.len as u64);
            let (from, to) = (first.max(*at), last.min(end));
            if from >= to {
                continue;
            }
            let offset = |of: u64| usize::try_from(of).expect("within a part, or a piece");
            let mut bytes = [0; PAYLOAD_BYTES];
            let bytes = &mut bytes[..offset(to - from)];
            let giver = Exchanging::giver(group, *giver);
            let place = offset(from - first);
            giver.info.laid(giver.number, PAYLOAD_BYTES, place, bytes);
            // SAFETY: whoever posted it promised that.
            unsafe { scatter(into, offset(from - at), bytes) };
        }
        self.gone += PAYLOAD_BYTES;
    }

    /// Whether all has gone.
    pub(super) fn is_over(&self) -> bool {
        self.gone as u64 >= self.longest
    }

    /// Does what follows, unless something has `failed`.
    pub(super) fn finish(mut self, failed: bool) {
        for round in std::mem::take(&mut self.rounds) {
            if failed {
                return;
            }
            for (_, into) in round.receives {
                let staged = self.staged.pop_front().expect("there is one for each");
                // SAFETY: both are as long, and memory of this exchange.
                unsafe { copy(&staged, &into) };
            }
            for local in round.then {
                // SAFETY: whoever posted it promised that the memory stays until it is over; what was
                // to be taken is there.
                unsafe { local.run() };
            }
        }
    }
}
