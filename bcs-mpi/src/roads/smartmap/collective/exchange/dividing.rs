//! Not all memory can be reached: an exchange is divided into [parts](super::parts).

use super::exchanging::Exchanging;
use super::gift::{Gift, Giver, Lies};
use super::give_and_take::{Exchange, Takes};
use super::parts::{Parts, Taking};
use crate::data::Piece;
use crate::roads::smartmap::collective::group::Group;
use crate::roads::smartmap::collective::surroundings::Surroundings;

impl Exchanging {
    /// All have said what they give, and that not all memory can be reached. `None` if a record is
    /// rubbish.
    pub(super) fn begin_parts(
        &mut self,
        group: &mut Group,
        around: Surroundings<'_>,
    ) -> Option<Parts> {
        let (me, members) = (group.me, group.members.len());
        let streams = (0..members).map(|member| Giver::of(group, member).stream().1);
        let mut parts = Parts {
            longest: streams.max().unwrap_or(0),
            ..Parts::default()
        };
        if Giver::of(group, me).is_in_memory() {
            parts.own = self.exchange.gives.len(me, members);
        }
        for (giver, into) in self.wanted(&mut parts, group, around) {
            let Some(Gift { len, lies }) = Giver::of(group, giver).gift(me) else {
                group.suspects(giver);
                return None;
            };
            if !self.agrees(group, around, giver, len, into.len()) || into.is_empty() {
                continue;
            }
            match lies {
                Lies::Here { total, at } => {
                    Giver::of(group, giver).take_laid((total, at), &into);
                }
                Lies::There { at, .. } => parts.taking.push(Taking { giver, at, into }),
            }
        }
        Some(parts)
    }

    /// What is to be taken from whom, and where to.
    fn wanted(
        &mut self,
        parts: &mut Parts,
        group: &Group,
        around: Surroundings<'_>,
    ) -> Vec<(usize, Piece)> {
        let flow = self.flow;
        let givers = group.others();
        let givers = givers.filter(|&giver| flow.passes(giver, group.me));
        let Exchange { takes, scratch, .. } = &mut self.exchange;
        match std::mem::replace(takes, Takes::NOTHING) {
            Takes::Rounds(rounds) => {
                parts.rounds = rounds;
                let receives = parts.rounds.iter().flat_map(|round| &round.receives);
                let giver = |rank: u32| group.member_of(rank, around.first);
                if parts.rounds.len() == 1 {
                    let wanted = receives.map(|(rank, into)| (giver(*rank), into.clone()));
                    let wanted = wanted.collect();
                    parts.rounds[0].receives.clear();
                    return wanted;
                }
                let staged = receives.map(|(rank, into)| (giver(*rank), scratch.piece(into.len())));
                let staged: Vec<(usize, Piece)> = staged.collect();
                parts.staged = staged.iter().map(|(_, piece)| piece.clone()).collect();
                staged
            }
            takes => givers.map(|giver| (giver, takes.of(giver))).collect(),
        }
    }
}
