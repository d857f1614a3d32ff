//! Taking what other members give: from their records or their memory.

use super::exchanging::Exchanging;
use super::gift::{Giver, Lies};
use super::give_and_take::Takes;
use crate::data::Piece;
use crate::roads::smartmap::collective::group::Group;
use crate::roads::smartmap::collective::surroundings::Surroundings;

impl Exchanging {
    /// Takes all that is given to this rank. `None` if a record is rubbish: then this rank ends.
    pub(super) fn take_all(&mut self, group: &mut Group, around: Surroundings<'_>) -> Option<()> {
        let (flow, me) = (self.flow, group.me);
        let takes = std::mem::replace(&mut self.exchange.takes, Takes::NOTHING);
        let givers = group.others().filter(move |&giver| flow.passes(giver, me));
        let Takes::Rounds(rounds) = takes else {
            for giver in self.direction.along(givers) {
                self.take(group, around, giver, &takes.of(giver))?;
            }
            return Some(());
        };
        for round in rounds {
            for (rank, into) in round.receives {
                let giver = group.member_of(rank, around.first);
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

    /// Takes what one member gives.
    fn take(
        &mut self,
        group: &mut Group,
        around: Surroundings<'_>,
        giver: usize,
        into: &Piece,
    ) -> Option<()> {
        let says = Giver::of(group, giver);
        let Some(gift) = says.gift(group.me) else {
            group.suspects(giver);
            return None;
        };
        if self.agrees(group, around, giver, gift.len, into.len()) && !into.is_empty() {
            match gift.lies {
                Lies::Here { total, at } => says.take_laid((total, at), into),
                Lies::There { address, .. } => {
                    let from = (giver, address);
                    self.fetched(group.fetch_along(around, self.direction, from, into));
                }
            }
        }
        Some(())
    }
}
