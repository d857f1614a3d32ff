//! A hub: what the NICs of a process and those of processes on other machines say to each other.
//!
//! - **Owns** a link to each process elsewhere that hosts NICs, operations that are under way on them, and what this
//!   process knows of the writes of the sequencer.
//! - **Takes** what ports do ([`super::port`]), datagrams whose tag is right, the time; what ranks want, from the machine
//!   page.
//! - **Emits** datagrams; PUTs and writes in the global memory of the process's nodes; bytes in the memory of its
//!   ranks; bells of those who have got something to look at.
//! - **Invariants.** What one process says to another takes effect in the order in which it was said. A PUT takes effect
//!   when all writes of the sequencer have that its sender knew of. An operation is complete when the peer has said that
//!   it has come, or has answered.
//!
//! **All or none.** A link loses nothing, and a node that is cut off for good ends the job. So of the nodes of a
//! set either all get a PUT, or there is no job any more.
//!
//! **One order.** One sequencer decides all Compare-And-Writes of a job, on variables of nodes elsewhere as
//! these have last said them ([`Ledger`]). So a comparison sees all that its asker's node has stored before, since both
//! come by the same link; of another node it sees what that had stored some time before, and whatever that node has
//! said to anybody who has since said something to the sequencer is not necessarily in it. The machines of the NIC
//! need no more: a condition that became true is reported, and looked at again. What the sequencer writes goes to all processes as
//! one numbered sequence.
//!
//! There is no clock and no socket inside.

mod beat;
mod operations;
mod peer;

use super::link::{Link, LinkSettings, Refused};
use super::message::{Comparing, Message, Nonsense};
use crate::fabric::shm::{Bells, Entry, Ledger, NodeMemory, Segment};
use crate::fabric::{CompareAndWrite, Event, GlobalAddress, SourceSpan, Ticket, Variable};
use crate::job::{NicThreadId, NodeId, NodeSet, Placement};
use crate::wake::MachinePage;
use beat::Beat;
use operations::Operations;
use peer::Peer;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What a hub is made of.
#[derive(Debug)]
pub struct HubConfig {
    /// Which ranks run where.
    pub placement: Placement,
    /// The nodes of each process of the job that hosts NICs.
    pub parties: Vec<Vec<NodeId>>,
    /// Which of them this one is.
    pub me: usize,
    /// The nodes of this machine: whose global memory is in the segment.
    pub machine: NodeSet,
    /// The segment of this machine.
    pub segment: Segment,
    /// The page of this machine.
    pub page: MachinePage,
    /// The way to the ranks of this process's nodes.
    pub memory: NodeMemory,
    /// If the sequencer is in this process: what it writes.
    pub ledger: Option<Ledger>,
    /// How links are set; [`LinkSettings::from`] and `to` are set for each.
    pub link: LinkSettings,
}

/// A peer is to be dropped, and the job with it: it has the key and says nonsense.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Broken {
    /// The first of its nodes.
    pub node: NodeId,
    /// What it said.
    pub what: Nonsense,
}

/// See the module. Clones are the same hub.
#[derive(Clone, Debug)]
pub struct Hub {
    state: Arc<Mutex<State>>,
    far: NodeSet,
    sequencer_is_here: bool,
    /// The party of each rank elsewhere.
    party_of_rank: Arc<[Option<usize>]>,
}

#[derive(Debug)]
struct State {
    config: HubConfig,
    /// The party of each node.
    party_of_node: Vec<usize>,
    peers: Vec<Option<Peer>>,
    /// The party of the sequencer and of the Strobe Sender.
    sequencer: usize,
    operations: Operations,
    /// How many writes of the sequencer have been applied here.
    told: u64,
    beat: Beat,
    bells: Bells,
    /// Ports of nodes elsewhere for which a Compare-And-Write is being decided here.
    deciding: Vec<(usize, usize)>,
    /// Peers that have said nonsense.
    broken: Vec<Broken>,
    /// An encoded message; empty between uses.
    scratch: Vec<u8>,
    entries: Vec<Entry>,
}

/// A bit for each of so many.
fn bits(members: impl Iterator<Item = usize>) -> Vec<u8> {
    let mut bits = Vec::new();
    for member in members {
        if bits.len() <= member / 8 {
            bits.resize(member / 8 + 1, 0);
        }
        bits[member / 8] |= 1 << (member % 8);
    }
    bits
}

fn members(bits: &[u8]) -> impl Iterator<Item = usize> + '_ {
    (0..bits.len() * 8).filter(|at| bits[at / 8] & 1 << (at % 8) != 0)
}

fn node_set(bits: &[u8], nodes: usize) -> Result<NodeSet, Nonsense> {
    let all = members(bits).map(|node| (node < nodes).then(|| NodeId::from_index(node)));
    all.collect::<Option<NodeSet>>()
        .ok_or(Nonsense("it names a node that there is not"))
}

impl Hub {
    /// A hub whose links have sent nothing.
    ///
    /// # Panics
    /// When the parties are not those of the placement.
    #[must_use]
    pub fn new(config: HubConfig, now_ns: u64) -> Self {
        let nodes = config.placement.nodes();
        let mut party_of_node = vec![usize::MAX; nodes];
        for (party, of) in config.parties.iter().enumerate() {
            of.iter()
                .for_each(|node| party_of_node[node.index()] = party);
        }
        let is_far = |node: &NodeId| !config.machine.contains(*node);
        let far: NodeSet = (0..nodes)
            .map(NodeId::from_index)
            .filter(|node| is_far(node))
            .collect();
        let from = config.parties[config.me][0];
        let peers = config.parties.iter().map(|of| {
            let to = of.first().copied().filter(is_far)?;
            let settings = LinkSettings {
                from,
                to,
                ..config.link
            };
            Some(Peer::new(Link::new(settings, now_ns), of.clone()))
        });
        let peers = peers.collect();
        let sequencer = party_of_node[0];
        let ranks = 0..u32::try_from(config.placement.ranks()).expect("ranks have 32 bits");
        let party_of_rank = ranks.map(|rank| {
            let node = config.placement.node_of(rank)?;
            is_far(&node).then(|| party_of_node[node.index()])
        });
        Self {
            far,
            sequencer_is_here: config.machine.contains(NodeId(0)),
            party_of_rank: party_of_rank.collect(),
            state: Arc::new(Mutex::new(State {
                beat: Beat::default(),
                party_of_node,
                peers,
                sequencer,
                operations: Operations::default(),
                told: 0,
                bells: Bells::default(),
                deciding: Vec::new(),
                broken: Vec::new(),
                scratch: Vec::new(),
                entries: Vec::new(),
                config,
            })),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The nodes of other machines.
    #[must_use]
    pub fn far(&self) -> NodeSet {
        self.far
    }

    /// Whether the sequencer is on this machine, in this process or another.
    #[must_use]
    pub fn sequencer_is_here(&self) -> bool {
        self.sequencer_is_here
    }

    /// The party of a rank on another machine; none of a rank on this one.
    #[must_use]
    pub fn party_of(&self, rank: u32) -> Option<usize> {
        self.party_of_rank.get(rank as usize).copied().flatten()
    }

    /// The bells of those who have got something to look at.
    #[must_use]
    pub fn bells(&self) -> Bells {
        self.lock().bells.clone()
    }

    /// The parties to which there is a link.
    #[must_use]
    pub fn linked(&self) -> Vec<usize> {
        let state = self.lock();
        let linked = state.peers.iter().enumerate();
        linked
            .filter_map(|(party, peer)| peer.as_ref().map(|_| party))
            .collect()
    }

    /// The first node of each party: what its datagrams say that they are from.
    #[must_use]
    pub fn party_of_node(&self, node: NodeId) -> Option<usize> {
        self.lock().party_of_node.get(node.index()).copied()
    }

    /// A datagram of a party has come, whose tag is right and taken off.
    ///
    /// # Errors
    /// [`Refused`]: it was not taken.
    pub fn receive(&self, party: usize, datagram: &[u8], now_ns: u64) -> Result<(), Refused> {
        self.lock().receive(party, datagram, now_ns)
    }

    /// Writes the next datagram to a party, without its tag, if one is to be sent now.
    pub fn transmit(&self, party: usize, now_ns: u64, datagram: &mut Vec<u8>) -> bool {
        let mut state = self.lock();
        let State {
            peers,
            config,
            scratch,
            ..
        } = &mut *state;
        match &mut peers[party] {
            Some(peer) => peer.transmit(now_ns, &mut config.memory, scratch, datagram),
            None => false,
        }
    }

    /// Takes up what ranks want and what was decided, so that it is sent. To be called before
    /// [`transmit`](Self::transmit) is, after ports and sequencer have worked.
    pub fn settle(&self, now_ns: u64) {
        let mut state = self.lock();
        state.tell_decisions();
        state.tell_beat(now_ns);
    }

    /// When to call [`transmit`](Self::transmit) again at the latest, if nothing happens before.
    #[must_use]
    pub fn deadline_ns(&self) -> Option<u64> {
        let state = self.lock();
        let peers = state.peers.iter().flatten();
        peers.filter_map(Peer::deadline_ns).min()
    }

    /// The party that was not heard for the longest time, and when it was.
    #[must_use]
    pub fn heard_last(&self) -> Option<(NodeId, u64)> {
        let state = self.lock();
        let peers = state.peers.iter().flatten();
        peers
            .map(|peer| (peer.nodes()[0], peer.heard_ns()))
            .min_by_key(|(_, heard_ns)| *heard_ns)
    }

    /// Peers that have said nonsense since the last call.
    #[must_use]
    pub fn take_broken(&self) -> Vec<Broken> {
        std::mem::take(&mut self.lock().broken)
    }

    /// Whether everything that was to be sent has come.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.lock().peers.iter().flatten().all(Peer::is_idle)
    }

    pub(super) fn put(
        &self,
        far: &NodeSet,
        at: GlobalAddress,
        bytes: &[u8],
        signal: Option<NicThreadId>,
    ) -> Ticket {
        self.lock().put(far, at, bytes, signal)
    }

    pub(super) fn get(
        &self,
        party: usize,
        from: &SourceSpan,
        to: crate::fabric::DestinationSpan,
        who: (NodeId, NicThreadId),
    ) -> Ticket {
        let mut state = self.lock();
        let transfer = state.operations.get(from.len, to, who);
        let span = from.into();
        state.say(party, &Message::Get { transfer, span }, &[]);
        Ticket(transfer)
    }

    pub(super) fn fetch(
        &self,
        party: usize,
        (rank, address): (u32, u64),
        into: Vec<u8>,
        who: (NodeId, NicThreadId),
    ) -> Ticket {
        let mut state = self.lock();
        let len = into.len() as u64;
        let ticket = state.operations.fetch(into, who);
        let fetch = Message::Fetch {
            ticket,
            rank,
            address,
            len,
        };
        state.say(party, &fetch, &[]);
        Ticket(ticket)
    }

    pub(super) fn fetched(&self, ticket: Ticket) -> Vec<u8> {
        self.lock().operations.fetched(ticket.0)
    }

    pub(super) fn compare(&self, what: &CompareAndWrite, who: (NodeId, NicThreadId)) -> Ticket {
        self.lock().compare(what, who)
    }

    pub(super) fn test(&self, ticket: Ticket) -> Event {
        let mut state = self.lock();
        let State {
            operations, peers, ..
        } = &mut *state;
        operations.test(ticket.0, |party, end| {
            peers[party].as_ref().is_none_or(|peer| peer.has_come(end))
        })
    }

    /// A node of this process stores a variable, and maybe reports progress by that.
    pub(super) fn store(&self, node: NodeId, variable: Variable, value: u64, reports: bool) {
        let mut state = self.lock();
        let word = state.config.segment.variable(node, variable.index());
        word.store(value, Ordering::Release); // PROGRESS
        let stored = Message::Stored {
            node: node.0,
            variable: index32(variable.index()),
            value,
            told: state.told,
            reports,
        };
        let sequencer = state.sequencer;
        state.say(sequencer, &stored, &[]);
    }
}

/// The index of a variable, as messages have it.
fn index32(index: usize) -> u32 {
    u32::try_from(index).expect("variables are few")
}

impl State {
    /// Says something to a party. Returns what [`Peer::has_come`] is asked for.
    fn say(&mut self, party: usize, message: &Message<'_>, bytes: &[u8]) -> u64 {
        let mut encoded = std::mem::take(&mut self.scratch);
        message.encode(bytes, &mut encoded);
        let peer = self.peers[party].as_mut();
        let end = peer.expect("nobody says anything to a process of the same machine");
        let end = end.say(&encoded);
        encoded.clear();
        self.scratch = encoded;
        end
    }

    /// How many writes of the sequencer this process knows of.
    fn told(&self) -> u64 {
        match &self.config.ledger {
            Some(ledger) => ledger.count(),
            None => self.told,
        }
    }

    fn put(
        &mut self,
        far: &NodeSet,
        at: GlobalAddress,
        bytes: &[u8],
        signal: Option<NicThreadId>,
    ) -> Ticket {
        // What has been decided here is told before.
        self.tell_decisions();
        let nodes = self.config.placement.nodes();
        let byte = at.byte(nodes, bytes.len()) as u64;
        let told = self.told();
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
            ends.push((party, self.say(party, &put, bytes)));
        }
        Ticket(self.operations.put(ends))
    }

    fn compare(&mut self, what: &CompareAndWrite, who: (NodeId, NicThreadId)) -> Ticket {
        let port = port_of(who);
        let nodes = bits(what.set.iter().map(NodeId::index));
        let compare = Message::Compare {
            port: u32::try_from(port).expect("ports are few"),
            request: Comparing {
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
        self.say(self.sequencer, &compare, &[]);
        Ticket(self.operations.compare(port))
    }

    /// Tells what the sequencer here has written and decided since the last time.
    fn tell_decisions(&mut self) {
        let Some(ledger) = self.config.ledger.clone() else {
            return;
        };
        // First: what a verdict follows from has been written before it, and is told before it.
        let decided = self.decided();
        let mut entries = std::mem::take(&mut self.entries);
        ledger.take(&mut entries);
        for entry in entries.drain(..) {
            let nodes = bits(entry.set.iter().map(NodeId::index));
            let written = Message::Written {
                nodes: &nodes,
                variable: index32(entry.variable),
                value: entry.value,
            };
            for party in 0..self.peers.len() {
                if self.peers[party].is_some() {
                    self.say(party, &written, &[]);
                }
            }
        }
        self.entries = entries;
        for (party, port, holds) in decided {
            let port = u32::try_from(port).expect("ports are few");
            self.say(party, &Message::Verdict { port, holds }, &[]);
        }
    }

    /// Takes the verdicts for ports elsewhere: for whom, and whether the condition held.
    fn decided(&mut self) -> Vec<(usize, usize, bool)> {
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

/// The number of a NIC thread's port.
fn port_of((node, thread): (NodeId, NicThreadId)) -> usize {
    node.index() * NicThreadId::COUNT + thread.index()
}

/// The NIC thread of a port.
fn who_of(port: usize) -> (NodeId, NicThreadId) {
    let node = NodeId::from_index(port / NicThreadId::COUNT);
    (node, NicThreadId::ALL[port % NicThreadId::COUNT])
}
