//! Messages of other nodes about collectives that this node has not come to.

use super::communicator::ContextKey;
use crate::blocks::{CollectiveTreeMessage, TreeDirection};
use bcs_core::job::NodeId;
use std::collections::BTreeMap;

/// A collective: its context, the life of the context, and its number.
type CollectiveId = (ContextKey, u16, u64);

/// Messages that have not met their collective, with the nodes that sent them.
#[derive(Debug, Default)]
pub(super) struct EarlyTreeMessages(BTreeMap<CollectiveId, Vec<(NodeId, CollectiveTreeMessage)>>);

impl EarlyTreeMessages {
    pub(super) fn add(&mut self, from: NodeId, part: CollectiveTreeMessage) {
        let name = (part.context, part.life, part.sequence);
        self.0.entry(name).or_default().push((from, part));
    }

    /// Takes the messages of all these nodes in this direction of a collective, in their order,
    /// once all have come.
    pub(super) fn take(
        &mut self,
        name: CollectiveId,
        way: TreeDirection,
        nodes: &[NodeId],
    ) -> Option<Vec<CollectiveTreeMessage>> {
        if nodes.is_empty() {
            return Some(Vec::new());
        }
        let heard = self.0.get_mut(&name)?;
        let is_it =
            |(from, part): &(NodeId, CollectiveTreeMessage), node| *from == node && part.way == way;
        let has_come = |node: &NodeId| heard.iter().any(|it| is_it(it, *node));
        if !nodes.iter().all(has_come) {
            return None;
        }
        let mut take = |node: &NodeId| {
            let at = heard.iter().position(|it| is_it(it, *node))?;
            Some(heard.swap_remove(at).1)
        };
        nodes.iter().map(&mut take).collect()
    }

    /// Forgets the messages of a context except those of this life, from this collective on.
    pub(super) fn forget_all_but(&mut self, context: ContextKey, life: u16, sequence: u64) {
        self.forget_range((context, 0, 0), (context, life, sequence));
        if let Some(next) = life.checked_add(1) {
            self.forget_range((context, next, 0), (context, u16::MAX, u64::MAX));
        }
    }

    /// Forgets the messages of these collectives.
    pub(super) fn forget_range(&mut self, from: CollectiveId, to: CollectiveId) {
        while let Some((&name, _)) = self.0.range(from..to).next() {
            self.0.remove(&name);
        }
    }
}
