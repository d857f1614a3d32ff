//! The hub as its clones share it: a lock around the state.

use super::super::link::{DatagramRefusal, Link, PlacedDatagrams};
use super::super::message::Message;
use super::inbound_bytes::InboundBytes;
use super::operations::PendingGet;
use super::peer::{IncomingHandler, Peer};
use super::report_aggregator::StoreReport;
use super::state::{BrokenPeer, HubConfig, HubState, index32};
use crate::shm::{LentMemory, PendingBells};
use crate::{CompareAndWrite, DestinationSpan, Event, GlobalAddress, SourceSpan, Ticket, Variable};
use bcs_core::job::{NicThreadId, NodeId, NodeSet};
use bcs_core::wake::machine_page::BellId;
use std::ops::Range;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// See the module. Clones are the same hub.
#[derive(Clone, Debug)]
pub struct Hub {
    state: Arc<Mutex<HubState>>,
    far: NodeSet,
    /// The nodes of each machine.
    machines: Arc<[NodeSet]>,
    sequencer_is_here: bool,
    /// The party of each rank elsewhere.
    party_of_rank: Arc<[Option<usize>]>,
}

impl Hub {
    /// A hub whose links have sent nothing.
    ///
    /// # Panics
    /// When the parties are not those of the placement.
    #[must_use]
    pub fn new(config: HubConfig, now_ns: u64) -> Self {
        let far = config.other_host_nodes();
        let sequencer_is_here = config.machine.contains(NodeId(0));
        let machines = config.machines.as_slice().into();
        let ranks = 0..u32::try_from(config.placement.ranks()).expect("ranks have 32 bits");
        let state = HubState::new(config, now_ns);
        Self {
            far,
            machines,
            sequencer_is_here,
            party_of_rank: ranks.map(|rank| state.remote_party(rank)).collect(),
            state: Arc::new(Mutex::new(state)),
        }
    }

    fn lock(&self) -> MutexGuard<'_, HubState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The nodes of other machines.
    #[must_use]
    pub fn other_host_nodes(&self) -> NodeSet {
        self.far
    }

    /// Whether two nodes are on different machines.
    #[must_use]
    pub fn are_on_different_hosts(&self, one: NodeId, other: NodeId) -> bool {
        let together = |machine: &NodeSet| machine.contains(one) && machine.contains(other);
        !self.machines.iter().any(together)
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
    pub fn bells(&self) -> PendingBells {
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
    /// [`DatagramRefusal`]: it was not taken.
    pub fn receive(
        &self,
        party: usize,
        datagram: &[u8],
        now_ns: u64,
    ) -> Result<(), DatagramRefusal> {
        let take = |link: &mut Link, arrivals: &mut IncomingHandler<'_>| {
            link.receive(datagram, now_ns, arrivals)
        };
        self.lock().receive(party, now_ns, take)
    }

    /// The same of datagrams whose bytes lie where they belong: in what was [lent](Self::lend).
    ///
    /// # Errors
    /// [`DatagramRefusal`]: none of them was taken.
    pub fn receive_placed(
        &self,
        party: usize,
        placed: &PlacedDatagrams,
        now_ns: u64,
    ) -> Result<(), DatagramRefusal> {
        let take = |link: &mut Link, arrivals: &mut IncomingHandler<'_>| {
            link.receive_placed(placed, now_ns, arrivals)
        };
        self.lock().receive(party, now_ns, take)
    }

    /// Whether bytes are awaited of which it is worth the while to look what comes next.
    #[must_use]
    pub fn awaits_bulk(&self) -> bool {
        self.lock().operations.has_long()
    }

    /// Where bytes of a transfer belong, if that is in this process: at most so many, from the first on, as far as the
    /// party was asked for them and none has come. Nothing is lent where a rank's memory is not mapped here, or is in
    /// pieces. What is lent may be written until the hub next receives anything.
    #[must_use]
    pub fn lend(&self, party: usize, transfer: u64, range: Range<u64>) -> Option<LentMemory> {
        let mut state = self.lock();
        let HubState {
            operations, config, ..
        } = &mut *state;
        let get = operations.transfer(party, transfer)?;
        let len = usize::try_from(get.may_lend(range.clone())).ok()?;
        config.memory.lend_destination(&get.to, range.start, len)
    }

    /// Nothing more of a transfer is lent: what lay in its rank's memory was not what had been sent, and it may be that
    /// the rank writes there.
    pub fn stop_lending(&self, party: usize, transfer: u64) {
        let mut state = self.lock();
        let get = state.operations.transfer(party, transfer);
        get.into_iter().for_each(PendingGet::stop_lending);
    }

    /// How bytes of transfers have come so far.
    #[must_use]
    pub fn inbound_bytes(&self) -> InboundBytes {
        self.lock().brought
    }

    /// Appends the next datagram to a party, without its tag, if one is to be sent now.
    pub fn transmit(&self, party: usize, now_ns: u64, datagrams: &mut Vec<u8>) -> bool {
        self.write(party, now_ns, datagrams, false).is_some()
    }

    /// The same, but that bytes of a rank that the datagram ends with need not be copied: they may be lent, until
    /// the hub is called again. A rank that changes what it sends has sent what is taken for a stranger's, by its tag,
    /// and sent once more.
    pub fn transmit_lent(
        &self,
        party: usize,
        now_ns: u64,
        datagrams: &mut Vec<u8>,
    ) -> Option<Option<LentMemory>> {
        self.write(party, now_ns, datagrams, true)
    }

    fn write(
        &self,
        party: usize,
        now_ns: u64,
        datagrams: &mut Vec<u8>,
        may_lend: bool,
    ) -> Option<Option<LentMemory>> {
        let mut state = self.lock();
        let HubState {
            peers,
            config,
            scratch,
            ..
        } = &mut *state;
        match &mut peers[party] {
            Some(peer) => peer.transmit(now_ns, &mut config.memory, scratch, datagrams, may_lend),
            None => None,
        }
    }

    /// Takes up what ranks want and what was decided, so that it is sent. To be called before
    /// [`transmit`](Self::transmit) is, after ports and sequencer have worked.
    pub fn settle(&self, now_ns: u64) {
        let mut state = self.lock();
        state.tell_decisions();
        state.tell_gathered(now_ns);
        state.relay_demands(now_ns);
    }

    /// Whether [`settle`](Self::settle) would have something to tell of ranks.
    #[must_use]
    pub fn has_news(&self, now_ns: u64) -> bool {
        self.lock().has_news(now_ns)
    }

    /// Whether this process tells other machines what ranks of this one want: then whoever sleeps on the bell of
    /// the Strobe Sender here is to look.
    #[must_use]
    pub fn speaks_for_host(&self) -> bool {
        self.lock().speaks_for_host()
    }

    /// When to call [`transmit`](Self::transmit) again at the latest, if nothing happens before.
    #[must_use]
    pub fn deadline_ns(&self) -> Option<u64> {
        let state = self.lock();
        let peers = state.peers.iter().flatten();
        let links = peers.filter_map(Peer::deadline_ns);
        links.chain(state.gathering.deadline_ns()).min()
    }

    /// The party that was not heard for the longest time, and when it was.
    #[must_use]
    pub fn longest_silent_peer(&self) -> Option<(NodeId, u64)> {
        let state = self.lock();
        let peers = state.peers.iter().flatten();
        peers
            .map(|peer| (peer.nodes()[0], peer.heard_ns()))
            .min_by_key(|(_, heard_ns)| *heard_ns)
    }

    /// Peers that have said nonsense since the last call.
    #[must_use]
    pub fn take_broken(&self) -> Vec<BrokenPeer> {
        std::mem::take(&mut self.lock().broken)
    }

    /// Whether everything that was to be sent has come.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        let state = self.lock();
        state.gathering.is_empty() && state.peers.iter().flatten().all(Peer::is_idle)
    }

    /// Operations of ports here that nothing is known of yet but that they were begun, with GETs or without.
    #[must_use]
    pub fn in_flight(&self, gets: bool) -> usize {
        self.lock().operations.in_flight(gets)
    }

    pub(in super::super) fn put(
        &self,
        far: &NodeSet,
        at: GlobalAddress,
        bytes: &[u8],
        signal: Option<NicThreadId>,
        bell: BellId,
    ) -> Ticket {
        self.lock().put(far, at, bytes, signal, bell)
    }

    /// A PUT of the Strobe Sender.
    pub(in super::super) fn strobe(
        &self,
        far: &NodeSet,
        at: GlobalAddress,
        bytes: &[u8],
        signal: Option<NicThreadId>,
    ) -> Ticket {
        self.lock().strobe(far, at, bytes, signal)
    }

    pub(in super::super) fn send_ahead(&self, from: NodeId, to: NodeId, words: &[u64]) {
        self.lock().send_outside_slice(from, to, words);
    }

    pub(in super::super) fn carry(&self, to: NodeId, from: &SourceSpan) {
        self.lock().send_eager_bytes(to, from);
    }

    pub(in super::super) fn take_ahead(&self, node: NodeId, into: &mut Vec<u64>) -> Option<NodeId> {
        let (from, words) = self.lock().ahead.pop(node)?;
        *into = words;
        Some(from)
    }

    pub(in super::super) fn get(
        &self,
        party: usize,
        from: &SourceSpan,
        to: DestinationSpan,
        bell: BellId,
    ) -> Ticket {
        let mut state = self.lock();
        if let Some(ended) = state.take_cached_eager(from, &to) {
            return ended;
        }
        if from.len == 0 {
            return Ticket(state.operations.add_ended_get(Event::Signalled));
        }
        let transfer = state.operations.get(party, from.len, to, bell);
        let span = from.into();
        state.send_message(party, &Message::Get { transfer, span }, &[]);
        Ticket(transfer)
    }

    pub(in super::super) fn fetch(
        &self,
        party: usize,
        (rank, address): (u32, u64),
        into: Vec<u8>,
        bell: BellId,
    ) -> Ticket {
        let mut state = self.lock();
        let len = into.len() as u64;
        let ticket = state.operations.fetch(into, bell);
        let fetch = Message::Fetch {
            ticket,
            rank,
            address,
            len,
        };
        state.send_message(party, &fetch, &[]);
        Ticket(ticket)
    }

    pub(in super::super) fn fetched(&self, ticket: Ticket) -> Vec<u8> {
        self.lock().operations.fetched(ticket.0)
    }

    pub(in super::super) fn compare(
        &self,
        what: &CompareAndWrite,
        who: (NodeId, NicThreadId),
    ) -> Ticket {
        self.lock().compare(what, who)
    }

    pub(in super::super) fn test(&self, ticket: Ticket) -> Event {
        let mut state = self.lock();
        let told = state.writes_known_to_all();
        state.operations.test(ticket.0, told)
    }

    /// A node of this process stores a variable, and maybe reports progress by that.
    pub(in super::super) fn store(
        &self,
        node: NodeId,
        variable: Variable,
        value: u64,
        reports: bool,
    ) {
        let mut state = self.lock();
        let word = state.config.segment.variable(node, variable.index());
        word.store(value, Ordering::Release); // PROGRESS
        let claim = StoreReport {
            nodes: NodeSet::only(node),
            variable: index32(variable.index()),
            value,
            told: state.told,
            reports,
        };
        state.tell_stored(claim);
    }
}
