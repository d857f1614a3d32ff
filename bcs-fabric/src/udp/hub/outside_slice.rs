//! The words that have come for the BRs of a process outside of the slice: a queue for each of its
//! nodes.

use bcs_core::job::NodeId;
use std::collections::{BTreeMap, VecDeque};

/// Words that have come and were not taken, by node.
#[derive(Debug, Default)]
pub(super) struct OutsideSliceQueues(BTreeMap<NodeId, OutsideSliceQueue>);

#[derive(Debug, Default)]
struct OutsideSliceQueue {
    come: VecDeque<(NodeId, Vec<u64>)>,
    words: usize,
}

impl OutsideSliceQueues {
    /// Adds words for a node. Returns how many words wait there.
    pub(super) fn push(&mut self, from: NodeId, to: NodeId, words: Vec<u64>) -> usize {
        let queue = self.0.entry(to).or_default();
        queue.words += words.len();
        queue.come.push_back((from, words));
        queue.words
    }

    /// Takes the next words for a node, and returns their sender.
    pub(super) fn pop(&mut self, node: NodeId) -> Option<(NodeId, Vec<u64>)> {
        let queue = self.0.get_mut(&node)?;
        let (from, words) = queue.come.pop_front()?;
        queue.words -= words.len();
        Some((from, words))
    }
}
