//! Collectives that fold: scans, and reductions that no NIC can do, because the operation is a
//! function of the program (MPI 5.0, 6.9.5).
//!
//! They are schedules ([`crate::schedules`]), and within a node exchanges that take in the same
//! rounds ([`super::exchange`]). Each rank that wants a result gets all contributions to it by
//! direct messages, and combines them **from the left, in the order of the communicator**:
//!
//! ```text
//! ((x0 OP x1) OP x2) OP ...
//! ```
//!
//! That order depends neither on nodes nor on the order of arrival. So results are the same to the
//! bit for every placement of ranks, and an operation need not be commutative. (Reductions by the
//! NICs have an order of their own, law 9.)
//!
//! | collective | messages of one rank | bytes it sends and receives |
//! |---|---|---|
//! | reduce | root: one from each other rank; others: one | root: all data; others: theirs |
//! | allreduce | one to and one from each other rank | its data p-1 times, and those of all others |
//! | reduce_scatter | one to and one from each other rank | what it must |
//! | scan, exscan | one to each higher rank, one from each lower one | its data p-1 times at most |
//!
//! An allreduce of long data would move less as a reduce_scatter and an allgather of the results,
//! at the price of a second slice and of sends that wait for receives, which schedules do not have
//! (a rank would wait for the progress of another one). Programs reduce few elements, and then the
//! number of slices determines the time.
//!
//! Contributions that have come and are not yet combined need memory. So a rank receives from as
//! many at a time as fit [`WINDOW_BYTES`]. Its senders send once in any case.

use crate::data::{ByteRange, DataView};
use crate::endpoint::{Endpoint, Request};
use crate::schedules::{Members, Plan};
use crate::steps::{Fold, LocalStep, Round};
use crate::transport::{Blocking, TooManyRequests};
use bcs_core::wait_state::MessageCollective;
use std::ops::Range;

/// Memory for contributions that have come and are not yet combined, unless one contribution is
/// larger: as much as stays in a usual L2 cache.
const WINDOW_BYTES: usize = 1 << 20;

/// The alignment of scratch memory, on which functions of the program rely.
const ALIGNMENT: usize = 16;

/// Contributions that ranks send to be combined.
#[derive(Debug)]
pub struct Contributions<'a> {
    /// World ranks, in the order in which their contributions are combined.
    pub from: &'a [u32],
    /// How to combine two of them.
    pub fold: Fold,
    /// The length of each.
    pub bytes: usize,
    /// The part of each that this rank needs. (The senders may not know it.)
    pub part: Range<usize>,
    /// The place of the result, which is as long as the part.
    pub output: DataView,
}

impl Plan {
    /// Adds the rounds that fold contributions. This rank's `own` may be one of them. It is only
    /// the part that the rank needs, and is only read.
    pub(super) fn fold(&mut self, contributions: Contributions<'_>, own: Option<(u32, &DataView)>) {
        let Contributions {
            from,
            fold,
            bytes,
            part,
            output,
        } = contributions;
        let own = |rank: u32| own.filter(|&(me, _)| me == rank).map(|(_, piece)| piece);
        let others = from.iter().filter(|&&rank| own(rank).is_none()).count();
        let window = (WINDOW_BYTES / bytes.max(1)).clamp(1, others.max(1));
        let slots: Vec<ByteRange> = (0..window.min(others))
            .map(|_| self.scratch.plain(bytes))
            .collect();
        let accumulator = self.scratch.plain(part.len());
        let (mut apart, mut round) = (None, Round::default());
        for (nth, &rank) in from.iter().enumerate() {
            let (operand, keeps) = match own(rank) {
                // A function writes its operand.
                Some(own) => (
                    own.clone(),
                    matches!(fold, Fold::Function(_)) || own.layout().is_some(),
                ),
                None => {
                    if round.receives.len() == window {
                        self.rounds.push_back(std::mem::take(&mut round));
                    }
                    let slot = slots[round.receives.len()];
                    round.receives.push((rank, slot.into()));
                    (
                        slot.part(part.clone()).into(),
                        !part.start.is_multiple_of(ALIGNMENT),
                    )
                }
            };
            if nth == 0 {
                round.then.push(copy(operand, accumulator.into()));
                continue;
            }
            let operand = if keeps {
                let apart = *apart.get_or_insert_with(|| self.scratch.plain(part.len()));
                round.then.push(copy(operand, apart.into()));
                apart
            } else {
                operand.plain().expect("what is in pieces was copied")
            };
            round.then.push(LocalStep::Combine {
                fold: fold.clone(),
                accumulator,
                operand,
            });
        }
        round.then.push(copy(accumulator.into(), output));
        self.rounds.push_back(round);
    }

    /// Does the same for the contributions of the members at these places, each as long as this
    /// rank's `own`.
    fn fold_all(
        &mut self,
        members: Members<'_>,
        places: Range<usize>,
        own: &DataView,
        output: DataView,
        fold: &Fold,
    ) {
        let contributions = Contributions {
            from: &members.world[places],
            fold: fold.clone(),
            bytes: own.len(),
            part: 0..own.len(),
            output,
        };
        self.fold(contributions, Some((members.world[members.me], own)));
    }

    /// Returns a copy of data that may be replaced while they are still being sent.
    fn copied(&mut self, from: &DataView) -> DataView {
        let to = self.scratch.piece(from.len());
        self.first.push(copy(from.clone(), to.clone()));
        to
    }
}

fn copy(from: DataView, to: DataView) -> LocalStep {
    LocalStep::Copy { from, to }
}

impl Endpoint {
    /// Posts this rank's part of a scan: `output` gets the combination of the contributions of the
    /// lower ranks and, if it is `inclusive`, of this one, in the order of the communicator. If it
    /// is not, rank 0's `output` is unchanged. Without `input` this rank contributes the contents
    /// of `output`.
    ///
    /// # Errors
    /// As [`bcs_scatter`](Self::bcs_scatter).
    pub fn bcs_scan(
        &self,
        members: Members<'_>,
        fold: &Fold,
        inclusive: bool,
        input: Option<DataView>,
        output: DataView,
        blocking: Blocking,
    ) -> Result<Request, TooManyRequests> {
        let scan = if inclusive {
            MessageCollective::Scan
        } else {
            MessageCollective::Exscan
        };
        let mut plan = Plan::of(scan, None);
        let Members { world, me, .. } = members;
        let own = input.unwrap_or_else(|| plan.copied(&output));
        let higher = world[me + 1..].iter();
        plan.sends = higher.map(|&rank| (rank, own.clone())).collect();
        let places = 0..me + usize::from(inclusive);
        if !places.is_empty() {
            plan.fold_all(members, places, &own, output, fold);
        }
        self.post_plan(members, plan, blocking)
    }

    /// Posts this rank's part of a reduction from `input` to `output`, at the place `root` or,
    /// without one, at all ranks. Other ranks do not use `output`. Both may be the same.
    ///
    /// # Errors
    /// As [`bcs_scatter`](Self::bcs_scatter).
    pub fn bcs_fold(
        &self,
        members: Members<'_>,
        fold: &Fold,
        root: Option<usize>,
        input: DataView,
        output: DataView,
        blocking: Blocking,
    ) -> Result<Request, TooManyRequests> {
        let world_root = root.map(|root| members.world[root]);
        let mut plan = Plan::of(MessageCollective::Reduce, world_root);
        let mut own = input;
        match root {
            None => {
                if own.address() == output.address() {
                    own = plan.copied(&own);
                }
                plan.sends = members.others(|_| own.clone());
            }
            Some(root) if root == members.me => {}
            Some(root) => plan.sends = vec![(members.world[root], own.clone())],
        }
        if root.is_none_or(|root| root == members.me) {
            plan.fold_all(members, 0..members.world.len(), &own, output, fold);
        }
        self.post_plan(members, plan, blocking)
    }

    /// Posts this rank's part of a reduction of which each member gets its block. This rank has
    /// `blocks`, one for each member. Its own one, combined over all members, goes to `output`. If
    /// that is `among` the blocks, they are copied first.
    ///
    /// # Errors
    /// As [`bcs_scatter`](Self::bcs_scatter).
    pub fn bcs_fold_scatter(
        &self,
        members: Members<'_>,
        fold: &Fold,
        blocks: &[DataView],
        output: DataView,
        among: bool,
        blocking: Blocking,
    ) -> Result<Request, TooManyRequests> {
        let mut plan = Plan::of(MessageCollective::ReduceScatter, None);
        let mut sends = members.others(|place| blocks[place].clone());
        if among {
            for (_, block) in &mut sends {
                *block = plan.copied(block);
            }
        }
        plan.sends = sends;
        let places = 0..members.world.len();
        plan.fold_all(members, places, &blocks[members.me], output, fold);
        self.post_plan(members, plan, blocking)
    }
}
