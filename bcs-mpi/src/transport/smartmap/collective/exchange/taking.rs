//! Taking what other members give: from their records or their memory.

use super::exchange_machine::ExchangeMachine;
use super::local_exchange::TakenBlocks;
use super::offered_block::{BlockLocation, Giver};
use crate::data::DataView;
use crate::transport::smartmap::collective::environment::CollectiveEnvironment;
use crate::transport::smartmap::collective::group::LocalGroup;

impl ExchangeMachine {
    /// Takes all data that are given to this rank. Returns `None` if a record is invalid. This rank
    /// ends then.
    pub(super) fn take_all(
        &mut self,
        group: &mut LocalGroup,
        around: CollectiveEnvironment<'_>,
    ) -> Option<()> {
        let (flow, me) = (self.flow, group.me);
        let takes = std::mem::replace(&mut self.exchange.takes, TakenBlocks::NOTHING);
        let givers = group.others().filter(move |&giver| flow.passes(giver, me));
        let TakenBlocks::Rounds(rounds) = takes else {
            for giver in self.direction.along(givers) {
                self.take(group, around, giver, &takes.of(giver))?;
            }
            return Some(());
        };
        for round in rounds {
            for (rank, into) in round.receives {
                let giver = group.member_of(rank, around.ranks);
                self.take(group, around, giver, &into)?;
            }
            for local in round.then {
                if self.ended.is_ok() {
                    local.run();
                }
            }
        }
        Some(())
    }

    /// Takes the data of one member.
    fn take(
        &mut self,
        group: &mut LocalGroup,
        around: CollectiveEnvironment<'_>,
        giver: usize,
        into: &DataView,
    ) -> Option<()> {
        let says = Giver::of(group, giver);
        let Some(gift) = says.gift(group.me) else {
            group.suspects(giver);
            return None;
        };
        if self.agrees(group, around, giver, gift.len, into.len()) && !into.is_empty() {
            match gift.lies {
                BlockLocation::Here { total, at } => says.take_laid((total, at), into),
                BlockLocation::There { address, .. } => {
                    let from = (giver, address);
                    self.fetched(group.fetch_along(around, self.direction, from, into));
                }
            }
        }
        Some(())
    }
}
