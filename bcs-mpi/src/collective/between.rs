//! Collectives between the two groups of an intercommunicator: one round of direct messages, as all
//! that are made of messages ([`super::exchange`]).
//!
//! | collective | messages of one rank |
//! |---|---|
//! | bcast, scatter | root: one to each rank of the other group; there: one from the root |
//! | gather, reduce | the other way round |
//! | allgather, alltoall, allreduce, reduce_scatter | one to and one from each rank of the other group |
//!
//! A broadcast or a reduction by the NICs within each group, and one message between their leaders,
//! would move less. But NICs number the collectives of a context in the order of their posts, and the
//! leader could post its part of one only when a message has come: by then the other ranks may have
//! posted later collectives. And it would take three slices instead of one.
//!
//! What has been contributed is folded from the left in the order of the group that contributes
//! ([`super::fold`]), so its bits depend on nothing else, and all ranks of a group get the same.
#![expect(unsafe_code, reason = "data is named by address, as the NIC needs it")]

use super::fold::{WINDOW_BYTES, copy};
use crate::data::Piece;
use crate::endpoint::{Endpoint, Request};
use crate::roads::TooManyRequests;
use crate::schedules::Plan;
use crate::steps::{Fold, Local, Round};
use bcs_core::whereabouts::Exchange;
use std::ops::Range;

/// What the ranks of the other group send to be combined.
#[derive(Debug)]
pub struct Contributions<'a> {
    /// World ranks, in the order of their group.
    pub from: &'a [u32],
    /// How two of them become one.
    pub fold: Fold,
    /// The length of each.
    pub bytes: usize,
    /// What this rank needs of each. (Who sends may not know which part that is.)
    pub part: Range<usize>,
    /// Where the result goes, which is as long as the part.
    pub output: Piece,
}

/// The alignment of scratch memory, which functions of the program's rely on.
const ALIGNMENT: usize = 16;

impl Plan {
    fn fold_all(&mut self, contributions: Contributions<'_>) {
        let Contributions {
            from,
            fold,
            bytes,
            part,
            output,
        } = contributions;
        let window = (WINDOW_BYTES / bytes.max(1)).clamp(1, from.len().max(1));
        let slots: Vec<Piece> = (0..window).map(|_| self.scratch.piece(bytes)).collect();
        let accumulator = self.scratch.piece(part.len());
        let aligned = part.start.is_multiple_of(ALIGNMENT);
        let apart = (!aligned).then(|| self.scratch.piece(part.len()));
        let mut round = Round::default();
        for (place, &rank) in from.iter().enumerate() {
            if round.receives.len() == window {
                self.rounds.push_back(std::mem::take(&mut round));
            }
            let slot = slots[round.receives.len()].clone();
            let operand = Piece::new(slot.address + part.start as u64, part.len());
            round.receives.push((rank, slot));
            if place == 0 {
                round.then.push(copy(operand, accumulator.clone()));
                continue;
            }
            let operand = match &apart {
                None => operand,
                Some(apart) => {
                    round.then.push(copy(operand, apart.clone()));
                    apart.clone()
                }
            };
            round.then.push(Local::Combine {
                fold: fold.clone(),
                accumulator: accumulator.clone(),
                operand,
            });
        }
        round.then.push(copy(accumulator, output));
        self.rounds.push_back(round);
    }
}

impl Endpoint {
    /// Posts this rank's part of an exchange between two groups: it sends all of `out` and receives
    /// all of `into`, each to or from a world rank of the other group. All members of both groups
    /// post one, also if it is of nothing. What they call it, with the world rank of the root as far
    /// as they know it, is for those who wonder why they wait.
    ///
    /// # Safety
    /// As for [`bcs_scatter`](Self::bcs_scatter).
    ///
    /// # Errors
    /// As [`bcs_scatter`](Self::bcs_scatter).
    pub unsafe fn bcs_between(
        &self,
        context: u32,
        (exchange, root): (Exchange, Option<u32>),
        out: Vec<(u32, Piece)>,
        into: Vec<(u32, Piece)>,
    ) -> Result<Request, TooManyRequests> {
        let mut plan = Plan {
            sends: out,
            ..Plan::of(exchange, root)
        };
        plan.rounds.push_back(Round {
            receives: into,
            then: Vec::new(),
        });
        // SAFETY: the caller's promise.
        unsafe { self.post_schedule(context, plan) }
    }

    /// Posts this rank's part of a reduction between two groups: it sends all of `out`, and combines
    /// what the other group sends.
    ///
    /// # Safety
    /// As for [`bcs_scatter`](Self::bcs_scatter).
    ///
    /// # Errors
    /// As [`bcs_scatter`](Self::bcs_scatter).
    ///
    /// # Panics
    /// If the part is not within a contribution, or not as long as the output.
    pub unsafe fn bcs_fold_between(
        &self,
        context: u32,
        (exchange, root): (Exchange, Option<u32>),
        out: Vec<(u32, Piece)>,
        contributions: Contributions<'_>,
    ) -> Result<Request, TooManyRequests> {
        let part = &contributions.part;
        assert!(part.start <= part.end && part.end <= contributions.bytes);
        assert_eq!(part.len(), contributions.output.len);
        let mut plan = Plan {
            sends: out,
            ..Plan::of(exchange, root)
        };
        plan.fold_all(contributions);
        // SAFETY: the caller's promise.
        unsafe { self.post_schedule(context, plan) }
    }
}
