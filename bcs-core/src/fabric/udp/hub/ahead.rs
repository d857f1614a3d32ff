//! What BSs send to BRs ahead of the beat: a queue for each node of the process.

use super::super::message::{Message, Nonsense};
use super::state::State;
use crate::job::{NicThreadId, NodeId};
use crate::limits::MAX_ENVELOPES_PER_RANK;
use crate::wake::machine_page::BellId;
use std::collections::{BTreeMap, VecDeque};
use zerocopy::IntoBytes;

/// What has come for the BRs of this process and was not taken, by node.
#[derive(Debug, Default)]
pub(super) struct Ahead(BTreeMap<NodeId, Queue>);

#[derive(Debug, Default)]
struct Queue {
    come: VecDeque<(NodeId, Vec<u64>)>,
    words: usize,
}

/// A descriptor has more words than that.
const LEAST_WORDS: usize = 8;

impl State {
    pub(super) fn send_ahead(&mut self, from: NodeId, to: NodeId, words: &[u64]) {
        // What has been decided here is told before, as before a PUT.
        self.tell_decisions();
        let party = self.party_of_node[to.index()];
        let (from, to) = (from.0, to.0);
        self.say(party, &Message::Ahead { from, to }, words.as_bytes());
    }

    pub(super) fn hear_ahead(
        &mut self,
        party: usize,
        (from, to): (NodeId, NodeId),
        bytes: &[u8],
    ) -> Result<(), Nonsense> {
        if self.party_of_node.get(from.index()) != Some(&party) {
            return Err(Nonsense("it sends ahead for a node that is not its own"));
        }
        if self.party_of_node.get(to.index()) != Some(&self.config.me) {
            return Err(Nonsense("it sends ahead to a node that is not here"));
        }
        let mut words = vec![0_u64; bytes.len() / 8];
        if words.as_bytes().len() != bytes.len() {
            return Err(Nonsense("it sends ahead what is no words"));
        }
        words.as_mut_bytes().copy_from_slice(bytes);
        let queue = self.ahead.0.entry(to).or_default();
        queue.words += words.len();
        queue.come.push_back((from, words));
        // Whoever keeps to its credit never comes to that.
        let ranks = self.config.placement.ranks_of(to).count();
        if queue.words / LEAST_WORDS / 2 > MAX_ENVELOPES_PER_RANK.saturating_mul(ranks) {
            return Err(Nonsense("it sends ahead more than it has credit for"));
        }
        let thread = NicThreadId::BufferReceiver;
        self.config.segment.signal_thread(to, thread);
        self.bells.add(BellId::of(to, thread));
        Ok(())
    }

    pub(super) fn take_ahead(&mut self, node: NodeId, into: &mut Vec<u64>) -> Option<NodeId> {
        let queue = self.ahead.0.get_mut(&node)?;
        let (from, words) = queue.come.pop_front()?;
        queue.words -= words.len();
        *into = words;
        Some(from)
    }
}
