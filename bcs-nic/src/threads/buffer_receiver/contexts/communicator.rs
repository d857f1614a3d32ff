//! A communicator as one of its nodes knows it: which members have arrived at which collective, and
//! which collectives have still to go.

use crate::budget::{CollectivePlan, Quota};
use crate::collective::{NicGroup, ReadyCollective, StepGrant};
use crate::mail::{AbandonedCollectives, Mail};
use crate::threads::{NicThreadContext, NodeConfig};
use bcs_core::descriptor::{CollectiveDescriptor, CollectiveKind, NicCollectiveCall, is_short};
use bcs_core::job::NicThreadId;
use bcs_core::limits::REQUEST_SLOTS;
use bcs_core::request::{Completion, RequestFailure, RequestId};
use bcs_fabric::Variable;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

/// A context's first member and id.
pub(super) type ContextKey = (u32, u32);

/// Collective descriptors by the rank that posted them.
pub(super) type ArrivedDescriptors = Vec<(u32, CollectiveDescriptor)>;

/// A collective at which all local members have arrived, and how far it was granted.
#[derive(Debug)]
pub(super) struct UngrantedCollective {
    pub(super) sequence: u64,
    /// Zero: the local members do not agree, or their call is impossible. They have been notified.
    pub(super) signature: u64,
    /// The call of a local member, packed. If they do not agree, it is one with which others
    /// disagree.
    pub(super) called: u64,
    pub(super) reduces: bool,
    pub(super) has_data: bool,
    /// The number of the node's arrivals.
    arrivals: u64,
    pub(super) steps: u64,
    pub(super) granted: u64,
    /// Tokens of a step: more than one, until it is known that one rank of each node arrives for
    /// all.
    pub(super) tokens: u64,
    /// Whether all nodes are known to have arrived.
    pub(super) arrived: bool,
    /// The descriptors of the local members, if it goes outside of the slice: then neither CH nor
    /// RH knows of it.
    pub(super) ahead: Option<ArrivedDescriptors>,
    /// Whether this node has reported to its parent in the tree that all members below have
    /// arrived; at the root, whether all have reported.
    pub(super) is_told: bool,
    /// Whether the root knows that the calls differ.
    pub(super) differs: bool,
}

impl UngrantedCollective {
    /// Returns the value of `Arrived`.
    pub(super) fn arrival(&self) -> u64 {
        arrival(self.sequence, self.signature)
    }

    /// Fails it for the local members, if it goes outside of the slice; otherwise CH or RH does
    /// that.
    fn fail(&self, completion: Completion, context: &mut NicThreadContext<'_>) {
        for (rank, descriptor) in self.ahead.iter().flatten() {
            context.out.complete(*rank, descriptor.request, completion);
        }
    }

    /// Whether the master has granted all of it, or refused it.
    pub(super) fn is_over(&self, go: StepGrant) -> bool {
        go.steps_of(self.sequence)
            .is_none_or(|steps| steps >= self.steps)
    }

    /// Returns the most tokens that it can get in a slice, where `go` was granted before.
    pub(super) fn tokens_wanted(&self, go: StepGrant) -> u64 {
        let done = go.steps_of(self.sequence).unwrap_or(self.steps);
        let steps = self.steps.saturating_sub(done);
        if self.has_data {
            steps * self.tokens
        } else {
            0
        }
    }

    pub(super) fn agreed(&self) -> bool {
        self.signature != 0
    }

    /// Whether it needs no slice: it goes outside of the slice, as far as this node knows.
    pub(super) fn needs_no_slice(&self) -> bool {
        self.ahead.is_some() && !self.differs
    }

    /// Returns the NIC thread that does it.
    fn helper(&self) -> NicThreadId {
        if self.reduces {
            NicThreadId::ReduceHelper
        } else {
            NicThreadId::CollectiveHelper
        }
    }
}

/// Returns the value of `Arrived`, at collective `sequence` of a context. It holds 40 bits of the
/// number: nodes compare it at the same collective, and a value from half the number range ago is
/// [withdrawn](NicCommunicator::withdraw_published). `Number` holds all bits.
fn arrival(sequence: u64, signature: u64) -> u64 {
    number(sequence) << NicCollectiveCall::SIGNATURE_BITS | signature
}

/// Returns the value of `Number`.
pub(super) fn number(sequence: u64) -> u64 {
    sequence + 1
}

/// Half of the numbers that `Arrived` distinguishes.
const HALF_NUMBER_RANGE: u64 = 1 << (u64::BITS - NicCollectiveCall::SIGNATURE_BITS - 1);

#[derive(Debug)]
pub(super) struct NicCommunicator {
    pub(super) key: ContextKey,
    pub(super) group: Arc<NicGroup>,
    pub(super) slot: Option<u32>,
    /// Which communicator with this key it is, counted by the master; known with the slot.
    pub(super) life: u16,
    pub(super) local: Vec<u32>,
    /// Requests of local members that wait for the slot.
    pub(super) opening: Vec<(u32, RequestId)>,
    pub(super) opened: BTreeSet<u32>,
    pub(super) closed: BTreeSet<u32>,
    pub(super) arrivals: BTreeMap<u64, ArrivedDescriptors>,
    /// The first collective at which not all local members have arrived.
    complete: u64,
    pub(super) pending: VecDeque<UngrantedCollective>,
    /// The value of `Number` that the other nodes see.
    published: u64,
    /// At the master: a collective was granted in full in this slice, and CH or RH of this node may
    /// not have read `Go` yet. Until then nothing else may be written there.
    pub(super) grant_is_unread: bool,
    /// Whether short collectives go outside of the slice, once it has been computed.
    pub(super) goes_ahead: Option<bool>,
    pub(super) gone: bool,
}

impl NicCommunicator {
    /// Creates a communicator whose first collective is `first`: 0, except in tests.
    pub(super) fn new(context: u32, group: NicGroup, local: Vec<u32>, first: u64) -> Self {
        Self {
            key: (group.members[0], context),
            group: Arc::new(group),
            slot: None,
            life: 0,
            local,
            opening: Vec::new(),
            opened: BTreeSet::new(),
            closed: BTreeSet::new(),
            arrivals: BTreeMap::new(),
            complete: first,
            pending: VecDeque::new(),
            published: 0,
            grant_is_unread: false,
            goes_ahead: None,
            gone: false,
        }
    }

    /// Frees the slot of a closed context on this node. `Owner`, which publishes this, comes last.
    pub(super) fn give_slot_back(&self, context: &mut NicThreadContext<'_>) {
        let variables = [
            Variable::Called,
            Variable::Arrivals,
            Variable::Arrived,
            Variable::Number,
            Variable::Go,
            Variable::Owner,
        ];
        for variable in variables {
            if let Some(slot) = self.slot {
                context.port.store(variable(slot), 0);
            }
        }
    }

    /// Whether a rank may arrive with this descriptor, given the earlier arrivals. Collectives may
    /// arrive in any order: one that members of the node fold first comes later than what they post
    /// after it.
    pub(super) fn may_arrive(&self, rank: u32, descriptor: &CollectiveDescriptor) -> bool {
        let ahead = descriptor.sequence.checked_sub(self.complete);
        if ahead.is_none_or(|ahead| ahead >= REQUEST_SLOTS as u64) {
            return false; // it is over, or its number is impossibly high
        }
        let arrivals = self.arrivals.get(&descriptor.sequence);
        let mut arrivals = arrivals.into_iter().flatten();
        if !descriptor.for_node {
            return !arrivals.any(|(other, arrival)| *other == rank || arrival.for_node);
        }
        // CH and RH look for the root among the arrived ranks, and give the result to it.
        let root = match descriptor.kind {
            CollectiveKind::Broadcast { root } => Some(root),
            CollectiveKind::Reduce { root, .. } => root,
            _ => None,
        };
        let is_elsewhere = |root: u32| !self.local.contains(&root);
        arrivals.next().is_none() && root.is_none_or(|root| root == rank || is_elsewhere(root))
    }

    /// Adds the arrival of a rank, which [may](Self::may_arrive) arrive. Collectives at which all
    /// local members now have arrived go on.
    pub(super) fn arrive(
        &mut self,
        rank: u32,
        descriptor: CollectiveDescriptor,
        (config, quota): (&NodeConfig, Quota),
        context: &mut NicThreadContext<'_>,
    ) {
        self.works_outside_slice(config, context.port);
        let is_alone = self.local.len() == 1 || descriptor.for_node;
        if is_alone && descriptor.sequence == self.complete {
            self.ready(vec![(rank, descriptor)], quota, context);
        } else {
            let arrivals = self.arrivals.entry(descriptor.sequence);
            arrivals.or_default().push((rank, descriptor));
        }
        while let Some(arrivals) = self.arrivals.remove(&self.complete) {
            if arrivals.len() < self.local.len() && !arrivals[0].1.for_node {
                self.arrivals.insert(self.complete, arrivals);
                return;
            }
            self.ready(arrivals, quota, context);
        }
    }

    /// Makes the next collective pending: all local members have arrived at it.
    fn ready(
        &mut self,
        mut arrivals: ArrivedDescriptors,
        quota: Quota,
        context: &mut NicThreadContext<'_>,
    ) {
        arrivals.sort_by_key(|(rank, _)| self.local.iter().position(|local| local == rank));
        let sequence = self.complete;
        self.complete += 1;
        let calls: Vec<NicCollectiveCall> = arrivals
            .iter()
            .map(|(rank, descriptor)| NicCollectiveCall::of(*rank, descriptor))
            .collect();
        let odd = odd_one_out(&calls);
        let kind = arrivals[0].1.kind;
        let bytes = calls[0].bytes;
        let plan = quota.plan(kind, bytes, &self.group);
        let mut pending = UngrantedCollective {
            sequence,
            signature: calls[0].signature(self.group.fingerprint),
            called: calls[0].pack(),
            reduces: matches!(kind, CollectiveKind::Reduce { .. }),
            has_data: bytes > 0,
            arrivals: arrivals.len() as u64,
            steps: plan.steps(bytes),
            granted: 0,
            tokens: plan.crowded,
            arrived: false,
            ahead: None,
            is_told: false,
            differs: false,
        };
        let goes_ahead = self.goes_ahead == Some(true);
        if odd.is_none() && self.is_possible(&arrivals[0].1, plan) {
            if goes_ahead && is_short(kind, bytes) {
                pending.has_data = false;
                pending.ahead = Some(arrivals);
                self.pending.push_back(pending);
                return;
            }
            let collective = ReadyCollective {
                slot: self.slot.expect("who has no slot may not arrive"),
                sequence,
                group: self.group.clone(),
                over_to: goes_ahead.then_some(self.key),
                local: arrivals,
            };
            let ready = Mail::Ready(Box::new(collective));
            context.out.send(pending.helper(), ready);
        } else {
            report_mismatch(&arrivals, &calls, odd, context);
            // The other nodes must be notified.
            pending.signature = 0;
            pending.called = odd.map_or(calls[0], |(odd, _)| odd).pack();
            pending.has_data = false;
            pending.steps = 1;
        }
        self.pending.push_back(pending);
    }

    /// Whether members can do this, in steps as planned.
    fn is_possible(&self, called: &CollectiveDescriptor, plan: CollectivePlan) -> bool {
        let is_member = |root| self.group.members.contains(&root);
        let possible = match called.kind {
            CollectiveKind::Broadcast { root } => is_member(root),
            CollectiveKind::Reduce { root, op, datatype } => {
                op.allowed(datatype) && root.is_none_or(is_member)
            }
            CollectiveKind::Invalid(_) => false,
            _ => true,
        };
        possible && plan.steps(called.bytes) <= StepGrant::MAX_STEPS
    }

    /// Returns the first collective that is not over, as far as this node knows.
    pub(super) fn next(&self) -> u64 {
        let next = self.pending.front();
        next.map_or(self.complete, |next| next.sequence)
    }

    /// Returns the collective that is next to be granted.
    pub(super) fn front(&self) -> &UngrantedCollective {
        self.pending.front().expect("a collective is being granted")
    }

    /// Gives up the collective that the master has refused, and forgets those that it has granted
    /// in full.
    pub(super) fn apply_grant(
        &mut self,
        slot: u32,
        go: StepGrant,
        context: &mut NicThreadContext<'_>,
    ) {
        // Local members that do not agree have been notified.
        if let Some(refused) = self.pending.pop_front_if(|next| go.refuses(next.sequence))
            && refused.agreed()
        {
            let against = context.port.load(Variable::Called(slot));
            refused.fail(Completion::mismatch(against), context);
            let given_up = AbandonedCollectives {
                slot,
                sequence: Some(refused.sequence),
                completion: Completion::mismatch(against),
            };
            context
                .out
                .send(refused.helper(), Mail::GivenUp(Box::new(given_up)));
        }
        while self.pending.pop_front_if(|next| next.is_over(go)).is_some() {}
    }

    /// Publishes for the master which collective this node's ranks have reached, once the one
    /// before has begun.
    pub(super) fn publish(&mut self, slot: u32, go: StepGrant, context: &mut NicThreadContext<'_>) {
        let Some(next) = self.pending.front() else {
            return;
        };
        let number = number(next.sequence);
        if self.published == number {
            return;
        }
        // A collective that had begun was published, and one that is over has been forgotten.
        assert_eq!(go.steps_of(next.sequence), Some(0), "{next:?} has gone");
        self.published = number;
        context.port.store(Variable::Called(slot), next.called);
        if next.has_data {
            context.port.store(Variable::Arrivals(slot), next.arrivals);
        }
        context.port.store(Variable::Arrived(slot), next.arrival());
        // A node that sees the number sees all of these.
        context.port.store(Variable::Number(slot), number);
    }

    /// Withdraws the published arrival, if necessary, when a collective outside of the slice is
    /// over. Any number of these may follow each other, and the value from before the first must
    /// not be taken for one from after the last.
    pub(super) fn withdraw_published(
        &self,
        over: u64,
        slot: u32,
        context: &mut NicThreadContext<'_>,
    ) {
        if number(over).is_multiple_of(HALF_NUMBER_RANGE) {
            context.port.store(Variable::Arrived(slot), 0);
        }
    }

    pub(super) fn wants_schedule(&self) -> bool {
        let wants = |next: &UngrantedCollective| !next.needs_no_slice();
        !self.gone && (self.slot.is_none() || self.pending.front().is_some_and(wants))
    }

    /// Whether its next collective needs nothing but a slice: this node must publish its arrival,
    /// or all have arrived, or the master must refuse it.
    pub(super) fn waits_for_slice(&self) -> bool {
        let needs_slice = |next: &UngrantedCollective| next.differs || next.arrived;
        let needs_slice = self.pending.front().is_some_and(needs_slice);
        !self.gone && (needs_slice || self.is_to_be_published())
    }

    /// Whether its next collective goes by slices, and this node has not published its arrival. If
    /// the calls of local members differ, the root requests the slice once all have arrived.
    pub(super) fn is_to_be_published(&self) -> bool {
        let goes_by_slices = |next: &&UngrantedCollective| next.agreed() && !next.needs_no_slice();
        let next = self.pending.front().filter(goes_by_slices);
        next.is_some_and(|next| self.published != number(next.sequence))
    }

    pub(super) fn answer(&mut self, completion: Completion, context: &mut NicThreadContext<'_>) {
        for (rank, request) in self.opening.drain(..) {
            context.out.complete(rank, request, completion);
        }
    }

    /// Fails all unfinished collectives, here and at CH and RH, because a member's node has died.
    pub(super) fn fail_pending(&mut self, context: &mut NicThreadContext<'_>) {
        self.gone = true;
        let completion = Completion::failed(RequestFailure::PeerGone);
        for pending in self.pending.drain(..) {
            pending.fail(completion, context);
        }
        for (rank, descriptor) in std::mem::take(&mut self.arrivals).into_values().flatten() {
            context.out.complete(rank, descriptor.request, completion);
        }
        self.answer(completion, context);
        if let Some(slot) = self.slot {
            let given_up = AbandonedCollectives {
                slot,
                sequence: None,
                completion,
            };
            for thread in [NicThreadId::CollectiveHelper, NicThreadId::ReduceHelper] {
                context.out.send(thread, Mail::GivenUp(Box::new(given_up)));
            }
        }
    }
}

/// Reports to the local members that their calls differ or are impossible.
fn report_mismatch(
    arrivals: &[(u32, CollectiveDescriptor)],
    calls: &[NicCollectiveCall],
    odd: Option<(NicCollectiveCall, NicCollectiveCall)>,
    context: &mut NicThreadContext<'_>,
) {
    for ((rank, descriptor), call) in arrivals.iter().zip(calls) {
        let completion = match odd {
            Some((odd, other)) => {
                let against = if call.agrees_with(&odd) { other } else { odd };
                Completion::mismatch(against.pack())
            }
            None => Completion::failed(RequestFailure::BadDescriptor),
        };
        context.out.complete(*rank, descriptor.request, completion);
    }
}

/// Returns the most suspicious call if calls differ, and a call that does not agree with it. It is
/// a call marked as invalid; otherwise the one that the fewest ranks made, which is most likely to
/// be wrong.
fn odd_one_out(calls: &[NicCollectiveCall]) -> Option<(NicCollectiveCall, NicCollectiveCall)> {
    let made_by = |call: &NicCollectiveCall| match call.kind {
        CollectiveKind::Invalid(_) => 0,
        _ => calls.iter().filter(|other| call.agrees_with(other)).count(),
    };
    let odd = *calls.iter().min_by_key(|call| made_by(call))?;
    let other = calls.iter().find(|call| !call.agrees_with(&odd))?;
    Some((odd, *other))
}
