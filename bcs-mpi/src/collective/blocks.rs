//! bcs_scatter, bcs_gather, bcs_allgather, bcs_alltoall and similar collectives: the messages of
//! each of them.
//!
//! The cost is a number of slices, not of messages: all that was posted before a strobe is
//! exchanged in that slice, and BR shares out the bandwidth among all of it. A tree over ranks
//! would take a logarithmic number of slices instead of one, and would keep ranks in the middle of
//! the tree from computing. So every collective here is **one round of direct messages**:
//!
//! | collective | messages of one rank | bytes it sends and receives |
//! |---|---|---|
//! | scatter, gather | root: one for each other rank; others: one | what they must |
//! | allgather | one to and one from each other rank; short blocks by leaders ([`MembersByNode`]) | its block p-1 times, and all others |
//! | alltoall | one to and one from each other rank; short blocks by leaders | what it must |
//! | reduce_scatter | none: an allreduce by the NICs, and the own part of it | |
//!
//! On a communicator whose members are all on one node they exchange directly instead
//! ([`super::exchange`]).
//!
//! The number of request slots is the limit: 2^20 of them are enough for 30 alltoalls at the same
//! time among 16,384 ranks. Small messages are eager and keep no slot at the sender.
//!
//! Scans, and reductions by functions of the program, work in the same way ([`super::fold`]).
//!
//! **reduce_scatter** by a predefined operation does an allreduce into scratch memory and takes its
//! own part of the result. The reduction tree does not depend on the root, so the result has the
//! same bits as a reduce followed by a scatterv.

use crate::data::{self, ByteRange, DataView, DataViews};
use crate::endpoint::{Endpoint, Request};
use crate::schedules::{Members, MembersByNode, OneRound, Plan, RoundBlocks};
use crate::steps::{CollectiveArguments, LocalStep, Round};
use crate::transport::{Blocking, TooManyRequests};
use bcs_core::descriptor::CollectiveKind;
use bcs_core::reduction::{Datatype, Op};
use bcs_core::wait_state::MessageCollective;

impl Endpoint {
    /// Posts this rank's part of a broadcast from `root` of data that are not contiguous. The
    /// collective helpers of NICs know no layouts, so each rank copies the data.
    ///
    /// # Errors
    /// As [`bcs_scatter`](Self::bcs_scatter).
    pub fn bcs_bcast_packed(
        &self,
        members: Members<'_>,
        root: usize,
        data: DataView,
    ) -> Result<Request, TooManyRequests> {
        let mut plan = Plan::default();
        let packed = plan.scratch.plain(data.len());
        let sends = members.me == root;
        let mut then = Vec::new();
        if sends {
            let (from, to) = (data, packed.into());
            plan.first.push(LocalStep::Copy { from, to });
        } else {
            let (from, to) = (packed.into(), data);
            then.push(LocalStep::Copy { from, to });
        }
        plan.part = Some(CollectiveArguments::broadcast(
            members.world[root],
            packed,
            sends,
        ));
        plan.rounds.push_back(Round::steps(then));
        self.post_messages(members.context, plan)
    }

    /// Posts this rank's part of a reduction of data that are not contiguous, at `root` (a world
    /// rank) or, without one, at all ranks: other ranks do not use `output`. Only this rank knows
    /// that its data are in pieces, so it takes part as all others do, with contiguous memory: that
    /// of the result, or of a packed copy. The result replaces the contribution there.
    ///
    /// # Errors
    /// As [`bcs_scatter`](Self::bcs_scatter).
    pub fn bcs_reduce_packed(
        &self,
        members: Members<'_>,
        (op, datatype): (Op, Datatype),
        root: Option<u32>,
        (input, output): (DataView, DataView),
    ) -> Result<Request, TooManyRequests> {
        let mut plan = Plan::default();
        let gets_result = root.is_none_or(|root| root == members.world[members.me]);
        let bytes = input.len();
        let packed = match output.plain() {
            Some(output) if gets_result => output,
            _ => plan.scratch.plain(bytes),
        };
        let (from, to) = (input, packed.into());
        plan.first.push(LocalStep::Copy { from, to });
        let mut then = Vec::new();
        if gets_result && output.layout().is_some() {
            let (from, to) = (packed.into(), output);
            then.push(LocalStep::Copy { from, to });
        }
        plan.part = Some(CollectiveArguments {
            kind: CollectiveKind::Reduce { root, op, datatype },
            bytes,
            input: Some(packed),
            output: if gets_result {
                packed
            } else {
                ByteRange::EMPTY
            },
        });
        plan.rounds.push_back(Round::steps(then));
        self.post_messages(members.context, plan)
    }

    /// Posts this rank's part of a scatter from `root`, which has a block for each member. Other
    /// ranks do not use `blocks`. This rank's block goes to `into`. If `into` is `None`, the root's
    /// own block stays in place. "Non-vectorial" calls have contiguous blocks of one length.
    ///
    /// # Errors
    /// When there are not enough request slots: nothing is posted then.
    pub fn bcs_scatter(
        &self,
        members: Members<'_>,
        root: usize,
        blocks: DataViews,
        into: Option<DataView>,
        blocking: Blocking,
    ) -> Result<Request, TooManyRequests> {
        let mut round = OneRound::new(MessageCollective::Scatter, Some(root));
        if members.me == root {
            round.own = into.map(|into| (blocks.of(root), into));
            round.out = RoundBlocks::Each(blocks);
        } else {
            round.into = RoundBlocks::One(root, into.unwrap_or(DataView::EMPTY));
        }
        self.post_round(members, round, blocking)
    }

    /// Posts this rank's part of a gather at `root`, which has a block for each member. Other ranks
    /// do not use `blocks`. This rank contributes `from`. At the root it may be none if its block
    /// is already in place.
    ///
    /// # Errors
    /// As [`bcs_scatter`](Self::bcs_scatter).
    pub fn bcs_gather(
        &self,
        members: Members<'_>,
        root: usize,
        from: Option<DataView>,
        blocks: DataViews,
        blocking: Blocking,
    ) -> Result<Request, TooManyRequests> {
        let mut round = OneRound::new(MessageCollective::Gather, Some(root));
        if members.me == root {
            round.own = from.map(|from| (from, blocks.of(root)));
            round.into = RoundBlocks::Each(blocks);
        } else {
            round.out = RoundBlocks::One(root, from.unwrap_or(DataView::EMPTY));
        }
        self.post_round(members, round, blocking)
    }

    /// Posts this rank's part of an allgather into `blocks`, one for each member. It contributes
    /// `from`, or, without it, the contents of its own block. If all blocks are to have one length,
    /// all members give their `nodes`: short ones then go by leaders ([`MembersByNode`]).
    ///
    /// # Errors
    /// As [`bcs_scatter`](Self::bcs_scatter).
    pub fn bcs_allgather(
        &self,
        members: Members<'_>,
        from: Option<DataView>,
        blocks: DataViews,
        nodes: Option<MembersByNode>,
        blocking: Blocking,
    ) -> Result<Request, TooManyRequests> {
        let own = blocks.of(members.me);
        let mut round = OneRound::new(MessageCollective::Allgather, None);
        round.out = RoundBlocks::Same(from.clone().unwrap_or_else(|| own.clone()));
        round.into = RoundBlocks::Each(blocks);
        round.own = from.map(|from| (from, own));
        round.nodes = nodes;
        self.post_round(members, round, blocking)
    }

    /// Posts this rank's part of an all-to-all: it sends `out`, one block for each member, and
    /// receives into `into`, one from each. Without `out`, it sends the contents of `into` and
    /// replaces them, which needs a copy. If all blocks are to have one length, all members give
    /// their `nodes`: short ones then go by leaders ([`MembersByNode`]).
    ///
    /// # Errors
    /// As [`bcs_scatter`](Self::bcs_scatter).
    #[inline]
    pub fn bcs_alltoall(
        &self,
        members: Members<'_>,
        out: Option<DataViews>,
        into: DataViews,
        nodes: Option<MembersByNode>,
        blocking: Blocking,
    ) -> Result<Request, TooManyRequests> {
        let (me, mut round) = (members.me, OneRound::new(MessageCollective::Alltoall, None));
        let out = if let Some(out) = out {
            round.own = Some((out.of(me), into.of(me)));
            out
        } else {
            let mut copied = |place: usize| {
                if place == me {
                    return DataView::EMPTY; // The block stays in place.
                }
                let from = into.of(place);
                let copy = round.scratch.piece(from.len());
                data::copy(&from, &copy);
                copy
            };
            DataViews::Each((0..members.world.len()).map(&mut copied).collect())
        };
        round.out = RoundBlocks::Each(out);
        round.into = RoundBlocks::Each(into);
        round.nodes = nodes;
        self.post_round(members, round, blocking)
    }

    /// Posts this rank's part of a reduction of which each member gets a part. This rank gets the
    /// bytes from `offset` on, combined over all members, in `into`, which may be a part of
    /// `input`.
    ///
    /// # Errors
    /// As [`bcs_scatter`](Self::bcs_scatter).
    ///
    /// # Panics
    /// If the part is not within `input`.
    pub fn bcs_reduce_scatter(
        &self,
        members: Members<'_>,
        (op, datatype): (Op, Datatype),
        input: ByteRange,
        offset: usize,
        into: ByteRange,
    ) -> Result<Request, TooManyRequests> {
        let part = |of: ByteRange| LocalStep::Copy {
            from: of.part(offset..offset + into.len()).into(),
            to: into.into(),
        };
        let mut plan = Plan::default();
        if members.world.len() == 1 {
            plan.first.push(part(input));
        } else {
            let result = plan.scratch.plain(input.len());
            plan.part = Some(CollectiveArguments {
                kind: CollectiveKind::Reduce {
                    root: None,
                    op,
                    datatype,
                },
                bytes: input.len(),
                input: Some(input),
                output: result,
            });
            plan.rounds.push_back(Round::steps(vec![part(result)]));
        }
        self.post_messages(members.context, plan)
    }
}
