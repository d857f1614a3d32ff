//! Exchanges among neighbours: one round of messages, of which several may go to the same rank.
//!
//! All messages of a collective have the same tag, and messages from one rank with one tag are
//! matched in the order of their posts. So only their order distinguishes several messages between
//! the same two ranks: the k-th that is sent belongs to the k-th receive. Data from a rank to
//! itself is copied instead of sent, by the same rule.

use crate::data::DataView;
use crate::endpoint::{Endpoint, Request};
use crate::schedules::{Members, Plan};
use crate::steps::{LocalStep, Round};
use crate::transport::TooManyRequests;
use bcs_core::wait_state::MessageCollective;

/// Data that are sent to a member of a communicator or received from it, by its place.
pub type Parcel = (usize, DataView);

impl Endpoint {
    /// Posts this rank's part of an exchange among neighbours: it sends all of `out` and receives
    /// all of `into`, in this order if several are to or from the same member.
    ///
    /// # Errors
    /// As [`bcs_scatter`](Self::bcs_scatter).
    ///
    /// # Panics
    /// If this rank's sends to itself and its receives from itself do not match.
    pub fn bcs_neighbors(
        &self,
        members: Members<'_>,
        out: Vec<Parcel>,
        into: Vec<Parcel>,
    ) -> Result<Request, TooManyRequests> {
        let split = |parcels: Vec<Parcel>| -> (Vec<Parcel>, Vec<Parcel>) {
            parcels
                .into_iter()
                .partition(|(place, _)| *place == members.me)
        };
        let named = |parcels: Vec<Parcel>| -> Vec<(u32, DataView)> {
            let name = |(place, piece): Parcel| (members.world[place], piece);
            parcels.into_iter().map(name).collect()
        };
        let ((from_me, out), (to_me, into)) = (split(out), split(into));
        assert_eq!(
            from_me.len(),
            to_me.len(),
            "what a rank sends itself it receives"
        );
        let copy = |((_, from), (_, to)): (Parcel, Parcel)| {
            assert_eq!(from.len(), to.len(), "what a rank sends itself it receives");
            LocalStep::Copy { from, to }
        };
        let mut plan = Plan {
            first: from_me.into_iter().zip(to_me).map(copy).collect(),
            sends: named(out),
            ..Plan::of(MessageCollective::Neighbors, None)
        };
        let mut receives = named(into);
        receives.reverse(); // A round is posted from its end.
        plan.rounds.push_back(Round::of(receives));
        self.post_messages(members.context, plan)
    }
}
