//! BS, the Buffer Sender: takes send and collective descriptors and, in DEM, delivers send
//! descriptors to the BRs of their destinations (paper section 4.3).
//!
//! - **Owns** the consuming side of the send and collective rings of the node's ranks, the
//!   envelopes that wait for room or credit, and the credits.
//! - **Takes** `Phase` (DEM) with the cut, `AwaitedSendsCompleted`, `NodesLost`; credit blocks from
//!   the fabric.
//! - **Emits** descriptor blocks; `Arrived` and `EarlyArrivals` to BR; `Awaited` and `Finished` to
//!   SR.
//! - **Outside of the slice.** Under elastic strobes envelopes for a remote node leave when their
//!   rank nudges, if nothing for that node waits for credit here.
//!   [`super::buffer_receiver::outside_slice`] explains why the result is the same. The next block
//!   to that node records how many have left this way, and so which of them are in the cut. BS then
//!   takes arrivals at collectives, too: BR knows which of them need a slice.
//! - **Invariants.** Envelopes of one sender to one receiver leave in the order of their posts. All
//!   go through one queue per destination node. Envelopes at its head whose receiver is out of
//!   credit wait in a queue per receiver, and come back to the head. At most
//!   [`Bounds::share`](crate::bounds::Bounds::share) envelopes to one receiver are unmatched there.
//!   An exchanged send has freed its ring entry (law 4).

use super::{
    NicThread, NicThreadContext, NodeConfig, Retries, RetryablePut, RetryablePutWords, TableLeak,
};
use crate::blocks::{
    CreditBlock, DescriptorBlock, EnvelopeRecord, OutsideSliceHeader, SendSummary,
};
use crate::failure::{CorruptPost, NicFailureCause};
use crate::mail::{Cut, Mail, MicrophaseTally};
use bcs_core::descriptor::{CollectiveDescriptor, Payload, SendDescriptor};
use bcs_core::job::{Microphase, NicThreadId, NodeId, NodeSet};
use bcs_core::limits::MAX_UNRECEIVED_EAGER_BYTES;
use bcs_core::memory::ring::Consumer;
use bcs_core::memory::{MappedWords, NicMemory};
use bcs_core::request::{Completion, RequestFailure, RequestId};
use bcs_fabric::{Block, GlobalAddress, Port, SourceSpan};
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::atomic::Ordering;

#[derive(Debug)]
struct SenderRings {
    sends: Consumer<MappedWords>,
    collectives: Consumer<MappedWords>,
    taken: u64,
    held_back: u64,
    /// Whether sends from before the cut were left in the ring, for lack of room here.
    left: bool,
}

/// A send that has left its ring.
#[derive(Clone, Copy, Debug)]
struct QueuedSend {
    /// The place of its sender among the node's ranks.
    local: usize,
    heading: SendSummary,
    record: EnvelopeRecord,
}

/// A receiver, as the sending side knows it.
#[derive(Debug, Default)]
struct ReceiverCredit {
    /// Envelopes delivered to it so far.
    delivered: u64,
    /// How many of them were matched, by the last report of its BR.
    matched: u64,
    /// Envelopes that wait for credit.
    waiting: VecDeque<QueuedSend>,
}

/// The Buffer Sender of a node.
#[derive(Debug)]
pub struct BufferSender {
    config: NodeConfig,
    rings: Vec<SenderRings>,
    outgoing: Vec<VecDeque<QueuedSend>>,
    /// How many envelopes all these queues hold: a BS with nothing to send reads none of them.
    queued: usize,
    /// Whether a queue has no more room.
    is_full: bool,
    block: DescriptorBlock,
    receivers: BTreeMap<u32, ReceiverCredit>,
    /// Envelopes that wait for credit, by destination node.
    waiting: Vec<usize>,
    share: u64,
    credits_seen: Vec<u64>,
    /// Credit blocks that have been read: one for each signal.
    signals_seen: u64,
    puts: Retries<RetryablePut>,
    exchanging: bool,
    exchanged: bool,
    /// Sends that were taken in this DEM.
    sends: u64,
    lost: NodeSet,
    /// Sends to other nodes whose senders wait for them: they fail if the node dies.
    owed: HashMap<(u32, RequestId), AwaitedSend>,
    /// How many of them SR does not know of yet.
    newly_owed: usize,
    /// The sends outside of the slice, by node.
    ahead: Vec<OutsideSliceSends>,
    nudges_seen: u32,
}

/// A send whose sender waits for it.
#[derive(Clone, Copy, Debug)]
struct AwaitedSend {
    /// The node of its receiver.
    node: NodeId,
    /// Bytes of it that were sent with its descriptor.
    carried: u64,
}

/// The sends to a node outside of the slice.
#[derive(Clone, Copy, Debug, Default)]
struct OutsideSliceSends {
    /// Bytes that were sent with descriptors, of messages that are not complete.
    carried: u64,
    sent: u64,
    /// How many of them the node knows to be in a cut.
    told: u64,
    /// The slice of the last block.
    after: u64,
}

impl BufferSender {
    /// Creates the BS of a node.
    #[must_use]
    pub fn new(config: NodeConfig) -> Self {
        let nodes = config.placement.nodes();
        let rings = config
            .ranks
            .iter()
            .map(|(_, memory)| SenderRings {
                sends: Consumer::new(memory.words(), NicMemory::send_ring()),
                collectives: Consumer::new(memory.words(), NicMemory::collective_ring()),
                taken: 0,
                held_back: 0,
                left: false,
            })
            .collect();
        Self {
            rings,
            outgoing: vec![VecDeque::new(); nodes],
            queued: 0,
            is_full: false,
            block: DescriptorBlock::default(),
            receivers: BTreeMap::new(),
            waiting: vec![0; nodes],
            share: config.bounds.share(nodes),
            credits_seen: vec![0; nodes],
            signals_seen: 0,
            puts: Retries::default(),
            exchanging: false,
            exchanged: false,
            sends: 0,
            lost: NodeSet::EMPTY,
            owed: HashMap::new(),
            newly_owed: 0,
            ahead: vec![OutsideSliceSends::default(); nodes],
            nudges_seen: 0,
            config,
        }
    }

    fn exchange(&mut self, slice: u64, cut: &Cut, context: &mut NicThreadContext<'_>) {
        self.read_credits(context);
        let mut arrived = Vec::new();
        for (local, &cut) in cut.0.iter().enumerate() {
            if let Err(cause) = self.take(local, cut, &mut arrived, context) {
                context.out.failures.push(self.config.failure(cause));
            }
        }
        self.exchanged = !arrived.is_empty();
        context
            .out
            .send(NicThreadId::BufferReceiver, Mail::Arrived(arrived));
        let has_untold = |ahead: &OutsideSliceSends| ahead.told < ahead.sent;
        if self.queued > 0
            || self.waiting.iter().any(|&waiting| waiting > 0)
            || self.ahead.iter().any(has_untold)
        {
            for node in 0..self.outgoing.len() {
                self.deliver(NodeId::from_index(node), slice, context);
            }
            self.look_for_room();
        }
        if self.newly_owed > 0 {
            let awaited = Mail::Awaited(std::mem::take(&mut self.newly_owed));
            context.out.send(NicThreadId::StrobeReceiver, awaited);
        }
        self.publish_held_back();
        self.request_slice_if_needed();
        self.exchanging = true;
    }

    /// Takes what a rank posted before the cut.
    fn take(
        &mut self,
        local: usize,
        [sends, _, collectives]: [u64; 3],
        arrived: &mut Vec<(u32, CollectiveDescriptor)>,
        context: &mut NicThreadContext<'_>,
    ) -> Result<(), NicFailureCause> {
        // Sends that were taken outside of the slice may have been posted after the cut.
        let rings = &self.rings[local];
        let collectives = collectives.max(rings.collectives.position());
        let sends = sends.max(rings.sends.position());
        self.take_collectives(local, collectives, arrived)?;
        self.take_sends(local, sends, context)
    }

    /// Takes the arrivals at collectives that a rank posted before a time.
    fn take_collectives(
        &mut self,
        local: usize,
        collectives: u64,
        arrived: &mut Vec<(u32, CollectiveDescriptor)>,
    ) -> Result<(), NicFailureCause> {
        let rank = self.config.ranks[local].0;
        let ring = &mut self.rings[local].collectives;
        let checked = ring.check(collectives);
        checked.map_err(|corrupt| NicFailureCause::corrupt_post(rank, corrupt))?;
        while let Some(words) = ring.pop(collectives) {
            let collective = CollectiveDescriptor::parse(&words);
            arrived.push((
                rank,
                collective.map_err(|bad| NicFailureCause::corrupt_post(rank, bad))?,
            ));
        }
        Ok(())
    }

    /// Takes the sends that a rank posted before a time.
    fn take_sends(
        &mut self,
        local: usize,
        sends: u64,
        context: &mut NicThreadContext<'_>,
    ) -> Result<(), NicFailureCause> {
        let rank = self.config.ranks[local].0;
        let rings = &mut self.rings[local];
        let checked = rings.sends.check(sends);
        checked.map_err(|corrupt| NicFailureCause::corrupt_post(rank, corrupt))?;
        rings.left = false;
        let bounds = self.config.bounds;
        loop {
            let rings = &mut self.rings[local];
            // Sends that do not fit into the tables stay in the ring, in order.
            if rings.held_back >= bounds.held as u64 || self.is_full {
                rings.left = true;
                return Ok(());
            }
            let Some(words) = rings.sends.pop::<{ SendDescriptor::WORDS }>(sends) else {
                return Ok(());
            };
            let (record, heading) = EnvelopeRecord::new(words, rank, rings.taken + 1)
                .map_err(|bad| NicFailureCause::corrupt_post(rank, bad))?;
            let Some(node) = self.config.placement.node_of(heading.destination) else {
                return Err(NicFailureCause::corrupt_post(
                    rank,
                    CorruptPost::NoRank(heading.destination),
                ));
            };
            rings.taken += 1;
            self.sends += 1;
            if self.lost.contains(node) {
                fail_send(rank, heading, context);
                continue;
            }
            if let Some(request) = heading.cancels
                && self.withdraw_send((local, request), (node, heading.destination))
            {
                let cancelled = Completion::failed(RequestFailure::Cancelled);
                context.out.complete(rank, request, cancelled);
                continue;
            }
            self.rings[local].held_back += 1;
            let queue = &mut self.outgoing[node.index()];
            queue.push_back(QueuedSend {
                local,
                heading,
                record,
            });
            self.queued += 1;
            self.is_full = queue.len() >= bounds.outgoing;
        }
    }

    /// Withdraws a send that has not left this node, because it waits for room or credit. Returns
    /// whether there was one.
    fn withdraw_send(&mut self, (local, request): (usize, RequestId), to: (NodeId, u32)) -> bool {
        let (node, receiver) = to;
        let is_it = |send: &QueuedSend| send.local == local && send.heading.owed == Some(request);
        let queue = &mut self.outgoing[node.index()];
        if let Some(at) = queue.iter().position(is_it) {
            queue.remove(at);
            self.queued -= 1;
            self.look_for_room();
        } else {
            let waiting = self.receivers.get_mut(&receiver).map(|to| &mut to.waiting);
            let found = waiting.and_then(|waiting| {
                let at = waiting.iter().position(is_it)?;
                waiting.remove(at)
            });
            if found.is_none() {
                return false;
            }
            self.waiting[node.index()] -= 1;
        }
        self.rings[local].held_back -= 1;
        true
    }

    fn read_credits(&mut self, context: &mut NicThreadContext<'_>) {
        let signals = context.port.signal_count();
        if std::mem::replace(&mut self.signals_seen, signals) == signals {
            return;
        }
        for lane in (0..self.credits_seen.len()).map(NodeId::from_index) {
            let seen = &mut self.credits_seen[lane.index()];
            let Some((stamp, records)) = CreditBlock::read(context.port, lane, *seen) else {
                continue;
            };
            *seen = stamp;
            for (rank, matched) in records {
                let Some(receiver) = self.receivers.get_mut(&rank) else {
                    continue;
                };
                receiver.matched = receiver.matched.max(matched);
                if receiver.delivered - receiver.matched.min(receiver.delivered) < self.share {
                    // They have waited longest, so they go before all that was posted since.
                    let queue = &mut self.outgoing[lane.index()];
                    self.waiting[lane.index()] -= receiver.waiting.len();
                    self.queued += receiver.waiting.len();
                    for send in receiver.waiting.drain(..).rev() {
                        queue.push_front(send);
                    }
                }
            }
        }
        self.look_for_room();
    }

    /// Puts one block for one destination node.
    fn deliver(&mut self, node: NodeId, slice: u64, context: &mut NicThreadContext<'_>) {
        let waiting = self.waiting[node.index()] > 0;
        let queue = &mut self.outgoing[node.index()];
        let OutsideSliceSends { sent, told, .. } = self.ahead[node.index()];
        if queue.is_empty() && !waiting && told == sent {
            return;
        }
        let is_elastic = self.config.settings.strobe.is_elastic();
        let is_ahead = is_elastic && context.port.other_host_nodes().contains(node);
        let block = &mut self.block;
        block.clear();
        while block.len() < self.config.bounds.descriptors {
            let Some(send) = queue.pop_front() else {
                break;
            };
            self.queued -= 1;
            let SendSummary {
                destination,
                owed,
                cancels,
                ..
            } = send.heading;
            // The receiver's node does not hold a cancel, so it needs no credit.
            if cancels.is_none() {
                let receiver = self.receivers.entry(destination).or_default();
                if receiver.delivered - receiver.matched >= self.share {
                    receiver.waiting.push_back(send);
                    self.waiting[node.index()] += 1;
                    continue;
                }
                receiver.delivered += 1;
            }
            self.rings[send.local].held_back -= 1;
            if let Some(request) = owed.filter(|_| node != self.config.node) {
                let rank = self.config.ranks[send.local].0;
                let owed = AwaitedSend { node, carried: 0 };
                self.owed.insert((rank, request), owed);
                self.newly_owed += usize::from(!is_ahead);
            }
            block.push(&send.record);
        }
        let waiting = self.waiting[node.index()] > 0;
        if block.is_empty() && !waiting && told == sent {
            return;
        }
        self.exchanged = true;
        let ahead = &mut self.ahead[node.index()];
        (ahead.told, ahead.after) = (sent, slice);
        RetryablePutWords {
            set: NodeSet::only(node),
            at: GlobalAddress::new(Block::Descriptors, self.config.node),
            words: self.block.seal(slice, waiting, sent),
            signal: Some(NicThreadId::BufferReceiver),
        }
        .start(context.port, &mut self.puts);
    }

    /// Sends all that may go outside of the slice. Returns whether any rank has posted.
    fn send_all_outside_slice(&mut self, context: &mut NicThreadContext<'_>) -> bool {
        let config = &self.config;
        if !config.settings.strobe.is_elastic() || context.port.other_host_nodes().is_empty() {
            return false;
        }
        let nudges = config.page.nudges(config.node, NicThreadId::BufferSender);
        if std::mem::replace(&mut self.nudges_seen, nudges) == nudges {
            return false;
        }
        let mut arrived = Vec::new();
        for local in 0..self.config.served() {
            let [sends, _, collectives] = self.config.ranks[local].1.tails();
            let taken = self.take_sends(local, sends, context);
            let taken = taken.and(self.take_collectives(local, collectives, &mut arrived));
            if let Err(cause) = taken {
                context.out.failures.push(self.config.failure(cause));
            }
        }
        if !arrived.is_empty() {
            let early = Mail::EarlyArrivals(arrived);
            context.out.send(NicThreadId::BufferReceiver, early);
        }
        for node in context.port.other_host_nodes().iter() {
            self.send_outside_slice(node, context);
        }
        self.look_for_room();
        self.publish_held_back();
        self.config.ring_for_space(context.out);
        self.request_slice_if_needed();
        true
    }

    /// Sends the head of one node's queue outside of the slice, as far as it is complete and has
    /// credit.
    fn send_outside_slice(&mut self, node: NodeId, context: &mut NicThreadContext<'_>) {
        let (queue, ahead) = (
            &mut self.outgoing[node.index()],
            &mut self.ahead[node.index()],
        );
        if self.waiting[node.index()] > 0 {
            return;
        }
        let share = self.share;
        loop {
            let header = OutsideSliceHeader {
                after: ahead.after,
                first: ahead.sent,
            };
            self.block.clear();
            while self.block.len() < self.config.bounds.descriptors {
                let Some(send) = queue.front() else {
                    break;
                };
                if send.heading.cancels.is_none() {
                    let receiver = self.receivers.entry(send.heading.destination).or_default();
                    if receiver.delivered - receiver.matched >= share {
                        break;
                    }
                    receiver.delivered += 1;
                }
                self.rings[send.local].held_back -= 1;
                if let Some(request) = send.heading.owed {
                    // Its completion comes outside of the slice, too: SR need not poll for it.
                    let rank = self.config.ranks[send.local].0;
                    let carried =
                        send_eager_bytes(rank, send.heading.eager, (node, ahead.carried), context);
                    ahead.carried += carried;
                    self.owed
                        .insert((rank, request), AwaitedSend { node, carried });
                }
                self.block.push(&send.record);
                queue.pop_front();
                self.queued -= 1;
                ahead.sent += 1;
            }
            if self.block.is_empty() {
                return;
            }
            context
                .port
                .send_outside_slice(node, self.block.seal_ahead(header));
        }
    }

    fn look_for_room(&mut self) {
        let most = self.config.bounds.outgoing;
        self.is_full = self.outgoing.iter().any(|queue| queue.len() >= most);
    }

    fn publish_held_back(&self) {
        let served = self.config.ranks[..self.config.served()].iter();
        for (rings, (_, memory)) in self.rings.iter().zip(served) {
            if memory.undelivered_sends().load(Ordering::Relaxed) != rings.held_back {
                memory
                    .undelivered_sends()
                    .store(rings.held_back, Ordering::Release);
            }
        }
    }

    /// Requests a slice if there is work (law 2): sends with credit that found no room in this
    /// slice's block, and sends for which there is room by now.
    fn request_slice_if_needed(&self) {
        if self.waits_for_slice().is_none() {
            return;
        }
        self.config.page.arm();
        if self.config.page.hungry() {
            self.config.page.demand();
        }
    }

    fn handle_lost_nodes(&mut self, lost: NodeSet, context: &mut NicThreadContext<'_>) {
        for node in lost.iter() {
            self.lost.insert(node);
            self.waiting[node.index()] = 0;
            self.queued -= self.outgoing[node.index()].len();
            let waiting = self
                .receivers
                .iter_mut()
                .filter(|(rank, _)| self.config.placement.node_of(**rank) == Some(node))
                .flat_map(|(_, receiver)| receiver.waiting.drain(..));
            for send in self.outgoing[node.index()].drain(..).chain(waiting) {
                self.rings[send.local].held_back -= 1;
                fail_send(self.config.ranks[send.local].0, send.heading, context);
            }
        }
        let mut failed: Vec<_> = self
            .owed
            .iter()
            .filter(|(_, owed)| lost.contains(owed.node))
            .map(|(key, _)| *key)
            .collect();
        failed.sort_unstable_by_key(|(rank, request)| (*rank, request.word()));
        for (rank, request) in failed {
            self.owed.remove(&(rank, request));
            let completion = Completion::failed(RequestFailure::PeerGone);
            context.out.complete(rank, request, completion);
        }
        self.look_for_room();
        self.publish_held_back();
    }
}

/// Sends an eager message to a node ahead of its descriptor, if there is room besides the bytes
/// carried there before. Returns the number of bytes sent.
fn send_eager_bytes(
    rank: u32,
    eager: Option<(u32, u64, u64)>,
    (node, carried): (NodeId, u64),
    context: &mut NicThreadContext<'_>,
) -> u64 {
    let Some((slot, address, len)) =
        eager.filter(|(.., len)| carried + len <= MAX_UNRECEIVED_EAGER_BYTES)
    else {
        return 0;
    };
    let from = SourceSpan {
        rank,
        payload: Payload::Slot { slot, address },
        offset: 0,
        len,
    };
    context.port.send_eager_bytes(node, from);
    len
}

fn fail_send(rank: u32, send: SendSummary, context: &mut NicThreadContext<'_>) {
    if let Some(request) = send.owed {
        let completion = Completion::failed(RequestFailure::PeerGone);
        context.out.complete(rank, request, completion);
    }
}

impl NicThread for BufferSender {
    fn handle(&mut self, mail: Mail, context: &mut NicThreadContext<'_>) {
        match mail {
            Mail::Phase {
                slice,
                phase: Microphase::Dem,
                cut: Some(cut),
            } => {
                self.exchange(slice, &cut, context);
                self.poll(context);
            }
            Mail::AwaitedSendsCompleted(sends) => {
                for send in sends {
                    if let Some(AwaitedSend { node, carried }) = self.owed.remove(&send) {
                        self.ahead[node.index()].carried -= carried;
                    }
                }
            }
            Mail::NodesLost(nodes) => self.handle_lost_nodes(nodes, context),
            other => unreachable!("BS does not take {other:?}"),
        }
    }

    fn table_leaks(&self, _port: &dyn Port) -> Vec<TableLeak> {
        let outgoing = self.outgoing.iter().map(VecDeque::len).sum();
        let out_of_credit = self.receivers.values().map(|to| to.waiting.len()).sum();
        vec![
            TableLeak::runtime_leak("envelopes that wait for room", outgoing),
            TableLeak::runtime_leak("envelopes that wait for credit", out_of_credit),
            TableLeak::runtime_leak("sends that were not told to be complete", self.owed.len()),
            TableLeak::runtime_leak("blocks on their way", self.puts.len()),
        ]
    }

    fn needs_polling(&self) -> bool {
        self.exchanging
    }

    fn waits_for_slice(&self) -> Option<&'static str> {
        let held = self.config.bounds.held as u64;
        let has_room = |rings: &SenderRings| rings.left && rings.held_back < held;
        let waits = self.queued > 0 || self.rings.iter().any(has_room);
        waits.then_some("sends that the next block has room for")
    }

    fn poll(&mut self, context: &mut NicThreadContext<'_>) -> bool {
        let mut progress = RetryablePut::poll(context.port, &mut self.puts);
        progress |= self.send_all_outside_slice(context);
        if self.exchanging && self.puts.is_empty() {
            self.exchanging = false;
            let mut work = [false; 5];
            work[Microphase::Msm.index()] = self.exchanged;
            let tally = MicrophaseTally {
                point_to_point: std::mem::take(&mut self.sends),
                ..MicrophaseTally::default()
            };
            context.out.finish_microphase(Microphase::Dem, work, tally);
            return true;
        }
        progress
    }
}
