//! Division of an exchange into [parts](super::parts), if not all memory can be reached.

use super::exchange_machine::ExchangeMachine;
use super::local_exchange::{LocalExchange, TakenBlocks};
use super::offered_block::{BlockLocation, Giver, OfferedBlock};
use super::parts::{PartwiseExchange, StreamReceive};
use crate::data::DataView;
use crate::transport::smartmap::collective::environment::CollectiveEnvironment;
use crate::transport::smartmap::collective::group::LocalGroup;

impl ExchangeMachine {
    /// Begins the parts when all have published what they give, and that not all memory can be
    /// reached. Returns `None` if a record is invalid.
    pub(super) fn begin_parts(
        &mut self,
        group: &mut LocalGroup,
        around: CollectiveEnvironment<'_>,
    ) -> Option<PartwiseExchange> {
        let (me, members) = (group.me, group.members.len());
        let streams = (0..members).map(|member| Giver::of(group, member).stream().1);
        let mut parts = PartwiseExchange {
            longest: streams.max().unwrap_or(0),
            ..PartwiseExchange::default()
        };
        if Giver::of(group, me).is_in_memory() {
            parts.own = self.exchange.gives.len(me, members);
        }
        for (giver, into) in self.wanted(&mut parts, group, around) {
            let Some(OfferedBlock { len, lies }) = Giver::of(group, giver).gift(me) else {
                group.suspects(giver);
                return None;
            };
            if !self.agrees(group, around, giver, len, into.len()) || into.is_empty() {
                continue;
            }
            match lies {
                BlockLocation::Here { total, at } => {
                    Giver::of(group, giver).take_laid((total, at), &into);
                }
                BlockLocation::There { at, .. } => {
                    parts.taking.push(StreamReceive { giver, at, into })
                }
            }
        }
        Some(parts)
    }

    /// Returns what to take from each member, and where to.
    fn wanted(
        &mut self,
        parts: &mut PartwiseExchange,
        group: &LocalGroup,
        around: CollectiveEnvironment<'_>,
    ) -> Vec<(usize, DataView)> {
        let flow = self.flow;
        let givers = group.others();
        let givers = givers.filter(|&giver| flow.passes(giver, group.me));
        let LocalExchange { takes, scratch, .. } = &mut self.exchange;
        match std::mem::replace(takes, TakenBlocks::NOTHING) {
            TakenBlocks::Rounds(rounds) => {
                parts.rounds = rounds;
                let receives = parts.rounds.iter().flat_map(|round| &round.receives);
                let giver = |rank: u32| group.member_of(rank, around.ranks);
                if parts.rounds.len() == 1 {
                    let wanted = receives.map(|(rank, into)| (giver(*rank), into.clone()));
                    let wanted = wanted.collect();
                    parts.rounds[0].receives.clear();
                    return wanted;
                }
                let staged = receives.map(|(rank, into)| (giver(*rank), scratch.piece(into.len())));
                let staged: Vec<(usize, DataView)> = staged.collect();
                parts.staged = staged.iter().map(|(_, piece)| piece.clone()).collect();
                staged
            }
            takes => givers.map(|giver| (giver, takes.of(giver))).collect(),
        }
    }
}
