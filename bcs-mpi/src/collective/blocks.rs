//! bcs_scatter, bcs_gather, bcs_allgather, bcs_alltoall and what is made like them: which messages
//! each of them is.
//!
//! Here time is counted in slices, not in messages: whatever was posted before a strobe is
//! exchanged in that slice, and BR shares out the bandwidth among all of it. A tree over ranks
//! would take the logarithm of their number in slices where one slice will do, and would keep
//! ranks in the middle of the tree from computing. So every collective here is **one round of
//! direct messages**:
//!
//! | collective | messages of one rank | bytes it sends and receives |
//! |---|---|---|
//! | scatter, gather | root: one for each other rank; others: one | what they must |
//! | allgather | one to and one from each other rank | its block p-1 times, and all others |
//! | alltoall | one to and one from each other rank; short blocks by leaders ([`MembersByNode`]) | what it must |
//! | reduce_scatter | none: an allreduce by the NICs, and the own part of it | |
//!
//! On a communicator whose members are all on one node they exchange directly instead
//! ([`super::exchange`]).
//!
//! The bound is that of request slots: 2^20 of them are enough for 30 alltoalls at the same time
//! among 16,384 ranks. Small messages are eager and keep no slot at the sender.
//!
//! Scans, and reductions by functions of the program's, are made likewise ([`super::fold`]).
//!
//! **reduce_scatter** by a predefined operation takes its own part of an allreduce into memory of its own. The reduction tree
//! does not depend on the root, so these are the bits of a reduce followed by a scatterv.

use crate::data::{self, ByteRange, DataView, DataViews};
use crate::endpoint::{Endpoint, Request};
use crate::schedules::{Members, MembersByNode, OneRound, Plan, RoundBlocks};
use crate::steps::{CollectiveArguments, LocalStep, Round};
use crate::transport::{Blocking, TooManyRequests};
use bcs_core::descriptor::CollectiveKind;
use bcs_core::reduction::{Datatype, Op};
use bcs_core::wait_state::MessageCollective;

impl Endpoint {
    /// Posts this rank's part of a broadcast from `root` of data that do not lie side by side. The
    /// collective helpers of NICs know nothing of layouts, so it goes through a copy at each rank.
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

    /// Posts this rank's part of a scatter from `root`, which has a block for each member;
    /// `blocks` is not looked at elsewhere. What this rank gets goes to `into`, unless that is
    /// none: at the root its own block then stays where it is. "Non-vectorial" is with blocks of
    /// one length, side by side.
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

    /// Posts this rank's part of a gather at `root`, which has a block for each member; `blocks`
    /// is not looked at elsewhere. This rank contributes `from`; at the root it may be none if its
    /// block is where it belongs already.
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
    /// `from`, or, without it, what is in its own block.
    ///
    /// # Errors
    /// As [`bcs_scatter`](Self::bcs_scatter).
    pub fn bcs_allgather(
        &self,
        members: Members<'_>,
        from: Option<DataView>,
        blocks: DataViews,
        blocking: Blocking,
    ) -> Result<Request, TooManyRequests> {
        let own = blocks.of(members.me);
        let mut round = OneRound::new(MessageCollective::Allgather, None);
        round.out = RoundBlocks::Same(from.clone().unwrap_or_else(|| own.clone()));
        round.into = RoundBlocks::Each(blocks);
        round.own = from.map(|from| (from, own));
        self.post_round(members, round, blocking)
    }

    /// Posts this rank's part of an all-to-all: it sends `out`, one block for each member, and
    /// receives into `into`, one from each. Without `out`, what is in `into` is sent and replaced;
    /// that needs a copy of it. If all blocks are to have one length, all members give their `nodes`:
    /// short ones then go by leaders ([`MembersByNode`]).
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
                    return DataView::EMPTY; // It stays where it is.
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

    /// Posts this rank's part of a reduction of which each member gets a part: of this rank's
    /// `input` the bytes from `offset` on, combined with everybody's, go to `into`, which may be a
    /// part of `input`.
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
