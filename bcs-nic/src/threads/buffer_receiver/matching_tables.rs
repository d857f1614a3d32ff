//! The matching tables of a node's ranks.

mod one_sided_ends;
mod unmatched_operations;

use super::nic_receive::NicReceive;
use super::one_sided::OneSidedOperations;
use super::schedule::{Transfer, TransferSchedule, completion_if_inline};
use crate::blocks::Envelope;
use crate::failure::NicFailureCause;
use crate::threads::{NicThreadContext, NodeConfig, TableLeak};
use bcs_core::descriptor::{ReceiveDescriptor, ReceiveKind};
use bcs_core::job::{NodeId, NodeSet, Placement};
use bcs_core::layout::Location;
use bcs_core::limits::REQUEST_SLOTS;
use bcs_core::matching::{Matcher, MessageEnvelope, Pattern, PostOutcome, ReceiveHandle};
use bcs_core::memory::ring::Consumer;
use bcs_core::memory::{Claimant, MappedWords, NicMemory};
use bcs_core::request::{Completion, RequestFailure, RequestId};
use bcs_core::wait_state::{Leak, LeakReport, MessagePeer};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{Ordering, fence};

/// A probe that is not answered yet.
#[derive(Clone, Copy, Debug)]
struct Probe {
    pattern: Pattern,
    request: RequestId,
    /// Whether it is answered in the slice in which it was taken, with or without a message.
    once: bool,
    /// Whether it takes the message out (a matched probe).
    extracts: bool,
}

#[derive(Debug)]
struct RankTables {
    rank: u32,
    memory: NicMemory,
    ring: Consumer<MappedWords>,
    matcher: Matcher<Envelope, NicReceive>,
    /// Handles to cancel receives, by request slot, with the generation. Those of matched receives
    /// are stale.
    handles: Vec<Option<(u32, ReceiveHandle)>>,
    /// Probes in the order of their posts.
    probes: Vec<Probe>,
    /// Messages that matched probes have taken out, by the request of the probe.
    extracted: HashMap<RequestId, (MessageEnvelope, Envelope)>,
    unexpected: u64,
    /// Messages from outside of the slice that wait.
    ahead: u64,
}

/// The outcome of matching a message from outside of the slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MatchAttempt {
    /// A receive, which it meets under any cut.
    Receive,
    /// No posted receive matches.
    Nobody,
    /// A receive that another message may meet.
    Undecided,
}

impl RankTables {
    /// Claims this receive for the NIC, if a message through another transport could satisfy it.
    /// Returns whether the NIC may satisfy it.
    fn claims(&self, receive: &NicReceive) -> bool {
        !receive.shared || self.memory.claim(receive.request, Claimant::Nic)
    }

    /// Whether all posted descriptors were taken. Otherwise a cancel may still come.
    fn has_taken_all(&self) -> bool {
        self.memory.tails()[1] == self.ring.position()
    }

    /// Returns how many receives wait here though another transport has satisfied them.
    fn satisfied_elsewhere(&self) -> usize {
        let posted = self.matcher.posted().map(|(_, receive)| receive);
        let over = posted.filter(|receive| receive.shared && !self.claims(receive));
        if self.has_taken_all() {
            over.count()
        } else {
            0
        }
    }

    /// Returns how many probes wait here. A rank does not end in the middle of one.
    fn idle_probes(&self) -> usize {
        if self.has_taken_all() {
            self.probes.len()
        } else {
            0
        }
    }

    /// Records how to cancel a receive.
    fn can_cancel(&mut self, request: RequestId, handle: ReceiveHandle) {
        let slot = request.slot as usize;
        if slot >= REQUEST_SLOTS {
            return; // an invalid slot, which nobody can complete either
        }
        if slot >= self.handles.len() {
            self.handles.resize(slot + 1, None);
        }
        self.handles[slot] = Some((request.generation, handle));
    }

    /// Returns the handle to cancel a receive, if it was posted.
    fn handle(&self, request: RequestId) -> Option<ReceiveHandle> {
        let (generation, handle) = (*self.handles.get(request.slot as usize)?)?;
        (generation == request.generation).then_some(handle)
    }

    /// Takes out a receive or probe that has not been matched or answered yet. The cancel is
    /// answered in any case.
    fn cancel(
        &mut self,
        target: RequestId,
        request: RequestId,
        context: &mut NicThreadContext<'_>,
    ) {
        let handle = self.handle(target);
        let receive = handle.and_then(|handle| self.matcher.cancel(handle));
        let probes = self.probes.len();
        self.probes.retain(|probe| probe.request != target);
        if receive.is_some() || self.probes.len() < probes {
            let cancelled = Completion::failed(RequestFailure::Cancelled);
            context.out.complete(self.rank, target, cancelled);
        }
        context.out.complete(self.rank, request, Completion::done());
    }

    /// Completes a receive that another transport has satisfied: its request slot is free.
    fn satisfied(&self, request: RequestId, context: &mut NicThreadContext<'_>) {
        let completion = Completion::failed(RequestFailure::Cancelled);
        context.out.complete(self.rank, request, completion);
    }
}

/// Returns the envelope that a receive must match to meet this message.
pub(super) fn signature_of(envelope: &Envelope) -> MessageEnvelope {
    MessageEnvelope {
        context: envelope.send.context,
        source: envelope.source,
        tag: envelope.send.tag,
    }
}

/// The tables of all ranks of the node.
#[derive(Debug)]
pub(super) struct MatchingTables {
    placement: Arc<Placement>,
    config: NodeConfig,
    ranks: Vec<RankTables>,
    /// Envelopes matched, by (source node, receiver): total and as last returned.
    credits: BTreeMap<(u16, u32), (u64, u64)>,
    return_at: u64,
    /// Those with enough credits to return.
    due: Vec<(u16, u32)>,
    completed: u64,
    /// Receives that were taken from rings since the last count.
    receives: u64,
    credit_records: usize,
    /// Cancels that were taken: the place of the rank, the operation to cancel, and the request to
    /// complete.
    cancels: Vec<(usize, RequestId, RequestId)>,
    is_elastic: bool,
    lost: NodeSet,
    one_sided: OneSidedOperations,
}

impl MatchingTables {
    pub(super) fn new(config: &NodeConfig) -> Self {
        let ranks = config
            .ranks
            .iter()
            .map(|(rank, memory)| RankTables {
                rank: *rank,
                memory: memory.clone(),
                ring: Consumer::new(memory.words(), NicMemory::receive_ring()),
                matcher: Matcher::new(config.bounds.envelopes, config.bounds.receives),
                handles: Vec::new(),
                probes: Vec::new(),
                extracted: HashMap::new(),
                unexpected: 0,
                ahead: 0,
            })
            .collect();
        // Credits are returned in quarters of the share: seldom, and long before a sender runs out.
        let return_at = (config.bounds.share(config.placement.nodes()) / 4).max(1);
        let placement = config.placement.clone();
        Self {
            placement,
            config: config.clone(),
            ranks,
            credits: BTreeMap::new(),
            return_at,
            due: Vec::new(),
            completed: 0,
            receives: 0,
            credit_records: config.bounds.credits,
            cancels: Vec::new(),
            is_elastic: config.settings.strobe.is_elastic(),
            lost: NodeSet::EMPTY,
            one_sided: OneSidedOperations::default(),
        }
    }

    /// Takes the receives that a rank posted before the cut.
    pub(super) fn take(
        &mut self,
        local: usize,
        cut: u64,
        schedule: &mut TransferSchedule,
        context: &mut NicThreadContext<'_>,
    ) -> Result<(), NicFailureCause> {
        let rank = self.ranks[local].rank;
        // Receives that were taken outside of the slice may have been posted after the cut.
        let cut = cut.max(self.ranks[local].ring.position());
        let checked = self.ranks[local].ring.check(cut);
        checked.map_err(|corrupt| NicFailureCause::corrupt_post(rank, corrupt))?;
        while let Some(words) = self.ranks[local].ring.pop(cut) {
            let descriptor = ReceiveDescriptor::parse(&words);
            let descriptor = descriptor.map_err(|bad| NicFailureCause::corrupt_post(rank, bad))?;
            self.post(local, &descriptor, schedule, context)?;
        }
        Ok(())
    }

    fn post(
        &mut self,
        local: usize,
        descriptor: &ReceiveDescriptor,
        schedule: &mut TransferSchedule,
        context: &mut NicThreadContext<'_>,
    ) -> Result<(), NicFailureCause> {
        let &ReceiveDescriptor {
            request,
            context: context_id,
            source,
            tag,
            kind,
        } = descriptor;
        let pattern = Pattern {
            context: context_id,
            source,
            tag,
        };
        let mut probe = |once, extracts| {
            self.ranks[local].probes.push(Probe {
                pattern,
                request,
                once,
                extracts,
            });
        };
        match kind {
            ReceiveKind::Probe => probe(false, false),
            ReceiveKind::ProbeOnce => probe(true, false),
            ReceiveKind::MatchedProbe => probe(false, true),
            ReceiveKind::MatchedProbeOnce => probe(true, true),
            ReceiveKind::Cancel(target) => self.cancels.push((local, target, request)),
            ReceiveKind::Get { address, into, len } => {
                let receive = NicReceive {
                    request,
                    into,
                    capacity: len,
                    shared: false,
                };
                let from = (
                    source.expect("it was parsed"),
                    Location::contiguous(address),
                );
                return self.get(local, from, &receive, schedule, context);
            }
            ReceiveKind::Receive {
                into,
                capacity,
                shared,
            } => {
                let receive = NicReceive {
                    request,
                    into,
                    capacity,
                    shared,
                };
                self.receives += 1;
                return self.receive(local, pattern, receive, schedule, context);
            }
            ReceiveKind::MatchedReceive {
                message,
                into,
                capacity,
            } => {
                let receive = NicReceive {
                    request,
                    into,
                    capacity,
                    shared: false,
                };
                self.receives += 1;
                self.receive_extracted(local, message, receive, schedule, context);
            }
        }
        Ok(())
    }

    /// Carries out the cancels of operations that have met nothing. Call it when the messages here
    /// have met the receives that were taken: a rank that knows of a message gets it.
    pub(super) fn cancel(&mut self, context: &mut NicThreadContext<'_>) {
        for (local, target, request) in std::mem::take(&mut self.cancels) {
            self.ranks[local].cancel(target, request, context);
        }
    }

    /// Matches a receive with a message that is here, or lets it wait for one.
    fn receive(
        &mut self,
        local: usize,
        pattern: Pattern,
        receive: NicReceive,
        schedule: &mut TransferSchedule,
        context: &mut NicThreadContext<'_>,
    ) -> Result<(), NicFailureCause> {
        let table = &mut self.ranks[local];
        let (rank, request) = (table.rank, receive.request);
        // Check this before a message is taken out for it: the message could not be put back in its
        // place.
        if receive.shared && table.matcher.holds_match_for(pattern) && !table.claims(&receive) {
            table.satisfied(request, context);
            return Ok(());
        }
        let posted = table.matcher.post(pattern, receive);
        match posted.map_err(|full| NicFailureCause::TooManyReceives { rank, full })? {
            PostOutcome::Matched {
                signature,
                envelope,
                receive,
            } => self.complete_match((rank, signature), &envelope, &receive, schedule, context),
            PostOutcome::Waiting(handle)
                if can_only_fail(pattern.source, &self.placement, self.lost) =>
            {
                table.matcher.cancel(handle);
                let gone = Completion::failed(RequestFailure::PeerGone);
                context.out.complete(rank, request, gone);
            }
            PostOutcome::Waiting(handle) => {
                table.can_cancel(request, handle);
            }
        }
        Ok(())
    }

    /// Receives a message that a matched probe has taken out.
    fn receive_extracted(
        &mut self,
        local: usize,
        message: RequestId,
        receive: NicReceive,
        schedule: &mut TransferSchedule,
        context: &mut NicThreadContext<'_>,
    ) {
        let rank = self.ranks[local].rank;
        match self.ranks[local].extracted.remove(&message) {
            Some((signature, envelope)) => {
                self.complete_match((rank, signature), &envelope, &receive, schedule, context);
            }
            None => {
                let bad = Completion::failed(RequestFailure::BadDescriptor);
                context.out.complete(rank, receive.request, bad);
            }
        }
    }

    /// Returns the tables of a message's receiver.
    fn receiver_of(&mut self, envelope: &Envelope) -> Result<&mut RankTables, NicFailureCause> {
        let rank = envelope.send.destination;
        let local = self.ranks.binary_search_by_key(&rank, |table| table.rank);
        let local = local.map_err(|_| NicFailureCause::WrongNode { rank })?;
        Ok(&mut self.ranks[local])
    }

    /// Tries to match an envelope from outside of the slice, after those of its source before it.
    pub(super) fn try_match(
        &mut self,
        envelope: &Envelope,
        schedule: &mut TransferSchedule,
        context: &mut NicThreadContext<'_>,
    ) -> Result<MatchAttempt, NicFailureCause> {
        let table = self.receiver_of(envelope)?;
        if envelope.send.one_sided.is_some() {
            let arrived = self.arrive(envelope, schedule, context);
            return arrived.map(|()| MatchAttempt::Receive);
        }
        match table.matcher.first_for(&signature_of(envelope)) {
            None => Ok(MatchAttempt::Nobody),
            Some((pattern, receive)) if pattern.source.is_some() && !receive.shared => {
                let arrived = self.arrive(envelope, schedule, context);
                arrived.map(|()| MatchAttempt::Receive)
            }
            Some(_) => Ok(MatchAttempt::Undecided),
        }
    }

    /// Counts the waiting messages from outside of the slice by receiver.
    pub(super) fn count_waiting(&mut self, destinations: impl Iterator<Item = u32>) {
        let served = self.config.served();
        for table in &mut self.ranks[..served] {
            table.ahead = 0;
        }
        for rank in destinations {
            let local = self.ranks.binary_search_by_key(&rank, |table| table.rank);
            if let Ok(local) = local {
                self.ranks[local].ahead += 1;
            }
        }
    }

    /// Returns the number of receives that were taken from rings since the last count.
    pub(super) fn receives(&self) -> u64 {
        self.receives
    }

    /// Whether credits are due to a BS.
    pub(super) fn owes_credits(&self) -> bool {
        !self.due.is_empty()
    }

    /// Takes an envelope for a rank of this node.
    pub(super) fn arrive(
        &mut self,
        envelope: &Envelope,
        schedule: &mut TransferSchedule,
        context: &mut NicThreadContext<'_>,
    ) -> Result<(), NicFailureCause> {
        if envelope.cancels().is_some() {
            return self.cancel_message(envelope, schedule, context);
        }
        let destination = envelope.send.destination;
        let signature = signature_of(envelope);
        let table = self.receiver_of(envelope)?;
        if let Some(target) = &envelope.send.one_sided {
            self.one_sided.arrive(envelope, target, context);
            self.end_one_sided(schedule, context);
            return Ok(());
        }
        while let Some(receive) = table
            .matcher
            .take_receive(&signature, |_, receive| *receive)
        {
            if table.claims(&receive) {
                self.complete_match(
                    (destination, signature),
                    envelope,
                    &receive,
                    schedule,
                    context,
                );
                return Ok(());
            }
            table.satisfied(receive.request, context);
        }
        let kept = table.matcher.add_unexpected(signature, *envelope);
        kept.map_err(|full| NicFailureCause::TooManyMessages {
            rank: destination,
            full,
        })
    }

    /// Cancels a message for its sender. If it has met no receive it is removed, and its sender is
    /// notified. Otherwise it has been received, or will be.
    fn cancel_message(
        &mut self,
        cancel: &Envelope,
        schedule: &mut TransferSchedule,
        context: &mut NicThreadContext<'_>,
    ) -> Result<(), NicFailureCause> {
        let Envelope { source, send, .. } = cancel;
        let is_it = |kept: &Envelope| kept.source == *source && kept.send.request == send.request;
        let table = self.receiver_of(cancel)?;
        if let Some(message) = table.matcher.take_message(signature_of(cancel), is_it) {
            self.cancelled(&message, schedule, context);
        }
        Ok(())
    }

    /// Cancels a message that has met no receive.
    pub(super) fn cancelled(
        &mut self,
        message: &Envelope,
        schedule: &mut TransferSchedule,
        context: &mut NicThreadContext<'_>,
    ) {
        let (rank, source) = (message.send.destination, message.source);
        let source_node = self.placement.node_of(source).expect("checked by BS");
        self.credit(source_node, rank);
        let is_far = context.port.other_host_nodes().contains(source_node);
        let transfer = Transfer::cancelled(rank, source_node, message);
        schedule.add(transfer, self.is_elastic && is_far);
    }

    /// Completes the match of a message and a receive, or adds a transfer for its bytes.
    fn complete_match(
        &mut self,
        (rank, signature): (u32, MessageEnvelope),
        envelope: &Envelope,
        receive: &NicReceive,
        schedule: &mut TransferSchedule,
        context: &mut NicThreadContext<'_>,
    ) {
        let source_node = self
            .placement
            .node_of(signature.source)
            .expect("checked by BS");
        self.credit(source_node, rank);
        match completion_if_inline(envelope, receive) {
            Some(completion) => {
                self.completed += 1;
                context.out.complete(rank, receive.request, completion);
            }
            None => {
                let transfer = Transfer::new(rank, source_node, envelope, receive);
                let is_far = context.port.other_host_nodes().contains(source_node);
                schedule.add(transfer, self.is_elastic && is_far);
            }
        }
    }

    /// Counts a credit: an envelope of this node for this rank has left the tables.
    fn credit(&mut self, source_node: NodeId, rank: u32) {
        let key = (source_node.0, rank);
        let (matched, returned) = self.credits.entry(key).or_default();
        *matched += 1;
        if *matched - *returned == self.return_at {
            self.due.push(key);
        }
    }

    /// Returns the number of messages since the last count that were complete as soon as they met
    /// their receives.
    pub(super) fn completed(&self) -> u64 {
        self.completed
    }

    /// Returns this number and resets it.
    pub(super) fn take_completed(&mut self) -> u64 {
        std::mem::take(&mut self.completed)
    }

    /// Returns the number of receives that were taken from rings since the last call.
    pub(super) fn take_receives(&mut self) -> u64 {
        std::mem::take(&mut self.receives)
    }

    /// Returns the number of receives that have not met a message, and of messages that have not
    /// met a receive.
    pub(super) fn waiting(&self) -> [u64; 2] {
        let of = |table: &RankTables| {
            let messages = table.matcher.unexpected_len() + table.extracted.len();
            [table.matcher.posted_len() as u64, messages as u64]
        };
        let tables = self.ranks[..self.config.served()].iter().map(of);
        tables.fold([0, 0], |all, one| [all[0] + one[0], all[1] + one[1]])
    }

    pub(super) fn has_probes(&self) -> bool {
        let mut tables = self.ranks[..self.config.served()].iter();
        tables.any(|table| !table.probes.is_empty())
    }

    /// Whether a probe matches one of these messages, or one that has come outside of the slice for
    /// a rank, or the next slice must answer it in any case.
    pub(super) fn is_probed(&self, has_come: impl Fn(u32, Pattern) -> bool) -> bool {
        let waits = |table: &RankTables, probe: &Probe| {
            probe.once
                || table.matcher.probe(probe.pattern).is_some()
                || has_come(table.rank, probe.pattern)
        };
        let mut tables = self.ranks[..self.config.served()].iter();
        tables.any(|table| table.probes.iter().any(|probe| waits(table, probe)))
    }

    /// Answers the probes whose message is there, those that poll only once, and those for which
    /// nothing can come any more.
    pub(super) fn answer_probes(&mut self, context: &mut NicThreadContext<'_>) {
        let (placement, lost) = (&self.placement, self.lost);
        for table in &mut self.ranks[..self.config.served()] {
            let rank = table.rank;
            let RankTables {
                matcher,
                extracted,
                probes,
                ..
            } = table;
            probes.retain(|&probe| {
                let request = probe.request;
                let completion = match matcher.probe(probe.pattern) {
                    Some((signature, envelope)) => Completion {
                        source: signature.source,
                        tag: signature.tag,
                        len: envelope.send.len,
                        ..Completion::done()
                    },
                    None if can_only_fail(probe.pattern.source, placement, lost) => {
                        Completion::failed(RequestFailure::PeerGone)
                    }
                    None if probe.once => Completion::failed(RequestFailure::Cancelled),
                    None => return true,
                };
                if probe.extracts
                    && let Some(message) = matcher.take_unexpected(probe.pattern)
                {
                    extracted.insert(request, message);
                }
                context.out.complete(rank, request, completion);
                false
            });
        }
    }

    /// Publishes to each rank how many envelopes wait for it (law 2).
    pub(super) fn publish_unexpected(&mut self) {
        for table in &mut self.ranks[..self.config.served()] {
            // Once a node has died any receive may have to fail, so none may count as alone.
            let unexpected = table.matcher.unexpected_len() as u64
                + table.ahead
                + u64::from(!self.lost.is_empty());
            if unexpected != table.unexpected {
                table.unexpected = unexpected;
                table
                    .memory
                    .unexpected()
                    .store(unexpected, Ordering::Release);
            }
        }
    }

    /// Whether a rank has posted a receive since the cut that a held envelope may match. The rank
    /// saw no envelopes when it posted, so nobody has requested the slice that matches them.
    pub(super) fn has_possible_matches(&self) -> bool {
        // LONELY: either the rank, which posts and then reads `unexpected`, sees an envelope, or
        // this node, which publishes and then reads the ring, sees the receive.
        fence(Ordering::SeqCst);
        self.ranks[..self.config.served()]
            .iter()
            .any(|table| table.unexpected > 0 && table.memory.tails()[1] != table.ring.position())
    }

    /// Returns the oldest message for this pattern that a rank has not received.
    pub(super) fn unmatched(&self, rank: u32, pattern: Pattern) -> Option<MessageEnvelope> {
        let table = self.ranks.iter().find(|table| table.rank == rank)?;
        let (signature, _) = table.matcher.probe(pattern)?;
        Some(signature)
    }

    /// Returns the messages that ranks have not received. (The ranks know their own receives.)
    pub(super) fn left_by_ranks(&self) -> Vec<(u32, LeakReport)> {
        let of = |table: &RankTables| {
            let kept = table.matcher.unexpected().map(|(signature, _)| signature);
            let taken_out = table.extracted.values().map(|(signature, _)| *signature);
            let mut left = LeakReport::default();
            for signature in kept.chain(taken_out) {
                left.add(
                    Leak::Message(MessagePeer::from(Pattern::from(signature))),
                    1,
                );
            }
            (table.rank, left)
        };
        let all = self.ranks.iter().map(of);
        all.filter(|(_, left)| !left.is_empty()).collect()
    }

    pub(super) fn left_over(&self) -> Vec<TableLeak> {
        let sum = |count: &dyn Fn(&RankTables) -> usize| self.ranks.iter().map(count).sum();
        vec![
            TableLeak::program_leak("messages", sum(&|table| table.matcher.unexpected_len())),
            TableLeak::program_leak("messages taken out", sum(&|table| table.extracted.len())),
            TableLeak::program_leak("receives", sum(&|table| table.matcher.posted_len())),
            TableLeak::runtime_leak(
                "receives that another road has satisfied",
                sum(&RankTables::satisfied_elsewhere),
            ),
            TableLeak::runtime_leak("one-sided operations", self.one_sided.len()),
            TableLeak::runtime_leak("probes", sum(&RankTables::idle_probes)),
        ]
    }

    /// Returns the credits for BSs, as far as each one's block has room.
    pub(super) fn credits_to_return(&mut self) -> BTreeMap<NodeId, Vec<(u32, u64)>> {
        let mut returns: BTreeMap<NodeId, Vec<(u32, u64)>> = BTreeMap::new();
        let (credits, most) = (&mut self.credits, self.credit_records);
        self.due.retain(|&(node, rank)| {
            let records = returns.entry(NodeId(node)).or_default();
            if records.len() >= most {
                return true;
            }
            let (matched, returned) = credits.entry((node, rank)).or_default();
            records.push((rank, *matched));
            *returned = *matched;
            false
        });
        returns
    }

    /// Returns a rank that is full of envelopes from a node, none of which matches a posted
    /// receive, though it has posted a receive that could match a message from there.
    pub(super) fn find_starving_rank(&self, lane: NodeId, share: u64) -> Option<u32> {
        let from_lane = |source| self.placement.node_of(source) == Some(lane);
        self.ranks.iter().find_map(|table| {
            if (table.matcher.unexpected_len() as u64) < share {
                return None;
            }
            let held = table
                .matcher
                .unexpected()
                .filter(|(signature, _)| from_lane(signature.source));
            let waits = table
                .matcher
                .posted()
                .any(|(pattern, _)| pattern.source.is_none_or(from_lane));
            (waits && held.count() as u64 >= share).then_some(table.rank)
        })
    }

    /// Fails receives that only dead ranks, or any rank, could have satisfied.
    pub(super) fn handle_lost_nodes(&mut self, lost: NodeSet, context: &mut NicThreadContext<'_>) {
        for node in lost.iter() {
            self.lost.insert(node);
        }
        let placement = &self.placement;
        let is_lost = |rank| {
            placement
                .node_of(rank)
                .is_some_and(|node| lost.contains(node))
        };
        self.one_sided.forget(is_lost);
        let fails = |source| can_only_fail(source, &self.placement, lost);
        for table in &mut self.ranks {
            let rank = table.rank;
            let mut failed: Vec<RequestId> = table
                .matcher
                .posted()
                .filter(|(pattern, _)| fails(pattern.source))
                .map(|(_, receive)| receive.request)
                .collect();
            for request in &failed {
                if let Some(handle) = table.handle(*request) {
                    table.matcher.cancel(handle);
                }
            }
            table.probes.retain(|probe| {
                let gone = fails(probe.pattern.source);
                if gone {
                    failed.push(probe.request);
                }
                !gone
            });
            let completion = Completion::failed(RequestFailure::PeerGone);
            for request in failed {
                context.out.complete(rank, request, completion);
            }
        }
    }
}

/// Whether a receive from this source must fail now that nodes are dead: its sender is dead, or,
/// with MPI_ANY_SOURCE, may be.
fn can_only_fail(source: Option<u32>, placement: &Placement, lost: NodeSet) -> bool {
    match source {
        Some(source) => placement
            .node_of(source)
            .is_some_and(|node| lost.contains(node)),
        None => !lost.is_empty(),
    }
}
