//! A rank's end of SMARTMAP: all that it consists of. What it does is in the files that extend it.

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
    /// Where receives that both roads may satisfy are claimed.
    pub(super) memory: NicMemory,
    pub(super) page: MachinePage,
    /// This rank's place on its node.
    pub(super) place: usize,
    /// The world rank at place 0: ranks of a node follow each other.
    pub(super) first: u32,
    /// Up to so many bytes a standard send is complete when it has been copied (law 3).
    pub(super) eager_limit: usize,
    /// Whether messages bear marks: those of a job that is checked.
    pub(super) checked: bool,
    /// To each place, this one among them, to which this rank has ever sent anything.
    pub(super) outgoing: Vec<Option<OutgoingQueue>>,
    /// From each.
    pub(super) incoming: Vec<IncomingQueue>,
    /// Whether to lend to each place.
    pub(super) lenders: Vec<Lender>,
    /// Whether something waits for room in a queue.
    pub(super) holding: bool,
    pub(super) matcher: Matcher<UnexpectedMessage, PostedReceive>,
    /// Of what ranks of a checked job tell each other of their messages. It stays until something is wrong, and is
    /// no reason to look closer at every message until then: so it lies apart.
    pub(super) descriptions: Matcher<UnexpectedMessage, PostedReceive>,
    pub(super) requests: LocalRequests,
    /// Receives into memory that is being sent, and what has come for them and may not be stored
    /// yet.
    pub(super) replacing: HashMap<LocalRequestId, ReplacingReceive>,
    /// Sends that are to be cancelled as soon as it is known whose they are.
    pub(super) cancels: Vec<LocalRequestId>,
    pub(super) communicators: LocalCommunicators,
    /// What is to be done without the lock.
    pub(super) deferred_copies: VecDeque<LocalDeferredCopy>,
    pub(super) errands_so_far: u64,
    pub(super) peer_memory: PeerMemory,
    /// Memory for messages in small pieces, and that of those under way.
    pub(super) rooms: PackBufferPool,
    pub(super) packed: HashMap<LocalRequestId, PackBuffer>,
    /// Copies of messages whose senders did not wait, until they are received.
    pub(super) copies: VecDeque<(LocalRequestId, PackBuffer)>,
    /// Their bytes.
    pub(super) copied: usize,
    /// Messages for which there was no receive, so far; and the bytes of those that are kept now.
    pub(super) kept: u64,
    pub(super) kept_bytes: usize,
    /// Whose queue is drained first the next time.
    pub(super) turn: usize,
    /// To the node manager, who is told why this process ends if it has to.
    pub(super) node_manager: Option<Arc<dyn NodeManager>>,
    /// There is none because this is a world of one: who runs it is told.
    pub(super) alone: bool,
}

impl SmartMap {
    /// The end of the rank at `place` of its node, whose first rank is `first`.
    pub(crate) fn new(
        node: NodeMemory,
        memory: NicMemory,
        page: MachinePage,
        (place, first): (usize, u32),
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
            errands_so_far: 0,
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
            first,
            peer_memory,
            node_manager: None,
            alone: false,
        }
    }

    pub(super) fn ring(&self, place: usize) {
        self.page.wake(self.node.bell(place));
    }

    /// From now on this node manager is told why this process ends, if it has to.
    pub(crate) fn report_to(&mut self, node_manager: Arc<dyn NodeManager>) {
        self.node_manager = Some(node_manager);
    }

    /// From now on standard sends of so many bytes are complete when they have been copied.
    pub(crate) fn eager_up_to(&mut self, limit: usize) {
        self.eager_limit = limit;
    }

    /// From now on messages bear marks.
    pub(crate) fn expect_marks(&mut self, checked: bool) {
        self.checked = checked;
    }

    /// This process is a world of one: nobody else says why it ends.
    pub(crate) fn ends_alone(&mut self) {
        self.alone = true;
    }

    /// From now on messages are fetched from slots where they lie in one.
    pub(crate) fn use_slots(&mut self, slots: Arc<Slots>) {
        self.peer_memory.use_slots(slots);
    }

    /// Whether a world rank is on this node.
    pub(crate) fn is_local(&self, rank: u32) -> bool {
        self.place_of(rank).is_some()
    }

    pub(super) fn place_of(&self, rank: u32) -> Option<usize> {
        let place = rank.checked_sub(self.first)? as usize;
        (place < self.outgoing.len()).then_some(place)
    }

    pub(super) fn source(&self, place: usize) -> u32 {
        self.first + u32::try_from(place).expect("few ranks")
    }
}
