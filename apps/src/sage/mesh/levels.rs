//! Chooses the level of each cell, so that levels of neighbours differ by at most one.
//!
//! Cells wish to be finer, coarser or unchanged. A wish to be finer is always granted, and raises
//! neighbours as far as necessary. Siblings become coarser when all of them wish it and no
//! neighbour forbids it. The result is the lowest choice that keeps the rules; it does not depend
//! on owners.

use super::Mesh;
use super::faces::OUTSIDE;
use super::halo::{FixedDoubles, HaloExchange};
use super::key::Side;
use crate::MessagePassing;

/// Tag of the messages with wishes.
const WISHES: i32 = 2;

/// The need for finer cells in a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum RefinementNeed {
    /// It may become coarser.
    None,
    /// It is as fine as it should be.
    Some,
    /// It should become finer.
    Much,
}

impl FixedDoubles for RefinementNeed {
    const WORDS: usize = 1;

    fn put(&self, words: &mut Vec<f64>) {
        words.push(match self {
            RefinementNeed::None => 0.0,
            RefinementNeed::Some => 1.0,
            RefinementNeed::Much => 2.0,
        });
    }

    fn take(words: &[f64]) -> Self {
        match words {
            [1.0] => RefinementNeed::Some,
            [2.0] => RefinementNeed::Much,
            _ => RefinementNeed::None,
        }
    }
}

/// The level that a cell will have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct TargetLevel(pub(crate) u8);

impl FixedDoubles for TargetLevel {
    const WORDS: usize = 1;

    fn put(&self, words: &mut Vec<f64>) {
        words.push(f64::from(self.0));
    }

    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a level"
    )]
    fn take(words: &[f64]) -> Self {
        TargetLevel(words[0] as u8)
    }
}

impl<const D: usize> Mesh<D> {
    /// Spreads the need to neighbours, up to `cells` cells away. A feature then stays within its
    /// fine cells until the levels are chosen again.
    pub(crate) fn spread_need<M: MessagePassing>(
        &mut self,
        mpi: &M,
        interest: &mut [RefinementNeed],
        cells: u32,
    ) -> Result<(), M::Error> {
        let mut exchange = HaloExchange::default();
        for _ in 0..cells {
            self.halo.exchange(mpi, interest, WISHES, &mut exchange)?;
            let before = interest.to_vec();
            for place in self.own.clone() {
                if self
                    .beside(place)
                    .any(|other| before[other] == RefinementNeed::Much)
                {
                    interest[place] = RefinementNeed::Much;
                }
            }
        }
        Ok(())
    }

    /// Returns the level that a cell with this need wishes to have.
    pub(crate) fn target_level(
        &self,
        place: usize,
        interest: RefinementNeed,
        finest: u8,
    ) -> TargetLevel {
        let level = self.keys[place].level();
        TargetLevel(match interest {
            RefinementNeed::None => level.saturating_sub(1),
            RefinementNeed::Some => level,
            RefinementNeed::Much => (level + 1).min(finest),
        })
    }

    /// Turns wishes into the levels that own cells will have. Returns whether any level changes.
    pub(crate) fn settle_levels<M: MessagePassing>(
        &mut self,
        mpi: &M,
        wishes: &mut [TargetLevel],
    ) -> Result<bool, M::Error> {
        let mut exchange = HaloExchange::default();
        loop {
            self.halo.exchange(mpi, wishes, WISHES, &mut exchange)?;
            let mut raised = [0.0];
            while self.raise(wishes) {
                raised = [1.0];
            }
            mpi.allreduce_max(&mut raised)?;
            if raised == [0.0] {
                break;
            }
        }
        let changes = self
            .own
            .clone()
            .any(|place| wishes[place].0 != self.keys[place].level());
        let mut changes = [f64::from(u8::from(changes))];
        mpi.allreduce_max(&mut changes)?;
        Ok(changes == [1.0])
    }

    /// Raises own cells once, as far as their neighbours and siblings require. Returns whether any
    /// was raised.
    fn raise(&self, wishes: &mut [TargetLevel]) -> bool {
        let mut raised = false;
        for place in self.own.clone() {
            let level = self.keys[place].level();
            let beside = self.beside(place).map(|other| wishes[other].0).max();
            let mut least = beside.unwrap_or(0).saturating_sub(1);
            if wishes[place].0 < level && !self.brothers_agree(place, wishes) {
                least = least.max(level);
            }
            if wishes[place].0 < least {
                wishes[place].0 = least;
                raised = true;
            }
        }
        raised
    }

    /// Returns whether all parts of a cell's parent are cells that wish to merge into it.
    fn brothers_agree(&self, place: usize, wishes: &[TargetLevel]) -> bool {
        let key = self.keys[place];
        let Some((parent, first)) = key.parent().zip(place.checked_sub(key.number())) else {
            return false;
        };
        (0..1 << D).all(|number| {
            let brother = first + number;
            self.keys.get(brother) == Some(&parent.child(number)) && wishes[brother].0 < key.level()
        })
    }

    /// Returns the local neighbours of an own cell.
    pub(crate) fn beside(&self, place: usize) -> impl Iterator<Item = usize> {
        let sides = (0..D).flat_map(|direction| Side::BOTH.map(|side| (direction, side)));
        let own = place - self.own.start;
        let links =
            sides.flat_map(move |(direction, side)| self.links.at::<D>(own, direction, side));
        links
            .filter(|link| link.beyond != OUTSIDE)
            .map(|link| link.beyond as usize)
    }
}
