//! A communicator as one of its nodes knows it: who has arrived at which collective, and which of
//! them are still to go.

use super::ContextKey;
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

/// Collective descriptors by the rank that posted them.
pub(super) type ArrivedDescriptors = Vec<(u32, CollectiveDescriptor)>;

/// A collective at which all local members have arrived, and how far it was granted.
#[derive(Debug)]
pub(super) struct UngrantedCollective {
    pub(super) sequence: u64,
    /// Zero: the local members do not agree, or what they called is impossible. They have been told.
    pub(super) signature: u64,
    /// What a local member called, packed; if they do not agree, one that the others object to.
    pub(super) called: u64,
    pub(super) reduces: bool,
    pub(super) has_data: bool,
    /// How many arrivals of the node it has.
    arrivals: u64,
    pub(super) steps: u64,
    pub(super) granted: u64,
    /// Tokens of a step: more than one, as long as it is not known that at each node one rank arrives for
    /// all.
    pub(super) tokens: u64,
    /// Whether all nodes are known to have arrived.
    pub(super) arrived: bool,
    /// What the local members posted, if it goes ahead of the beat: then neither CH nor RH knows of it.
    pub(super) ahead: Option<ArrivedDescriptors>,
    /// Whether this node has told its parent in the tree that all members below have arrived; the root, whether it has heard so
    /// from all.
    pub(super) is_told: bool,
    /// Whether the root has heard that not all called the same.
    pub(super) differs: bool,
}

impl UngrantedCollective {
    /// The value of `Arrived`.
    pub(super) fn arrival(&self) -> u64 {
        arrival(self.sequence, self.signature)
    }

    /// The local members are told that it fails, if it goes ahead of the beat; else CH or RH tells them.
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

    /// The most tokens it can get in a slice in which `go` is what was granted before.
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

    /// Whether slices have nothing to do with it: it goes ahead of the beat, as far as this node knows.
    pub(super) fn needs_no_slice(&self) -> bool {
        self.ahead.is_some() && !self.differs
    }

    /// Who does it.
    fn helper(&self) -> NicThreadId {
        if self.reduces {
            NicThreadId::ReduceHelper
        } else {
            NicThreadId::CollectiveHelper
        }
    }
}

/// The value of `Arrived`, at collective `sequence` of a context. Of its number these are 40 bits: they are
/// compared with those of the same collective, and what a node has published half a lap of numbers ago is
/// [taken back](NicCommunicator::withdraw_published). Whoever wants to know more asks for `Number`.
fn arrival(sequence: u64, signature: u64) -> u64 {
    number(sequence) << NicCollectiveCall::SIGNATURE_BITS | signature
}

/// The value of `Number`.
pub(super) fn number(sequence: u64) -> u64 {
    sequence + 1
}

/// Half of the numbers that `Arrived` tells apart.
const HALF_NUMBER_RANGE: u64 = 1 << (u64::BITS - NicCollectiveCall::SIGNATURE_BITS - 1);

#[derive(Debug)]
pub(super) struct NicCommunicator {
    pub(super) key: ContextKey,
    pub(super) group: Arc<NicGroup>,
    pub(super) slot: Option<u32>,
    /// Which of those of this key it is, as the master has counted them; known with the slot.
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
    /// At the master: a collective was granted in full in this slice, and CH or RH of this node may not have looked at
    /// `StepGrant` so far. Nothing else is written there before.
    pub(super) grant_is_unread: bool,
    /// Whether short collectives go ahead of the beat, once somebody wanted to know.
    pub(super) goes_ahead: Option<bool>,
    pub(super) gone: bool,
}

impl NicCommunicator {
    /// One whose first collective is `first`: 0, but in tests.
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

    /// The slot of a context that is no more is free on this node: `Owner`, which says so, comes last.
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

    /// Whether a rank may arrive so, with what has arrived already. Collectives may arrive in any order:
    /// one that members of the node fold first comes later than what they post after it.
    pub(super) fn may_arrive(&self, rank: u32, descriptor: &CollectiveDescriptor) -> bool {
        let ahead = descriptor.sequence.checked_sub(self.complete);
        if ahead.is_none_or(|ahead| ahead >= REQUEST_SLOTS as u64) {
            return false; // it is over, or one that nobody can have got to
        }
        let arrivals = self.arrivals.get(&descriptor.sequence);
        let mut arrivals = arrivals.into_iter().flatten();
        if !descriptor.for_node {
            return !arrivals.any(|(other, arrival)| *other == rank || arrival.for_node);
        }
        // CH and RH look for the root among those who have arrived, and give the result to it.
        let root = match descriptor.kind {
            CollectiveKind::Broadcast { root } => Some(root),
            CollectiveKind::Reduce { root, .. } => root,
            _ => None,
        };
        let is_elsewhere = |root: u32| !self.local.contains(&root);
        arrivals.next().is_none() && root.is_none_or(|root| root == rank || is_elsewhere(root))
    }

    /// A rank arrives, which [may](Self::may_arrive). Collectives at which all local members now have go on.
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

    /// All local members have arrived at the next collective.
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
            // The other nodes have to be told.
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

    /// The first collective that is not over, as far as this node knows.
    pub(super) fn next(&self) -> u64 {
        let next = self.pending.front();
        next.map_or(self.complete, |next| next.sequence)
    }

    /// The collective that is next to be granted.
    pub(super) fn front(&self) -> &UngrantedCollective {
        self.pending.front().expect("a collective is being granted")
    }

    /// Gives up the collective that the master has refused, and forgets what it has granted in full.
    pub(super) fn apply_grant(
        &mut self,
        slot: u32,
        go: StepGrant,
        context: &mut NicThreadContext<'_>,
    ) {
        // Whose members do not agree have been told.
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

    /// Tells the master at which collective this node's ranks are, once the one before has begun.
    pub(super) fn publish(&mut self, slot: u32, go: StepGrant, context: &mut NicThreadContext<'_>) {
        let Some(next) = self.pending.front() else {
            return;
        };
        let number = number(next.sequence);
        if self.published == number {
            return;
        }
        // What had begun was published, and what is over has been forgotten.
        assert_eq!(go.steps_of(next.sequence), Some(0), "{next:?} has gone");
        self.published = number;
        context.port.store(Variable::Called(slot), next.called);
        if next.has_data {
            context.port.store(Variable::Arrivals(slot), next.arrivals);
        }
        context.port.store(Variable::Arrived(slot), next.arrival());
        // Who sees the number sees all of these.
        context.port.store(Variable::Number(slot), number);
    }

    /// A collective is over that no slice had to do with. Any number of them may follow each other, and what was
    /// published before the first must not be taken for what comes after the last.
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

    /// Whether its next collective needs nothing but a slice: this node is to say that it has arrived, or all have
    /// arrived, or the master is to refuse it.
    pub(super) fn waits_for_slice(&self) -> bool {
        let needs_slice = |next: &UngrantedCollective| next.differs || next.arrived;
        let needs_slice = self.pending.front().is_some_and(needs_slice);
        !self.gone && (needs_slice || self.is_to_be_published())
    }

    /// Whether its next collective goes by slices, and the other nodes have not been told that this one is there. If
    /// members here have not called the same, it is for the root to ask, once all have arrived.
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

    /// A member's node has died: whatever is not done fails, here and at CH and RH.
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

/// Tells the local members that they did not call the same, or called what is impossible.
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

/// If ranks called different things, one that says itself that it is wrong; else a call that the fewest made: more
/// likely than any other it is the wrong one. And one that does not agree with it.
fn odd_one_out(calls: &[NicCollectiveCall]) -> Option<(NicCollectiveCall, NicCollectiveCall)> {
    let made_by = |call: &NicCollectiveCall| match call.kind {
        CollectiveKind::Invalid(_) => 0,
        _ => calls.iter().filter(|other| call.agrees_with(other)).count(),
    };
    let odd = *calls.iter().min_by_key(|call| made_by(call))?;
    let other = calls.iter().find(|call| !call.agrees_with(&odd))?;
    Some((odd, *other))
}
