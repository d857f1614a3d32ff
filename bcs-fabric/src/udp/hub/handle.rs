//! The hub that its clones share: a lock around the state.

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

/// A hub. Clones are the same hub.
#[derive(Clone, Debug)]
pub struct Hub {
    state: Arc<Mutex<HubState>>,
    far: NodeSet,
    /// The nodes of each machine.
    machines: Arc<[NodeSet]>,
    sequencer_is_here: bool,
    /// The party of each rank of another machine.
    party_of_rank: Arc<[Option<usize>]>,
}

impl Hub {
    /// Makes a hub whose links have sent nothing.
    ///
    /// # Panics
    /// When the parties are not those of the placement.
    #[must_use]
    pub fn new(config: HubConfig, now_ns: u64) -> Self {
        let far = config.other_host_nodes();
        let sequencer_is_here = config.machine.contains(NodeId(0));
        let machines = config.machines.as_slice().into();
        let ranks = 0..u32::try_from(config.placement.capacity()).expect("ranks have 32 bits");
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

    /// Returns the nodes of other machines.
    #[must_use]
    pub fn other_host_nodes(&self) -> NodeSet {
        self.far
    }

    /// Returns whether two nodes are on different machines.
    #[must_use]
    pub fn are_on_different_hosts(&self, one: NodeId, other: NodeId) -> bool {
        let together = |machine: &NodeSet| machine.contains(one) && machine.contains(other);
        !self.machines.iter().any(together)
    }

    /// Returns whether the sequencer is on this machine, in this process or another.
    #[must_use]
    pub fn sequencer_is_here(&self) -> bool {
        self.sequencer_is_here
    }

    /// Returns the party of a rank on another machine, or `None` for a rank on this one.
    #[must_use]
    pub fn party_of(&self, rank: u32) -> Option<usize> {
        self.party_of_rank.get(rank as usize).copied().flatten()
    }

    /// Returns the bells of threads that have got something to poll.
    #[must_use]
    pub fn bells(&self) -> PendingBells {
        self.lock().bells.clone()
    }

    /// Returns the parties to which there is a link.
    #[must_use]
    pub fn linked(&self) -> Vec<usize> {
        let state = self.lock();
        let linked = state.peers.iter().enumerate();
        linked
            .filter_map(|(party, peer)| peer.as_ref().map(|_| party))
            .collect()
    }

    /// Returns the first node of each party, which its datagrams name as their sender.
    #[must_use]
    pub fn party_of_node(&self, node: NodeId) -> Option<usize> {
        self.lock().party_of_node.get(node.index()).copied()
    }

    /// Takes a datagram of a party, whose tag is right and taken off.
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

    /// Takes datagrams whose bytes lie where they belong: in memory that was [lent](Self::lend).
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

    /// Returns whether a transfer is expected that is long enough to peek at what comes next.
    #[must_use]
    pub fn awaits_bulk(&self) -> bool {
        self.lock().operations.has_long()
    }

    /// Returns the memory where bytes of a transfer belong, if it is in this process. It may be
    /// shorter than `range`: it ends where the party was not asked for bytes, or some have come.
    /// Nothing is lent where a rank's memory is not mapped here, or is in pieces. Lent memory may
    /// be written until the hub next receives anything.
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

    /// Stops lending memory of a transfer: its rank's memory did not hold what had been sent, and
    /// the rank may be writing there.
    pub fn stop_lending(&self, party: usize, transfer: u64) {
        let mut state = self.lock();
        let get = state.operations.transfer(party, transfer);
        get.into_iter().for_each(PendingGet::stop_lending);
    }

    /// Returns the bytes of transfers that have come so far, by path.
    #[must_use]
    pub fn inbound_bytes(&self) -> InboundBytes {
        self.lock().brought
    }

    /// Appends the next datagram to a party, without its tag, if one is to be sent now. Returns
    /// whether there was one.
    pub fn transmit(&self, party: usize, now_ns: u64, datagrams: &mut Vec<u8>) -> bool {
        self.write(party, now_ns, datagrams, false).is_some()
    }

    /// Does the same, but need not copy bytes of a rank at the end of the datagram: it may return
    /// them as lent memory, until the hub is called again. If the rank changes them before they are
    /// sent, the datagram has a wrong tag. The receiver drops it, and the link sends the bytes
    /// again.
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

    /// Collects demands of ranks and decisions, so that they are sent. Call it after ports and
    /// sequencer have worked, before [`transmit`](Self::transmit).
    pub fn settle(&self, now_ns: u64) {
        let mut state = self.lock();
        state.tell_decisions();
        state.tell_gathered(now_ns);
        state.relay_demands(now_ns);
    }

    /// Returns whether [`settle`](Self::settle) would have a demand of ranks to send.
    #[must_use]
    pub fn has_news(&self, now_ns: u64) -> bool {
        self.lock().has_news(now_ns)
    }

    /// Returns whether this process relays the demands of this machine's ranks. Then the thread
    /// that sleeps on the bell of the Strobe Sender here has to poll for them.
    #[must_use]
    pub fn speaks_for_host(&self) -> bool {
        self.lock().speaks_for_host()
    }

    /// Returns when to call [`transmit`](Self::transmit) again at the latest, if nothing happens
    /// before.
    #[must_use]
    pub fn deadline_ns(&self) -> Option<u64> {
        let state = self.lock();
        let peers = state.peers.iter().flatten();
        let links = peers.filter_map(Peer::deadline_ns);
        links.chain(state.gathering.deadline_ns()).min()
    }

    /// Returns the party whose last datagram is the oldest, and when that came.
    #[must_use]
    pub fn longest_silent_peer(&self) -> Option<(NodeId, u64)> {
        let state = self.lock();
        let peers = state.peers.iter().flatten();
        peers
            .map(|peer| (peer.nodes()[0], peer.heard_ns()))
            .min_by_key(|(_, heard_ns)| *heard_ns)
    }

    /// Takes the peers that have sent invalid messages since the last call.
    #[must_use]
    pub fn take_broken(&self) -> Vec<BrokenPeer> {
        std::mem::take(&mut self.lock().broken)
    }

    /// Returns whether everything that was to be sent has come.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        let state = self.lock();
        state.gathering.is_empty() && state.peers.iter().flatten().all(Peer::is_idle)
    }

    /// Returns how many messages and whole transfers have come so far. Pings and acknowledgements
    /// do not count.
    #[must_use]
    pub fn taken(&self) -> u64 {
        self.lock().taken
    }

    /// Returns how many operations of ports here are not known to have ended; with `gets`, it
    /// counts GETs, too.
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

    /// Sends a PUT of the Strobe Sender.
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

    /// Stores a variable of a node of this process, which may report progress by it.
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
