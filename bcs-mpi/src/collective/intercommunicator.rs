//! Collectives between the two groups of an intercommunicator: one round of direct messages, like
//! all that are made of messages ([`super::blocks`]).
//!
//! | collective | messages of one rank |
//! |---|---|
//! | bcast, scatter | root: one to each rank of the other group; there: one from the root |
//! | gather, reduce | the other way round |
//! | allgather, alltoall, allreduce, reduce_scatter | one to and one from each rank of the other group |
//!
//! A broadcast or a reduction by the NICs within each group, and one message between their leaders,
//! would move less. But NICs number the collectives of a context in the order of their posts, and
//! the leader could post its part of one only when a message has come: by then the other ranks may
//! have posted later collectives. And it would take three slices instead of one.
//!
//! Contributions are folded from the left in the order of the group that contributes
//! ([`super::fold`]). So the bits of the result depend on nothing else, and all ranks of a group
//! get the same.

use super::fold::Contributions;
use crate::data::DataView;
use crate::endpoint::{Endpoint, Request};
use crate::schedules::Plan;
use crate::steps::Round;
use crate::transport::TooManyRequests;
use bcs_core::wait_state::MessageCollective;

impl Endpoint {
    /// Posts this rank's part of an exchange between two groups: it sends all of `out` and receives
    /// all of `into`, each to or from a world rank of the other group. All members of both groups
    /// post one, even an empty one. The name of the call, with the world rank of the root as far as
    /// it is known, is published in the wait state.
    ///
    /// # Errors
    /// As [`bcs_scatter`](Self::bcs_scatter).
    pub fn bcs_between(
        &self,
        context: u32,
        (exchange, root): (MessageCollective, Option<u32>),
        out: Vec<(u32, DataView)>,
        into: Vec<(u32, DataView)>,
    ) -> Result<Request, TooManyRequests> {
        let mut plan = Plan {
            sends: out,
            ..Plan::of(exchange, root)
        };
        plan.rounds.push_back(Round::of(into));
        self.post_messages(context, plan)
    }

    /// Posts this rank's part of a reduction between two groups: it sends all of `out`, and
    /// combines the contributions of the other group.
    ///
    /// # Errors
    /// As [`bcs_scatter`](Self::bcs_scatter).
    ///
    /// # Panics
    /// If the part is not within a contribution, or not as long as the output.
    pub fn bcs_fold_between(
        &self,
        context: u32,
        (exchange, root): (MessageCollective, Option<u32>),
        out: Vec<(u32, DataView)>,
        contributions: Contributions<'_>,
    ) -> Result<Request, TooManyRequests> {
        let part = &contributions.part;
        assert!(part.start <= part.end && part.end <= contributions.bytes);
        assert_eq!(part.len(), contributions.output.len());
        let mut plan = Plan {
            sends: out,
            ..Plan::of(exchange, root)
        };
        plan.fold(contributions, None);
        self.post_messages(context, plan)
    }
}
