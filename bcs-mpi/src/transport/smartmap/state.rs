//! A rank's end of SMARTMAP: its whole state. Its methods are in the files that extend it.

use super::collective::LocalCommunicators;
use super::deferred_copy::LocalDeferredCopy;
use super::messages::incoming::{IncomingQueue, PostedReceive, UnexpectedMessage};
use super::messages::loans::Lender;
use super::messages::outgoing::OutgoingQueue;
use super::messages::replacing::ReplacingReceive;
use super::node_manager::NodeManager;
use super::peer_memory::PeerMemory;
use super::requests::{LocalRequestId, LocalRequests};
use super::slots::Slots;
use crate::data::{PackBuffer, PackBufferPool};
use bcs_core::job::NodeRanks;
use bcs_core::job::Settings;
use bcs_core::limits::MAX_ENVELOPES_PER_RANK;
use bcs_core::matching::Matcher;
use bcs_core::memory::NicMemory;
use bcs_core::smartmap::NodeMemory;
use bcs_core::wake::MachinePage;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

/// A rank's end of SMARTMAP.
#[derive(Debug)]
pub(crate) struct SmartMap {
    pub(super) node: NodeMemory,
    /// Where receives are claimed that both transports may satisfy.
    pub(super) memory: NicMemory,
    pub(super) page: MachinePage,
    /// This rank's place on its node.
    pub(super) place: usize,
    /// The ranks of this node.
    pub(super) ranks: NodeRanks,
    /// Up to this length a standard send is complete when it has been copied (law 3).
    pub(super) eager_limit: usize,
    /// Whether messages bear marks, as in a checked job.
    pub(super) checked: bool,
    /// The queues to the places, this one among them, to which this rank has ever sent anything.
    pub(super) outgoing: Vec<Option<OutgoingQueue>>,
    /// The queues from all places.
    pub(super) incoming: Vec<IncomingQueue>,
    /// For each place, whether to lend to it.
    pub(super) lenders: Vec<Lender>,
    /// Whether anything waits for room in a queue.
    pub(super) holding: bool,
    pub(super) matcher: Matcher<UnexpectedMessage, PostedReceive>,
    /// The descriptions that ranks of a checked job send each other about their messages. They stay
    /// until there is an error, and must not slow down every message until then. So they lie apart.
    pub(super) descriptions: Matcher<UnexpectedMessage, PostedReceive>,
    pub(super) requests: LocalRequests,
    /// Receives into memory that is being sent, and the data that have come for them and may not be
    /// stored yet.
    pub(super) replacing: HashMap<LocalRequestId, ReplacingReceive>,
    /// Sends to cancel as soon as it is known whether they are claimed.
    pub(super) cancels: Vec<LocalRequestId>,
    pub(super) communicators: LocalCommunicators,
    /// Work to do without the lock.
    pub(super) deferred_copies: VecDeque<LocalDeferredCopy>,
    pub(super) deferred_copies_so_far: u64,
    pub(super) peer_memory: PeerMemory,
    /// Pack buffers for messages in small pieces, and those in use.
    pub(super) rooms: PackBufferPool,
    pub(super) packed: HashMap<LocalRequestId, PackBuffer>,
    /// Copies of messages whose senders did not wait, until they are received.
    pub(super) copies: VecDeque<(LocalRequestId, PackBuffer)>,
    /// Their bytes.
    pub(super) copied: usize,
    /// The number of messages without a receive so far, and the bytes of those that are stored now.
    pub(super) kept: u64,
    pub(super) kept_bytes: usize,
    /// The queue that is drained first the next time.
    pub(super) turn: usize,
    /// The node manager, which gets the reason if this process has to end.
    pub(super) node_manager: Option<Arc<dyn NodeManager>>,
    /// There is no node manager because this is a world of one. The reason goes to the user.
    pub(super) alone: bool,
}

impl SmartMap {
    /// Makes the end of the rank at `place` of its node, which has these `ranks`.
    pub(crate) fn new(
        node: NodeMemory,
        memory: NicMemory,
        page: MachinePage,
        (place, ranks): (usize, NodeRanks),
        peer_memory: PeerMemory,
    ) -> Self {
        let places = node.ranks();
        let incoming = (0..places).map(|from| IncomingQueue::new(node.receiver(from, place)));
        let transfers = node.clone();
        let forget = move |slot| transfers.forget_transfers(place, slot);
        Self {
            eager_limit: Settings::default().eager_limit,
            checked: false,
            outgoing: (0..places).map(|_| None).collect(),
            incoming: incoming.collect(),
            lenders: (0..places).map(|_| Lender::new()).collect(),
            holding: false,
            matcher: Matcher::new(MAX_ENVELOPES_PER_RANK, MAX_ENVELOPES_PER_RANK),
            descriptions: Matcher::new(MAX_ENVELOPES_PER_RANK, MAX_ENVELOPES_PER_RANK),
            requests: LocalRequests::forgetting(forget),
            replacing: HashMap::new(),
            cancels: Vec::new(),
            communicators: LocalCommunicators::default(),
            deferred_copies: VecDeque::new(),
            deferred_copies_so_far: 0,
            rooms: PackBufferPool::default(),
            packed: HashMap::new(),
            copies: VecDeque::new(),
            copied: 0,
            kept: 0,
            kept_bytes: 0,
            turn: 0,
            node,
            memory,
            page,
            place,
            ranks,
            peer_memory,
            node_manager: None,
            alone: false,
        }
    }

    pub(super) fn ring(&self, place: usize) {
        self.page.wake(self.node.bell(place));
    }

    /// Sets the node manager that gets the reason if this process has to end.
    pub(crate) fn report_to(&mut self, node_manager: Arc<dyn NodeManager>) {
        self.node_manager = Some(node_manager);
    }

    /// Sets the length up to which standard sends are complete when they have been copied.
    pub(crate) fn eager_up_to(&mut self, limit: usize) {
        self.eager_limit = limit;
    }

    /// Sets whether messages bear marks.
    pub(crate) fn expect_marks(&mut self, checked: bool) {
        self.checked = checked;
    }

    /// Marks this process as a world of one, which reports by itself why it ends.
    pub(crate) fn ends_alone(&mut self) {
        self.alone = true;
    }

    /// Makes messages come from the slots in which they lie.
    pub(crate) fn use_slots(&mut self, slots: Arc<Slots>) {
        self.peer_memory.use_slots(slots);
    }

    /// Returns whether a world rank is on this node.
    pub(crate) fn is_local(&self, rank: u32) -> bool {
        self.place_of(rank).is_some()
    }

    pub(super) fn place_of(&self, rank: u32) -> Option<usize> {
        let place = self.ranks.place_of(rank)?;
        (place < self.outgoing.len()).then_some(place)
    }

    pub(super) fn source(&self, place: usize) -> u32 {
        self.ranks.rank_at(place)
    }
}
