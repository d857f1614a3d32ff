//! How a rank takes part in a collective that it called with a wrong argument: it does what the
//! others wait for, and gives them only the news of it ([`InvalidCall`]).
//!
//! Where members arrive, at their records or at NICs, that is one arrival, whatever was called. It
//! is a mismatch, which is reported to all like any other. Where they exchange messages, the rank
//! sends as many as the others wait for, without data. It receives their messages into empty
//! buffers.

use super::algorithm::{CollectiveAlgorithm, CollectiveClass};
use crate::data::DataView;
use crate::endpoint::{Endpoint, Request};
use crate::schedules::{BlocksByLeaders, LeaderBlocks, Members, MembersByNode, Plan};
use crate::steps::{CollectiveArguments, Round};
use crate::transport::{Blocking, TooManyRequests};
use bcs_core::descriptor::{CollectiveKind, InvalidCall};
use bcs_core::wait_state::{CalledCollective, MessageCollective};

/// The ranks with which a rank exchanges messages.
#[derive(Debug)]
pub struct Correspondents {
    /// The call of the others.
    pub exchange: MessageCollective,
    /// World ranks that wait for a message from this one.
    pub to: Vec<u32>,
    /// World ranks that send it one.
    pub from: Vec<u32>,
    /// Short messages may go by the leaders of these nodes.
    pub nodes: Option<MembersByNode>,
}

/// The part of the other ranks in a collective.
#[derive(Debug)]
pub enum Participation {
    /// They arrive: barriers, broadcasts, reductions by predefined operations.
    Arrive,
    /// They exchange messages, or arrive at their records if all are on one node.
    Exchange(Correspondents),
    /// They exchange messages, wherever they are: among neighbours, and between two groups.
    Messages(Correspondents),
}

/// Returns messages without data to or from each of these.
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
            Participation::Exchange(with) => {
                let same = with.exchange.gives_the_same();
                let way = way(CollectiveClass::Blocks { same }, 0);
                (with, matches!(way, CollectiveAlgorithm::Exchange(_)))
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

    /// Returns a plan with as many messages as the others wait for.
    fn invalid_plan(
        &self,
        members: Members<'_>,
        call: InvalidCall,
        with: &mut Correspondents,
    ) -> Plan {
        let kind = CollectiveKind::Invalid(call);
        let way = |call, bytes| self.lock().algorithm_for(members.context, call, bytes);
        let same = with.exchange.gives_the_same();
        let nodes = with.nodes.take().filter(|nodes| {
            let nodes = nodes.count();
            matches!(
                way(CollectiveClass::EqualBlocks { nodes, same }, 0),
                CollectiveAlgorithm::ByLeaders { .. }
            )
        });
        Plan {
            called: Some(CalledCollective::Nic { kind, bytes: 0 }),
            sends: empty(&with.to),
            rounds: [Round::of(empty(&with.from))].into(),
            // Behaves as with long blocks: the leaders tell all ranks to exchange block by block.
            hierarchy: nodes.map(|nodes| {
                let blocks = vec![DataView::EMPTY; members.world.len()];
                let out = match same {
                    true => LeaderBlocks::Same(&DataView::EMPTY),
                    false => LeaderBlocks::Each(&blocks),
                };
                Box::new(BlocksByLeaders::new(nodes, members, out, &blocks, true))
            }),
            invalid: Some(call),
            ..Plan::default()
        }
    }
}
