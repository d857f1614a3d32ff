//! How a rank takes part in a collective that it called with a wrong argument: it does what the others wait for, and
//! gives them nothing but word of it ([`InvalidCall`]).
//!
//! Where members arrive, at their records or at NICs, that is one arrival, whatever was called: a mismatch, of which all are
//! told as of any other. Where they exchange messages it is as many as the others wait for, without data. What they
//! send this rank it takes, as far as there is room, which is none.

use super::algorithm::{CollectiveAlgorithm, CollectiveClass};
use crate::data::DataView;
use crate::endpoint::{Endpoint, Request};
use crate::schedules::{HierarchicalAlltoall, Members, MembersByNode, Plan};
use crate::steps::{CollectiveArguments, Round};
use crate::transport::{Blocking, TooManyRequests};
use bcs_core::descriptor::{CollectiveKind, InvalidCall};
use bcs_core::wait_state::{CalledCollective, MessageCollective};

/// With whom a rank exchanges messages.
#[derive(Debug)]
pub struct Correspondents {
    /// What the others call.
    pub exchange: MessageCollective,
    /// World ranks that wait for a message of this one.
    pub to: Vec<u32>,
    /// World ranks that send it one.
    pub from: Vec<u32>,
    /// Short messages may go by the leaders of these nodes.
    pub nodes: Option<MembersByNode>,
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
fn empty(ranks: &[u32]) -> Vec<(u32, DataView)> {
    ranks.iter().map(|&rank| (rank, DataView::EMPTY)).collect()
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
        let way = |call, bytes| self.lock().algorithm_for(context, call, bytes);
        let arrive = || {
            self.arrive(
                context,
                CollectiveArguments::without_data(kind),
                Blocking::No,
            )
        };
        let (mut with, exchanges) = match others {
            Participation::Arrive => return arrive(),
            Participation::Exchange(with) => (
                with,
                matches!(
                    way(CollectiveClass::Blocks, 0),
                    CollectiveAlgorithm::Exchange(_)
                ),
            ),
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
        let way = |call, bytes| self.lock().algorithm_for(members.context, call, bytes);
        let nodes = with.nodes.take().filter(|nodes| {
            let nodes = nodes.count();
            matches!(
                way(CollectiveClass::EqualBlocks { nodes }, 0),
                CollectiveAlgorithm::ByLeaders { .. }
            )
        });
        Plan {
            called: Some(CalledCollective::Nic { kind, bytes: 0 }),
            sends: empty(&with.to),
            rounds: [Round::of(empty(&with.from))].into(),
            // As one whose blocks are long: the leaders tell all ranks to exchange block by block.
            hierarchy: nodes.map(|nodes| {
                let blocks = vec![DataView::EMPTY; members.world.len()];
                Box::new(HierarchicalAlltoall::new(
                    nodes, members, &blocks, &blocks, true,
                ))
            }),
            invalid: Some(call),
            ..Plan::default()
        }
    }
}
