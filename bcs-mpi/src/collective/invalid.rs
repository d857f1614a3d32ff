//! How a rank takes part in a collective that it called with a wrong argument: it does what the others wait for, and
//! gives them nothing but word of it ([`InvalidCall`]).
//!
//! Where members arrive, at their records or at NICs, that is one arrival, whatever was called: a mismatch, of which all are
//! told as of any other. Where they exchange messages it is as many as the others wait for, without data. What they
//! send this rank it takes, as far as there is room, which is none.

use super::choice::{Call, Way};
use crate::data::Piece;
use crate::endpoint::{Endpoint, Request};
use crate::roads::{Blocking, TooManyRequests};
use crate::schedules::{Hierarchy, Members, Nodes, Plan};
use crate::steps::{Part, Round};
use bcs_core::descriptor::{CollectiveKind, InvalidCall};
use bcs_core::whereabouts::{Called, Exchange};

/// With whom a rank exchanges messages.
#[derive(Debug)]
pub struct Correspondents {
    /// What the others call.
    pub exchange: Exchange,
    /// World ranks that wait for a message of this one.
    pub to: Vec<u32>,
    /// World ranks that send it one.
    pub from: Vec<u32>,
    /// Short messages may go by the leaders of these nodes.
    pub nodes: Option<Nodes>,
}

/// What the others do in a collective.
#[derive(Debug)]
pub enum Participation {
    /// They arrive: barriers, broadcasts, reductions by predefined operations.
    Arrive,
    /// They exchange messages, or if all are on one node arrive there.
    Exchange(Correspondents),
    /// They exchange messages, wherever they are: among neighbours, and between two groups.
    Messages(Correspondents),
}

/// Messages without data to or from each of these.
fn empty(ranks: &[u32]) -> Vec<(u32, Piece)> {
    ranks.iter().map(|&rank| (rank, Piece::EMPTY)).collect()
}

impl Endpoint {
    /// Posts this rank's part of a collective that it has called with a wrong argument.
    ///
    /// # Errors
    /// When there are not enough request slots: nothing is posted then.
    pub fn bcs_invalid(
        &self,
        members: Members<'_>,
        call: InvalidCall,
        others: Participation,
    ) -> Result<Request, TooManyRequests> {
        let (context, kind) = (members.context, CollectiveKind::Invalid(call));
        let way = |call, bytes| self.lock().way(context, call, bytes);
        let arrive = || self.arrive(context, Part::without_data(kind), Blocking::No);
        let (mut with, exchanges) = match others {
            Participation::Arrive => return arrive(),
            Participation::Exchange(with) => {
                (with, matches!(way(Call::Blocks, 0), Way::Exchange(_)))
            }
            Participation::Messages(with) => (with, false),
        };
        let exchange = with.exchange;
        let posted = if exchanges {
            arrive()
        } else {
            let plan = self.invalid_plan(members, call, &mut with);
            self.post_messages(context, plan)
        };
        if posted.is_ok()
            && let Some(known) = self.lock().contexts.get_mut(context)
        {
            known.stands_for(exchange);
        }
        posted
    }

    /// As many messages as the others wait for.
    fn invalid_plan(
        &self,
        members: Members<'_>,
        call: InvalidCall,
        with: &mut Correspondents,
    ) -> Plan {
        let kind = CollectiveKind::Invalid(call);
        let way = |call, bytes| self.lock().way(members.context, call, bytes);
        let nodes = with.nodes.take().filter(|nodes| {
            let nodes = nodes.count();
            matches!(way(Call::EqualBlocks { nodes }, 0), Way::ByLeaders { .. })
        });
        Plan {
            called: Some(Called::Nic { kind, bytes: 0 }),
            sends: empty(&with.to),
            rounds: [Round::of(empty(&with.from))].into(),
            // As one whose blocks are long: the leaders tell all ranks to exchange block by block.
            hierarchy: nodes.map(|nodes| {
                let blocks = vec![Piece::EMPTY; members.world.len()];
                Box::new(Hierarchy::new(nodes, members, &blocks, &blocks, true))
            }),
            invalid: Some(call),
            ..Plan::default()
        }
    }
}
