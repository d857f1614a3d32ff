//! A rank's records of its posts to the NIC.

use super::outbox::Outbox;
use super::payload_slots::PayloadSlots;
use super::probes::Probes;
use super::requests::{NicRequests, Purpose};
use super::unpacking::UnpackQueue;
use crate::data::{DataView, PackBuffer, PackBufferPool, SMALL_PIECE_BYTES};
use bcs_core::descriptor::{CollectiveDescriptor, ReceiveDescriptor, SendDescriptor};
use bcs_core::job::{NicThreadId, NodeId, Settings};
use bcs_core::limits::PAYLOAD_SLOTS;
use bcs_core::memory::NicMemory;
use bcs_core::request::{Completion, RequestFailure, RequestId};
use bcs_core::wait_state::{EnteredCollective, MessagePeer, WaitReason};
use bcs_core::wake::MachinePage;
use std::collections::VecDeque;
use std::sync::atomic::Ordering;

/// The state when the rank last demanded a slice. A loop of tests demands nothing more until it
/// changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct DemandSnapshot {
    pub(super) sends: u64,
    pub(super) receives: u64,
    pub(super) unexpected: u64,
    pub(super) completions: u64,
}

/// A rank's end of its NIC.
#[derive(Debug)]
pub(crate) struct NicTransport {
    pub(super) memory: NicMemory,
    pub(super) page: MachinePage,
    /// The node of the NIC.
    pub(super) node: NodeId,
    /// Whether a NIC serves the rings. A world of one has no NIC: all that it does is within its
    /// node.
    attended: bool,
    pub(super) elastic: bool,
    pub(super) eager_limit: usize,
    pub(super) sends: Outbox<{ SendDescriptor::WORDS }>,
    pub(super) receives: Outbox<{ ReceiveDescriptor::WORDS }>,
    pub(super) collectives: Outbox<{ CollectiveDescriptor::WORDS }>,
    pub(super) requests: NicRequests,
    pub(super) payload_slots: PayloadSlots,
    pub(super) rooms: PackBufferPool,
    pub(super) probes: Probes,
    pub(super) unpacking: UnpackQueue,
    /// The latest arrivals at collectives, in the order of their posts.
    pub(super) arrivals: VecDeque<RequestId>,
    /// How many descriptors were posted to the receive ring up to the last get.
    pub(super) gets: u64,
    pub(super) asked: Option<DemandSnapshot>,
    /// The first failure of an eager send that the sender had not waited for. Finalize reports it.
    lost: RequestFailure,
}

impl NicTransport {
    /// Makes the rank's end for this memory, which a NIC may serve.
    pub(crate) fn new(
        node: NodeId,
        memory: NicMemory,
        page: MachinePage,
        settings: &Settings,
        attended: bool,
    ) -> Self {
        let slots = memory.clone();
        let forget = move |slot| slots.forget_requests(slot);
        Self {
            sends: Outbox::new(memory.words(), NicMemory::send_ring()),
            receives: Outbox::new(memory.words(), NicMemory::receive_ring()),
            collectives: Outbox::new(memory.words(), NicMemory::collective_ring()),
            memory,
            page,
            node,
            attended,
            elastic: settings.strobe.is_elastic(),
            eager_limit: settings.eager_limit,
            requests: NicRequests::forgetting(forget),
            payload_slots: PayloadSlots::new(),
            rooms: PackBufferPool::default(),
            probes: Probes::default(),
            unpacking: UnpackQueue::default(),
            arrivals: VecDeque::new(),
            gets: 0,
            asked: None,
            lost: RequestFailure::None,
        }
    }

    /// Returns the node of the NIC.
    pub(crate) fn node(&self) -> NodeId {
        self.node
    }

    /// Asserts before a post that there is a NIC. Without one, the post would never be taken.
    pub(super) fn assert_attended(&self) {
        assert!(self.attended, "a world of one has nothing for a NIC to do");
    }

    /// Returns how many requests the NIC has completed.
    pub(super) fn completions(&self) -> u64 {
        self.memory.completions().load(Ordering::Acquire)
    }

    #[inline]
    pub(super) fn completion(&self, request: RequestId) -> Option<Completion> {
        self.memory.completion(request)
    }

    /// Returns whether the NIC has completed a request.
    pub(crate) fn is_completed(&self, request: RequestId) -> bool {
        self.memory.is_complete(request)
    }

    /// Passes on the descriptors that were held back, which request slices as if they were posted
    /// now.
    pub(crate) fn progress(&mut self) {
        if self.sends.drain() {
            self.posted_send();
        }
        if self.receives.drain() {
            self.posted_receive();
            if self.has_untaken_get() {
                self.request_for_work(NicThreadId::BufferReceiver);
            }
        }
        if self.collectives.drain() {
            self.demand_slice();
        }
    }

    /// Returns whether descriptors wait for room in a ring.
    pub(crate) fn holds(&self) -> bool {
        self.sends.holds() || self.receives.holds() || self.collectives.holds()
    }

    /// Returns how many more requests may be posted.
    pub(crate) fn room(&self) -> usize {
        self.requests.room()
    }

    /// Returns how often there was no slot.
    pub(crate) fn refusals(&self) -> u64 {
        self.requests.refusals()
    }

    /// Makes the next request slots look as if they were used this many times before.
    #[cfg(test)]
    pub(crate) fn slots_were_used(&mut self, slots: usize, times: u32) {
        self.requests.were_used(slots, times);
    }

    /// Makes the request table small.
    #[cfg(test)]
    pub(crate) fn limit_requests(&mut self, slots: usize) {
        self.requests.limit(slots);
    }

    /// Returns how many requests are open.
    pub(crate) fn in_use(&self) -> usize {
        self.requests.in_use()
    }

    /// Returns a buffer to pack these data in, if their pieces are small.
    pub(crate) fn room_for(&mut self, data: &DataView) -> Option<PackBuffer> {
        self.rooms.wanted(data, SMALL_PIECE_BYTES)
    }

    /// Closes completed requests that no caller waits for: the oldest of them, or all.
    pub(crate) fn reap(&mut self, all: bool) {
        let completions = self.completions();
        let Self {
            requests,
            payload_slots,
            lost,
            memory,
            ..
        } = self;
        let done = |purpose, completion: Completion| {
            if let Purpose::Eager { payload_slot } = purpose {
                payload_slots.give_back(payload_slot);
                if *lost == RequestFailure::None {
                    *lost = completion.failure;
                }
            }
        };
        let completed = |request| memory.completion(request);
        requests.reap(all, completions, completed, done);
    }

    /// Returns what a wait for a request waits for, and the collective that the rank entered by it.
    pub(crate) fn wait(&self, request: RequestId) -> (WaitReason, Option<EnteredCollective>) {
        match self.requests.if_live(request) {
            Some(Purpose::Send { to, .. }) => (WaitReason::Send(*to), None),
            Some(Purpose::Probe(pattern)) => (WaitReason::Probe(MessagePeer::from(*pattern)), None),
            Some(Purpose::Receive { pattern, .. }) => {
                (WaitReason::Receive(MessagePeer::from(*pattern)), None)
            }
            Some(
                Purpose::Collective { entered: None, .. }
                | Purpose::OneSided { .. }
                | Purpose::Get { .. },
            ) => (WaitReason::Nic, None),
            Some(Purpose::Collective { entered, .. }) => (WaitReason::Collective(None), *entered),
            Some(Purpose::Eager { .. } | Purpose::VoidProbe) | None => (WaitReason::Request, None),
        }
    }

    /// Returns the receivers of sends that are not over.
    pub(crate) fn sending_to(&self) -> impl Iterator<Item = MessagePeer> {
        let completed = |request| self.memory.is_complete(request);
        self.requests.sending_to(completed)
    }

    /// Closes this end. Nothing more is posted.
    pub(crate) fn close(&mut self) {
        self.forget_probes();
    }

    /// Returns whether everything this rank has sent has been taken, delivered, and, where the NIC
    /// reads the rank's memory for it, received, and its own questions were answered. The NIC must
    /// have taken the rank's other descriptors, too.
    pub(crate) fn is_over(&mut self) -> bool {
        self.reap(true);
        if self.requests.has_detached() && self.receives.untaken() {
            self.demand_slice(); // A mere withdrawal requests no slice.
        }
        if self.sends.untaken() || self.memory.undelivered_sends().load(Ordering::Acquire) != 0 {
            return false;
        }
        let completed = |request| self.memory.is_complete(request);
        !self.requests.has_detached() && !self.requests.sends_outstanding(completed)
    }

    /// Returns the first failure of eager sends that the sender had not waited for.
    pub(crate) fn eager_failure(&self) -> RequestFailure {
        self.lost
    }

    /// Returns what the library owes at the end of its rank, in words.
    pub(crate) fn internal_leaks(&mut self) -> [(bool, &'static str); 5] {
        [
            (self.sends.untaken(), "sends that the NIC has not taken"),
            (self.holds(), "descriptors that wait for room"),
            (self.payload_slots.free() != PAYLOAD_SLOTS, "payload slots"),
            (self.requests.owes(), "requests of the library's own"),
            (!self.probes.is_empty(), "answers of probes"),
        ]
    }
}
