//! The state of a hub, and the messages that it sends.

#[cfg(test)]
mod tests;

use super::super::link::{Link, LinkSettings};
use super::super::message::{EncodedCompareAndWrite, Message, ProtocolViolation};
use super::demand_news::DemandNews;
use super::eager_cache::EagerCache;
use super::inbound_bytes::InboundBytes;
use super::operations::Operations;
use super::outside_slice::OutsideSliceQueues;
use super::peer::Peer;
use super::put_counts::PutCounts;
use super::report_aggregator::{self, ReportAggregator};
use super::tree::ProcessTree;
use crate::shm::{PendingBells, RankMemoryAccess, Segment, WriteLog, WriteLogEntry};
use crate::{CompareAndWrite, DestinationSpan, Event, GlobalAddress, SourceSpan, Ticket};
use bcs_core::descriptor::Payload;
use bcs_core::job::{NicThreadId, NodeId, NodeSet, Placement};
use bcs_core::wake::MachinePage;
use bcs_core::wake::machine_page::BellId;
use std::sync::atomic::Ordering;
use zerocopy::IntoBytes as _;

/// The configuration of a hub.
#[derive(Debug)]
pub struct HubConfig {
    /// The node of each rank.
    pub placement: Placement,
    /// The nodes of each process of the job that hosts NICs.
    pub parties: Vec<Vec<NodeId>>,
    /// The index of this process among them.
    pub me: usize,
    /// The nodes of this machine, whose global memory is in the segment.
    pub machine: NodeSet,
    /// The nodes of each machine.
    pub machines: Vec<NodeSet>,
    /// The most processes to which a process forwards what goes along the tree.
    pub fan_out: usize,
    /// The parties of the sequencer's machine, but for its own: they have no link to it.
    pub beside_sequencer: Vec<usize>,
    /// The segment of this machine.
    pub segment: Segment,
    /// The page of this machine.
    pub page: MachinePage,
    /// The access to the memory of this process's ranks.
    pub memory: RankMemoryAccess,
    /// The log of the sequencer's writes, if the sequencer is in this process.
    pub ledger: Option<WriteLog>,
    /// The settings of links. The hub sets [`LinkSettings::from`] and `to` for each.
    pub link: LinkSettings,
    /// The limits that differ for the link to a party.
    pub paths: Vec<Option<PathLimits>>,
}

/// The limits of the path to another machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathLimits {
    /// The value for [`LinkSettings`].
    pub datagram_bytes: usize,
    /// The value for [`LinkSettings`].
    pub window_bytes: u64,
}

/// A peer that ends the job: it has the key and sends invalid messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BrokenPeer {
    /// The first of its nodes.
    pub node: NodeId,
    /// The violation.
    pub what: ProtocolViolation,
}

impl HubConfig {
    /// Returns the nodes of other machines.
    pub(super) fn other_host_nodes(&self) -> NodeSet {
        let all = (0..self.placement.nodes()).map(NodeId::from_index);
        all.filter(|node| !self.machine.contains(*node)).collect()
    }
}

#[derive(Debug)]
pub(super) struct HubState {
    pub(super) config: HubConfig,
    /// The party of each node.
    pub(super) party_of_node: Vec<usize>,
    pub(super) peers: Vec<Option<Peer>>,
    /// The party of the sequencer and of the Strobe Sender.
    pub(super) sequencer: usize,
    pub(super) tree: ProcessTree,
    pub(super) gathering: ReportAggregator,
    pub(super) operations: Operations,
    pub(super) puts: PutCounts,
    pub(super) ahead: OutsideSliceQueues,
    pub(super) brought: InboundBytes,
    pub(super) carried: EagerCache,
    /// When the last datagram came.
    pub(super) heard_ns: u64,
    /// The number of the sequencer's writes that have been applied here; in the process of the
    /// sequencer, of those that have been sent to others.
    pub(super) told: u64,
    /// How many messages and whole transfers have come.
    pub(super) taken: u64,
    pub(super) beat: DemandNews,
    pub(super) bells: PendingBells,
    /// The ports of remote nodes for which a Compare-And-Write is being decided here.
    pub(super) deciding: Vec<(usize, usize)>,
    /// Peers that have sent invalid messages.
    pub(super) broken: Vec<BrokenPeer>,
    /// An encoded message; empty between uses.
    pub(super) scratch: Vec<u8>,
    pub(super) entries: Vec<WriteLogEntry>,
}

/// Makes a bit mask of these members.
pub(super) fn bits(members: impl Iterator<Item = usize>) -> Vec<u8> {
    let mut bits = Vec::new();
    for member in members {
        if bits.len() <= member / 8 {
            bits.resize(member / 8 + 1, 0);
        }
        bits[member / 8] |= 1 << (member % 8);
    }
    bits
}

pub(super) fn members(bits: &[u8]) -> impl Iterator<Item = usize> + '_ {
    (0..bits.len() * 8).filter(|at| bits[at / 8] & 1 << (at % 8) != 0)
}

pub(super) fn node_set(bits: &[u8], nodes: usize) -> Result<NodeSet, ProtocolViolation> {
    let all = members(bits).map(|node| (node < nodes).then(|| NodeId::from_index(node)));
    all.collect::<Option<NodeSet>>()
        .ok_or(ProtocolViolation("it names a node that there is not"))
}

impl HubState {
    pub(super) fn new(config: HubConfig, now_ns: u64) -> Self {
        if !config.other_host_nodes().is_empty() {
            config.page.set_spans_machines();
        }
        let mut party_of_node = vec![usize::MAX; config.placement.nodes()];
        for (party, of) in config.parties.iter().enumerate() {
            of.iter()
                .for_each(|node| party_of_node[node.index()] = party);
        }
        let sequencer = party_of_node[0];
        let (machines, me) = (&config.machines, config.me);
        let tree = ProcessTree::new(&config.parties, machines, sequencer, me, config.fan_out);
        let from = config.parties[config.me][0];
        let peers = config.parties.iter().enumerate().map(|(party, of)| {
            let is_far = |node: &NodeId| !config.machine.contains(*node);
            let to = of.first().copied().filter(is_far)?;
            let mut settings = LinkSettings {
                from,
                to,
                ..config.link
            };
            if let Some(&Some(path)) = config.paths.get(party) {
                settings.datagram_bytes = path.datagram_bytes;
                settings.window_bytes = path.window_bytes;
            }
            Some(Peer::new(Link::new(settings, now_ns), of.clone()))
        });
        Self {
            peers: peers.collect(),
            sequencer,
            tree,
            gathering: ReportAggregator::new(
                config.page.thresholds().ns(report_aggregator::MAX_DELAY),
            ),
            party_of_node,
            beat: DemandNews::default(),
            operations: Operations::default(),
            puts: PutCounts::default(),
            ahead: OutsideSliceQueues::default(),
            brought: InboundBytes::default(),
            carried: EagerCache::default(),
            heard_ns: now_ns,
            told: 0,
            taken: 0,
            bells: PendingBells::default(),
            deciding: Vec::new(),
            broken: Vec::new(),
            scratch: Vec::new(),
            entries: Vec::new(),
            config,
        }
    }

    /// Returns the party of a rank on another machine.
    pub(super) fn remote_party(&self, rank: u32) -> Option<usize> {
        let node = self.config.placement.node_of(rank)?;
        let is_far = !self.config.machine.contains(node);
        is_far.then(|| self.party_of_node[node.index()])
    }

    /// Sends a message to a party. Returns the end of the stream with it.
    pub(super) fn send_message(
        &mut self,
        party: usize,
        message: &Message<'_>,
        bytes: &[u8],
    ) -> u64 {
        let mut encoded = std::mem::take(&mut self.scratch);
        message.encode(bytes, &mut encoded);
        let end = self.send_encoded(party, &encoded);
        encoded.clear();
        self.scratch = encoded;
        end
    }

    /// Does the same for an encoded message.
    pub(super) fn send_encoded(&mut self, party: usize, encoded: &[u8]) -> u64 {
        let peer = self.peers[party].as_mut();
        let peer = peer.expect("nobody says anything to a process of the same machine");
        peer.say(encoded)
    }

    /// Returns whether a party learns by the sequencer of PUTs of this process.
    fn hears_of_puts(&self, party: usize) -> bool {
        let beside = &self.config.beside_sequencer;
        !beside.contains(&party) && !beside.contains(&self.config.me)
    }

    /// Returns how many writes of the sequencer this process knows of.
    ///
    /// In the process of the sequencer these are the writes that it has sent to others. Another OS
    /// thread may add a write at any time. A PUT or verdict that named this write would go before
    /// it by the same link, and the receiver would wait for ever.
    pub(super) fn known_writes(&self) -> u64 {
        let is_beside = self.config.machine.contains(NodeId(0)) && self.config.ledger.is_none();
        if is_beside {
            // The segment has the writes of the sequencer, which is in another process.
            return self.config.segment.writes().load(Ordering::Acquire);
        }
        self.told
    }

    /// Returns how many writes of the sequencer all nodes of this machine know of.
    pub(super) fn writes_known_to_all(&self) -> u64 {
        let applied = |node| self.config.segment.applied(node).load(Ordering::Acquire);
        self.config.machine.iter().map(applied).min().unwrap_or(0)
    }

    pub(super) fn put(
        &mut self,
        far: &NodeSet,
        at: GlobalAddress,
        bytes: &[u8],
        signal: Option<NicThreadId>,
        bell: BellId,
    ) -> Ticket {
        // Decisions that were made here go first.
        self.tell_decisions();
        let nodes = self.config.placement.nodes();
        let byte = at.byte(nodes, bytes.len()) as u64;
        let told = self.known_writes();
        let signal = signal.map(|thread| u8::try_from(thread.index()).expect("they are few"));
        let mut ends = Vec::new();
        for party in 0..self.peers.len() {
            let Some(peer) = &self.peers[party] else {
                continue;
            };
            let of = peer.nodes().iter().enumerate();
            let named = of.filter(|(_, node)| far.contains(**node));
            let named = bits(named.map(|(place, _)| place));
            if named.is_empty() {
                continue;
            }
            let put = Message::Put {
                nodes: &named,
                byte,
                signal,
                told,
            };
            let end = self.send_message(party, &put, bytes);
            if self.hears_of_puts(party) {
                self.puts.send(party);
            } else {
                ends.push((party, end));
            }
        }
        Ticket(self.operations.put(ends, bell))
    }

    pub(super) fn send_outside_slice(&mut self, from: NodeId, to: NodeId, words: &[u64]) {
        // Decisions that were made here go first, as before a PUT.
        self.tell_decisions();
        let party = self.party_of_node[to.index()];
        let (from, to) = (from.0, to.0);
        self.send_message(party, &Message::Ahead { from, to }, words.as_bytes());
    }

    /// Sends a whole eager message to a node that will request it.
    pub(super) fn send_eager_bytes(&mut self, to: NodeId, from: &SourceSpan) {
        let Payload::Slot { slot, .. } = from.payload else {
            return;
        };
        let mut bytes = vec![0; usize::try_from(from.len).expect("an eager message is short")];
        if self.config.memory.read_span(from, 0, &mut bytes).is_ok() {
            let party = self.party_of_node[to.index()];
            let rank = from.rank;
            self.send_message(party, &Message::Carried { rank, slot }, &bytes);
        }
    }

    /// Completes a GET whose bytes are cached here.
    pub(super) fn take_cached_eager(
        &mut self,
        from: &SourceSpan,
        to: &DestinationSpan,
    ) -> Option<Ticket> {
        let bytes = self.carried.take(from)?;
        let event = match self.config.memory.write_span(to, 0, &bytes) {
            Ok(()) => Event::Signalled,
            Err(error) => Event::Failed(error),
        };
        self.brought.copied += from.len;
        Some(Ticket(self.operations.add_ended_get(event)))
    }

    pub(super) fn compare(&mut self, what: &CompareAndWrite, who: (NodeId, NicThreadId)) -> Ticket {
        let port = port_of(who);
        let nodes = bits(what.set.iter().map(NodeId::index));
        let compare = Message::Compare {
            port: u32::try_from(port).expect("ports are few"),
            request: EncodedCompareAndWrite {
                nodes: &nodes,
                variable: index32(what.variable.index()),
                comparison: what.comparison as u8,
                operand: what.operand,
                write: what
                    .write
                    .map(|(variable, value)| (index32(variable.index()), value)),
                wait: what.wait,
            },
        };
        self.tell_compare(&compare);
        Ticket(self.operations.compare(port))
    }

    /// Sends what the sequencer here has written and decided since the last call.
    pub(super) fn tell_decisions(&mut self) {
        let Some(ledger) = self.config.ledger.clone() else {
            return;
        };
        // This comes first: the writes that lead to a verdict precede it, and are sent before it.
        let decided = self.take_verdicts();
        let mut entries = std::mem::take(&mut self.entries);
        ledger.take_untold(&mut entries);
        for entry in entries.drain(..) {
            let nodes = bits(entry.set.iter().map(NodeId::index));
            let written = Message::Written {
                nodes: &nodes,
                variable: index32(entry.variable),
                value: entry.value,
            };
            self.say_awaited();
            self.say_down(&written, &[]);
            self.told = entry.number;
        }
        self.entries = entries;
        for (party, port, holds) in decided {
            let port = u32::try_from(port).expect("ports are few");
            let told = self.known_writes();
            self.say_awaited();
            let way = self
                .tree
                .child_towards(party)
                .expect("it has asked along the tree");
            self.send_message(way, &Message::Verdict { port, holds, told }, &[]);
        }
    }

    /// Takes the verdicts for ports of other machines: the port, and whether the condition held.
    fn take_verdicts(&mut self) -> Vec<(usize, usize, bool)> {
        let segment = &self.config.segment;
        let mut decided = Vec::new();
        self.deciding.retain(|&(party, port)| {
            let verdict = segment.take_verdict(port);
            decided.extend(verdict.map(|holds| (party, port, holds)));
            verdict.is_none()
        });
        decided
    }
}

/// Returns the index of a variable, in the form of messages.
pub(super) fn index32(index: usize) -> u32 {
    u32::try_from(index).expect("variables are few")
}

/// Returns the number of a NIC thread's port.
pub(super) fn port_of((node, thread): (NodeId, NicThreadId)) -> usize {
    node.index() * NicThreadId::COUNT + thread.index()
}

/// Returns the NIC thread of a port.
pub(super) fn thread_of_port(port: usize) -> (NodeId, NicThreadId) {
    let node = NodeId::from_index(port / NicThreadId::COUNT);
    (node, NicThreadId::ALL[port % NicThreadId::COUNT])
}
