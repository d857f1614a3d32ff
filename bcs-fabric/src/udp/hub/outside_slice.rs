//! What has come for the BRs of a process ahead of the beat: a queue for each of its nodes.

use bcs_core::job::NodeId;
use std::collections::{BTreeMap, VecDeque};

/// What has come and was not taken, by node.
#[derive(Debug, Default)]
pub(super) struct OutsideSliceQueues(BTreeMap<NodeId, OutsideSliceQueue>);

#[derive(Debug, Default)]
struct OutsideSliceQueue {
    come: VecDeque<(NodeId, Vec<u64>)>,
    words: usize,
}

impl OutsideSliceQueues {
    /// Words have come for a node. Returns how many it has not taken.
    pub(super) fn push(&mut self, from: NodeId, to: NodeId, words: Vec<u64>) -> usize {
        let queue = self.0.entry(to).or_default();
        queue.words += words.len();
        queue.come.push_back((from, words));
        queue.words
    }

    /// The next that have come for a node, and from which one.
    pub(super) fn pop(&mut self, node: NodeId) -> Option<(NodeId, Vec<u64>)> {
        let queue = self.0.get_mut(&node)?;
        let (from, words) = queue.come.pop_front()?;
        queue.words -= words.len();
        Some((from, words))
    }
}
