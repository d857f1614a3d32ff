//! The messages along the [tree](super::tree), and their forwarding.

use super::super::message::{Message, ProtocolViolation};
use super::report_aggregator::StoreReport;
use super::state::{HubState, bits, index32, node_set};
use crate::{GlobalAddress, Ticket};
use bcs_core::job::{NicThreadId, NodeId, NodeSet};

#[cfg(test)]
mod tests;

const NOT_PARENT: ProtocolViolation =
    ProtocolViolation("it speaks as if it had the sequencer behind it");
const NOT_BELOW: ProtocolViolation =
    ProtocolViolation("it speaks for a node that is not its own, nor below it");

impl HubState {
    /// Forwards a message of a party, if it goes along the tree. Returns whether this process has
    /// to handle it.
    pub(super) fn pass_on(
        &mut self,
        party: usize,
        message: &Message<'_>,
        encoded: &[u8],
    ) -> Result<bool, ProtocolViolation> {
        match *message {
            Message::Written { .. } | Message::Strobe { .. } => {
                self.check_parent(party)?;
                self.pass_down_to_all(encoded);
                Ok(true)
            }
            Message::Await { to, .. } => {
                self.check_parent(party)?;
                let to = self.party(to)?;
                self.pass_down(to, encoded)
            }
            Message::Verdict { port, .. } => {
                self.check_parent(party)?;
                let to = self.party_of_port(port)?;
                self.pass_down(to, encoded)
            }
            Message::Stored {
                nodes,
                variable,
                value,
                told,
                reports,
            } => {
                let nodes = node_set(nodes, self.config.placement.nodes())?;
                self.check_below(party, &nodes)?;
                let claim = StoreReport {
                    nodes,
                    variable,
                    value,
                    told,
                    reports,
                };
                let is_root = self.is_root();
                if !is_root {
                    self.aggregate(claim);
                }
                Ok(is_root)
            }
            Message::Sent { from, to, puts } => {
                let of = self.party(from)?;
                self.check_below(party, &self.nodes_of(of))?;
                let is_root = self.is_root();
                if !is_root {
                    self.gathering.send(from, to, puts);
                }
                Ok(is_root)
            }
            Message::Compare { port, .. } => {
                let of = self.party_of_port(port)?;
                self.check_below(party, &self.nodes_of(of))?;
                let is_root = self.is_root();
                if !is_root {
                    self.pass_up();
                    self.send_encoded(self.parent(), encoded);
                }
                Ok(is_root)
            }
            _ => Ok(true),
        }
    }

    /// Returns whether the sequencer is in this process.
    fn is_root(&self) -> bool {
        self.config.me == self.sequencer
    }

    fn parent(&self) -> usize {
        let parent = self.tree.parent();
        parent.expect("who has a link to the sequencer, or to who has, is in the tree")
    }

    fn nodes_of(&self, party: usize) -> NodeSet {
        self.config.parties[party].iter().copied().collect()
    }

    fn check_parent(&self, party: usize) -> Result<(), ProtocolViolation> {
        (self.tree.parent() == Some(party))
            .then_some(())
            .ok_or(NOT_PARENT)
    }

    /// Checks that all of these nodes are in the branch of a child.
    fn check_below(&self, child: usize, nodes: &NodeSet) -> Result<(), ProtocolViolation> {
        self.tree.has(child, nodes).then_some(()).ok_or(NOT_BELOW)
    }

    fn pass_down_to_all(&mut self, encoded: &[u8]) {
        for place in 0..self.tree.children() {
            self.send_encoded(self.tree.child(place), encoded);
        }
    }

    /// Forwards a message towards a party. Returns whether it is for this process.
    fn pass_down(&mut self, to: usize, encoded: &[u8]) -> Result<bool, ProtocolViolation> {
        if to == self.config.me {
            return Ok(true);
        }
        let way = self.tree.child_towards(to).ok_or(NOT_BELOW)?;
        self.send_encoded(way, encoded);
        Ok(false)
    }

    /// Sends a message of the root to all.
    pub(super) fn say_down(&mut self, message: &Message<'_>, bytes: &[u8]) {
        let mut encoded = std::mem::take(&mut self.scratch);
        message.encode(bytes, &mut encoded);
        self.pass_down_to_all(&encoded);
        encoded.clear();
        self.scratch = encoded;
    }

    /// Sends a PUT of the Strobe Sender. It is complete when it is sent, since whatever follows
    /// from it goes along the tree as well.
    pub(super) fn strobe(
        &mut self,
        far: &NodeSet,
        at: GlobalAddress,
        bytes: &[u8],
        signal: Option<NicThreadId>,
    ) -> Ticket {
        // Decisions that were made here go first.
        self.tell_decisions();
        self.say_awaited();
        let byte = at.byte(self.config.placement.nodes(), bytes.len()) as u64;
        let nodes = bits(far.iter().map(NodeId::index));
        let strobe = Message::Strobe {
            nodes: &nodes,
            byte,
            signal: signal.map(|thread| u8::try_from(thread.index()).expect("they are few")),
        };
        self.say_down(&strobe, bytes);
        Ticket(self.operations.add_completed_put())
    }

    /// Notifies others, at the root, for which PUTs to wait before they handle more of its
    /// messages.
    pub(super) fn say_awaited(&mut self) {
        for (to, puts) in self.puts.take_untold() {
            // A child gets them before this, by its link.
            if self.tree.child_towards(to) != Some(to) {
                self.puts.know(self.config.me, to, puts);
            }
        }
        while let Some(to) = self.puts.next_awaiting() {
            for (from, puts) in self.puts.take_awaited(to) {
                let Some(way) = self.tree.child_towards(to) else {
                    continue; // a peer has reported PUTs to a party that is not in the tree
                };
                let await_them = Message::Await {
                    to: index32(to),
                    from: index32(from),
                    puts,
                };
                self.send_message(way, &await_them, &[]);
            }
        }
    }

    /// Reports a store of nodes of this process.
    pub(super) fn tell_stored(&mut self, claim: StoreReport) {
        self.tell_sent();
        match self.tree.children() {
            0 => self.say_claim(&claim),
            _ => self.aggregate(claim),
        }
    }

    /// Sends the request of a port of this process.
    pub(super) fn tell_compare(&mut self, compare: &Message<'_>) {
        self.tell_sent();
        self.pass_up();
        self.send_message(self.parent(), compare, &[]);
    }

    /// Reports PUTs to the sequencer.
    fn tell_sent(&mut self) {
        let is_child = self.parent() == self.sequencer;
        for (to, puts) in self.puts.take_untold() {
            // The sequencer's own process gets them by the same link, before whatever follows them.
            if to == self.sequencer && is_child {
                continue;
            }
            let (from, to) = (index32(self.config.me), index32(to));
            match self.tree.children() {
                0 => self.say_sent(from, to, puts),
                _ => self.gathering.send(from, to, puts),
            }
        }
    }

    fn say_sent(&mut self, from: u32, to: u32, puts: u64) {
        self.send_message(self.parent(), &Message::Sent { from, to, puts }, &[]);
    }

    fn say_claim(&mut self, claim: &StoreReport) {
        let nodes = bits(claim.nodes.iter().map(NodeId::index));
        let stored = Message::Stored {
            nodes: &nodes,
            variable: claim.variable,
            value: claim.value,
            told: claim.told,
            reports: claim.reports,
        };
        self.send_message(self.parent(), &stored, &[]);
    }

    fn aggregate(&mut self, claim: StoreReport) {
        let reports = claim.reports;
        self.gathering.store(claim);
        if reports && self.gathering.is_whole(self.tree.nodes()) {
            self.pass_up();
        }
    }

    /// Sends up what has waited long enough.
    pub(super) fn tell_gathered(&mut self, now_ns: u64) {
        if self.gathering.is_due(now_ns) {
            self.pass_up();
        }
    }

    /// Sends up what waits.
    fn pass_up(&mut self) {
        let (sent, claims) = self.gathering.take();
        for ((from, to), puts) in sent {
            self.say_sent(from, to, puts);
        }
        for claim in &claims {
            self.say_claim(claim);
        }
    }
}
