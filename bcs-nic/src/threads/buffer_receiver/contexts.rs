//! Contexts: the communicators whose ranks are on this node, and which of their collectives may
//! go (paper section 4.4).
//!
//! A context has a *slot*: the index of its global variables on all its nodes. The world has slot
//! 0. The master's BR takes one for any other context by Compare-And-Write on `Owner`, so it is
//! free on all nodes of the group and then taken on all of them, and the other BRs find it
//! ([`slots`]). A context is known by its id and its first member: two communicators of one id have no
//! member in common.
//!
//! A rank uses a context after its opening was answered, and closes it when its collectives are done.
//! What comes in another order is refused, and harms nobody else.
//!
//! Readiness is a variable: `Arrived` of a slot says at which collective all local members have
//! arrived (law 8), and bears the signature of what they called. A node publishes one at a time, the
//! next when that has gone, so that equality on all nodes means that all ranks are at the same
//! collective and called the same: one Compare-And-Write. The master's BR does it, and grants what
//! holds by writing `Go`, or refuses it ([`refusal`]). Data moves in steps of one token each; the tokens are taken on all nodes of the group at
//! once, so a token is one place in the collective block that nobody else uses in this slice.

mod grant;
mod refusal;
mod slots;
#[cfg(test)]
mod tests;

use crate::collective::{Collective, Go, Group, steps};
use crate::mail::{GivenUp, Mail, Release};
use crate::microphase::Quota;
use crate::threads::{Context, NodeConfig};
use bcs_core::descriptor::{Call, CollectiveDescriptor, CollectiveKind};
use bcs_core::fabric::{Port, Variable};
use bcs_core::job::{NicThreadId, NodeSet};
use bcs_core::limits::{MAX_RANKS, REQUEST_SLOTS};
use bcs_core::request::{Completion, Failure, RequestId};
use grant::Grants;
use slots::Refused;
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::Arc;

/// A context's first member and id.
type Key = (u32, u32);

const WORLD: Key = (0, 0);

/// A collective at which all local members have arrived, and how far it was granted.
#[derive(Debug)]
struct Pending {
    sequence: u64,
    /// Zero: the local members do not agree, or what they called is impossible. They have been told.
    signature: u64,
    /// What a local member called, packed; if they do not agree, one that the others object to.
    called: u64,
    reduces: bool,
    has_data: bool,
    steps: u64,
    granted: u64,
    /// Whether all nodes are known to have arrived.
    arrived: bool,
}

impl Pending {
    /// The value of `Arrived`.
    fn arrival(&self) -> u64 {
        arrival(self.sequence, self.signature)
    }

    /// Whether the master has granted all of it, or refused it.
    fn is_over(&self, go: Go) -> bool {
        go.steps_of(self.sequence)
            .is_none_or(|steps| steps >= self.steps)
    }

    fn agreed(&self) -> bool {
        self.signature != 0
    }
}

/// The value of `Arrived`, at collective `sequence` of a context.
fn arrival(sequence: u64, signature: u64) -> u64 {
    (sequence + 1) << Call::SIGNATURE_BITS | signature
}

#[derive(Debug)]
struct Communicator {
    group: Arc<Group>,
    slot: Option<u32>,
    local: Vec<u32>,
    /// Requests of local members that wait for the slot.
    opening: Vec<(u32, RequestId)>,
    opened: BTreeSet<u32>,
    closed: BTreeSet<u32>,
    arrivals: BTreeMap<u64, Vec<(u32, CollectiveDescriptor)>>,
    complete: u64,
    pending: VecDeque<Pending>,
    /// The value of `Arrived` that the other nodes see.
    published: u64,
    gone: bool,
}

/// The contexts of a node.
#[derive(Debug)]
pub(super) struct Contexts {
    config: NodeConfig,
    quota: Quota,
    communicators: BTreeMap<Key, Communicator>,
    /// Which communicator a rank means by a context id.
    of_rank: HashMap<(u32, u32), Key>,
    refused: Refused,
    grants: Grants,
    lost: NodeSet,
}

impl Contexts {
    pub(super) fn new(config: &NodeConfig, quota: Quota) -> Self {
        let ranks = u32::try_from(config.placement.ranks()).expect("limited");
        let group = Group::new((0..ranks).collect(), &config.placement).expect("the world");
        let local: Vec<u32> = config.ranks.iter().map(|(rank, _)| *rank).collect();
        let mut world = Communicator::new(group, local.clone());
        world.slot = Some(0);
        world.opened.extend(&local);
        Self {
            of_rank: local.into_iter().map(|rank| ((rank, 0), WORLD)).collect(),
            communicators: BTreeMap::from([(WORLD, world)]),
            refused: Refused::default(),
            grants: Grants::new(quota),
            lost: NodeSet::EMPTY,
            config: config.clone(),
            quota,
        }
    }

    /// A local rank posted a collective descriptor.
    pub(super) fn arrive(
        &mut self,
        rank: u32,
        descriptor: CollectiveDescriptor,
        context: &mut Context<'_>,
    ) {
        let done = match descriptor.kind {
            CollectiveKind::OpenContext => self.open(rank, descriptor, context),
            CollectiveKind::CloseContext => self.close(rank, &descriptor, context),
            _ => self.gather(rank, descriptor, context),
        };
        if let Err(failure) = done {
            let completion = Completion::failed(failure);
            context.out.complete(Release {
                rank,
                request: descriptor.request,
                completion,
            });
        }
    }

    fn open(
        &mut self,
        rank: u32,
        descriptor: CollectiveDescriptor,
        context: &mut Context<'_>,
    ) -> Result<(), Failure> {
        let members = self.read_members(rank, &descriptor, context)?;
        let group = Group::new(members, &self.config.placement).ok_or(Failure::BadDescriptor)?;
        if !group.members.contains(&rank) {
            return Err(Failure::BadDescriptor);
        }
        if !group.set.and(&self.lost).is_empty() {
            return Err(Failure::PeerGone);
        }
        // Ids are used again when all members have closed the context that had them.
        let key = (group.members[0], descriptor.context);
        let is_known = |known: &Communicator| {
            known.opened.contains(&rank) || known.group.members != group.members
        };
        if descriptor.context == WORLD.1
            || self.of_rank.contains_key(&(rank, descriptor.context))
            || self.communicators.get(&key).is_some_and(is_known)
        {
            return Err(Failure::BadDescriptor);
        }
        let is_local = |rank: &u32| self.config.local(*rank).is_some();
        let local: Vec<u32> = group.members.iter().copied().filter(is_local).collect();
        if self.refused.tells(key, rank, local.len()) {
            return Err(Failure::TableFull);
        }
        let communicator = self
            .communicators
            .entry(key)
            .or_insert_with(|| Communicator::new(group, local));
        communicator.opened.insert(rank);
        self.of_rank.insert((rank, descriptor.context), key);
        communicator.opening.push((rank, descriptor.request));
        if communicator.slot.is_some() {
            communicator.answer(Completion::done(), context);
        }
        Ok(())
    }

    fn read_members(
        &self,
        rank: u32,
        descriptor: &CollectiveDescriptor,
        context: &mut Context<'_>,
    ) -> Result<Vec<u32>, Failure> {
        let len = usize::try_from(descriptor.bytes).unwrap_or(usize::MAX);
        if len > MAX_RANKS * 4 || !len.is_multiple_of(4) {
            return Err(Failure::BadDescriptor);
        }
        let mut bytes = vec![0; len];
        match &descriptor.inline {
            Some(inline) => bytes.copy_from_slice(&inline[..len]),
            None => context
                .memory
                .read(rank, descriptor.input, &mut bytes)
                .map_err(|_| Failure::BadAddress)?,
        }
        let word = |word: &[u8]| u32::from_le_bytes(word.try_into().expect("four bytes"));
        Ok(bytes.chunks_exact(4).map(word).collect())
    }

    fn close(
        &mut self,
        rank: u32,
        descriptor: &CollectiveDescriptor,
        context: &mut Context<'_>,
    ) -> Result<(), Failure> {
        let of_rank = (rank, descriptor.context);
        let key = *self.of_rank.get(&of_rank).ok_or(Failure::BadDescriptor)?;
        let communicator = self
            .communicators
            .get_mut(&key)
            .expect("a rank's context is known");
        let is_opening = communicator
            .opening
            .iter()
            .any(|&(member, _)| member == rank);
        if key == WORLD || is_opening {
            return Err(Failure::BadDescriptor);
        }
        if let Some(slot) = communicator.slot {
            let go = Go::decode(context.port.load(Variable::Go(slot)));
            communicator.heed_refusal(slot, go, context);
            communicator.forget_done(go);
        }
        // As others may have closed it before, so may those who never opened it not be waited for.
        let is_last = communicator.closed.len() + 1 == communicator.opened.len();
        let is_in_use = !communicator.pending.is_empty() || !communicator.arrivals.is_empty();
        if is_last && is_in_use {
            return Err(Failure::BadDescriptor);
        }
        communicator.closed.insert(rank);
        self.of_rank.remove(&of_rank);
        let request = descriptor.request;
        context.out.complete(Release {
            rank,
            request,
            completion: Completion::done(),
        });
        if is_last && let Some(closed) = self.communicators.remove(&key) {
            closed.give_slot_back(context);
        }
        Ok(())
    }

    fn gather(
        &mut self,
        rank: u32,
        descriptor: CollectiveDescriptor,
        context: &mut Context<'_>,
    ) -> Result<(), Failure> {
        let key = *self
            .of_rank
            .get(&(rank, descriptor.context))
            .ok_or(Failure::BadDescriptor)?;
        let communicator = self
            .communicators
            .get_mut(&key)
            .expect("a rank's context is known");
        if communicator.gone {
            return Err(Failure::PeerGone);
        }
        if communicator.slot.is_none() || !communicator.may_arrive(rank, &descriptor) {
            return Err(Failure::BadDescriptor);
        }
        let arrivals = communicator.arrivals.entry(descriptor.sequence);
        arrivals.or_default().push((rank, descriptor));
        while let Some(arrivals) = communicator.arrivals.get(&communicator.complete)
            && (arrivals.len() == communicator.local.len() || arrivals[0].1.for_node)
        {
            let arrivals = communicator
                .arrivals
                .remove(&communicator.complete)
                .expect("seen");
            communicator.ready(arrivals, self.quota, context);
        }
        Ok(())
    }

    /// The end of DEM: tells the other nodes how far this one is, and looks for slots.
    pub(super) fn publish(&mut self, context: &mut Context<'_>) {
        self.heed_refusal(context);
        self.find_slots(context);
        for communicator in self.communicators.values_mut() {
            if let Some(slot) = communicator.slot.filter(|_| !communicator.gone) {
                let go = Go::decode(context.port.load(Variable::Go(slot)));
                communicator.heed_refusal(slot, go, context);
                communicator.forget_done(go);
                communicator.publish(slot, go, context);
            }
        }
    }

    /// Whether this node's BR has anything to test in MSM.
    pub(super) fn has_candidates(&self) -> bool {
        self.communicators.values().any(|communicator| {
            communicator.group.master() == self.config.node && communicator.wants_schedule()
        })
    }

    /// Whether a collective may bring data into this node in this slice.
    pub(super) fn may_move_data(&self) -> bool {
        self.communicators
            .values()
            .any(|communicator| communicator.pending.iter().any(|pending| pending.has_data))
    }

    /// Begins to schedule the collectives whose master is here.
    pub(super) fn schedule(&mut self, slice: u64, context: &mut Context<'_>) {
        let mut keys: Vec<Key> = self
            .communicators
            .iter()
            .filter(|(_, communicator)| {
                communicator.group.master() == self.config.node && communicator.wants_schedule()
            })
            .map(|(&key, _)| key)
            .collect();
        if !keys.is_empty() {
            // Another context goes first in every slice, so that none is left without tokens.
            let first = usize::try_from(slice % keys.len() as u64).expect("few contexts");
            keys.rotate_left(first);
        }
        self.grants.begin(slice, keys);
        self.poll(context);
    }

    pub(super) fn is_scheduled(&self) -> bool {
        self.grants.is_done()
    }

    /// Whether barriers or broadcasts, and reductions, were granted in this slice.
    pub(super) fn granted(&self) -> [bool; 2] {
        self.grants.granted()
    }

    /// How many collectives were granted steps in this slice.
    pub(super) fn grants(&self) -> u64 {
        self.grants.count()
    }

    pub(super) fn poll(&mut self, context: &mut Context<'_>) -> bool {
        self.grants
            .poll(&mut self.communicators, &self.config, context)
    }

    /// Collectives at which ranks of this node have arrived, and which have not gone.
    pub(super) fn unfinished(&self, port: &dyn Port) -> usize {
        let of = |communicator: &Communicator| {
            let go = communicator.slot.map(|slot| port.load(Variable::Go(slot)));
            let go = Go::decode(go.unwrap_or(0));
            let pending = communicator.pending.iter();
            let left = pending.filter(|pending| !pending.is_over(go)).count();
            communicator.arrivals.len() + left
        };
        self.communicators.values().map(of).sum()
    }

    pub(super) fn mourn(&mut self, lost: NodeSet, context: &mut Context<'_>) {
        self.lost = self.lost.iter().chain(lost.iter()).collect();
        for communicator in self.communicators.values_mut() {
            if communicator.group.set.and(&lost).is_empty() || communicator.gone {
                continue;
            }
            communicator.gone = true;
            communicator.pending.clear();
            let completion = Completion::failed(Failure::PeerGone);
            for (_, arrivals) in std::mem::take(&mut communicator.arrivals) {
                for (rank, descriptor) in arrivals {
                    let request = descriptor.request;
                    context.out.complete(Release {
                        rank,
                        request,
                        completion,
                    });
                }
            }
            communicator.answer(completion, context);
            if let Some(slot) = communicator.slot {
                let given_up = GivenUp {
                    slot,
                    sequence: None,
                    completion,
                };
                for thread in [NicThreadId::CollectiveHelper, NicThreadId::ReduceHelper] {
                    context.out.send(thread, Mail::GivenUp(given_up));
                }
            }
        }
    }
}

impl Communicator {
    fn new(group: Group, local: Vec<u32>) -> Self {
        Self {
            group: Arc::new(group),
            slot: None,
            local,
            opening: Vec::new(),
            opened: BTreeSet::new(),
            closed: BTreeSet::new(),
            arrivals: BTreeMap::new(),
            complete: 0,
            pending: VecDeque::new(),
            published: 0,
            gone: false,
        }
    }

    /// The slot of a context that is no more is free on this node: `Owner`, which says so, comes last.
    fn give_slot_back(&self, context: &mut Context<'_>) {
        let variables = [
            Variable::Called,
            Variable::Arrived,
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
    fn may_arrive(&self, rank: u32, descriptor: &CollectiveDescriptor) -> bool {
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

    /// All local members have arrived at the next collective.
    fn ready(
        &mut self,
        mut arrivals: Vec<(u32, CollectiveDescriptor)>,
        quota: Quota,
        context: &mut Context<'_>,
    ) {
        arrivals.sort_by_key(|(rank, _)| self.local.iter().position(|local| local == rank));
        let sequence = self.complete;
        self.complete += 1;
        let first = arrivals[0].1;
        let calls: Vec<Call> = arrivals
            .iter()
            .map(|(rank, descriptor)| Call::of(*rank, descriptor))
            .collect();
        let odd = odd_one_out(&calls);
        let possible = match first.kind {
            CollectiveKind::Broadcast { root } => self.group.members.contains(&root),
            CollectiveKind::Reduce { root, op, datatype } => {
                op.allowed(datatype) && root.is_none_or(|root| self.group.members.contains(&root))
            }
            _ => true,
        };
        let step = if matches!(first.kind, CollectiveKind::Reduce { .. }) {
            quota.reduce_step(self.group.nodes.len())
        } else {
            quota.broadcast_step()
        };
        let possible = possible && steps(first.bytes, step) <= Go::MAX_STEPS;
        let reduces = matches!(first.kind, CollectiveKind::Reduce { .. });
        let bytes = calls[0].bytes;
        let pending = Pending {
            sequence,
            signature: calls[0].signature(self.group.fingerprint),
            called: calls[0].pack(),
            reduces,
            has_data: bytes > 0,
            steps: steps(bytes, step),
            granted: 0,
            arrived: false,
        };
        if odd.is_some() || !possible {
            for ((rank, descriptor), call) in arrivals.iter().zip(&calls) {
                let completion = match odd {
                    Some((odd, other)) => {
                        let against = if call.agrees_with(&odd) { other } else { odd };
                        Completion::mismatch(against.pack())
                    }
                    None => Completion::failed(Failure::BadDescriptor),
                };
                context.out.complete(Release {
                    rank: *rank,
                    request: descriptor.request,
                    completion,
                });
            }
            // The other nodes have to be told.
            self.pending.push_back(Pending {
                signature: 0,
                called: odd.map_or(calls[0], |(odd, _)| odd).pack(),
                has_data: false,
                steps: 1,
                ..pending
            });
            return;
        }
        let collective = Collective {
            slot: self.slot.expect("who has no slot may not arrive"),
            sequence,
            group: self.group.clone(),
            local: arrivals,
        };
        self.pending.push_back(pending);
        let helper = if reduces {
            NicThreadId::ReduceHelper
        } else {
            NicThreadId::CollectiveHelper
        };
        context.out.send(helper, Mail::Ready(Box::new(collective)));
    }

    /// The collective that is next to be granted.
    fn front(&self) -> &Pending {
        self.pending.front().expect("a collective is being granted")
    }

    /// Gives up the collective that the master has refused.
    fn heed_refusal(&mut self, slot: u32, go: Go, context: &mut Context<'_>) {
        let Some(refused) = self.pending.pop_front_if(|next| go.refuses(next.sequence)) else {
            return;
        };
        if !refused.agreed() {
            return; // the local members have been told
        }
        let helper = if refused.reduces {
            NicThreadId::ReduceHelper
        } else {
            NicThreadId::CollectiveHelper
        };
        let against = context.port.load(Variable::Called(slot));
        let given_up = GivenUp {
            slot,
            sequence: Some(refused.sequence),
            completion: Completion::mismatch(against),
        };
        context.out.send(helper, Mail::GivenUp(given_up));
    }

    /// Tells the master at which collective this node's ranks are, once the one before has begun.
    fn publish(&mut self, slot: u32, go: Go, context: &mut Context<'_>) {
        let Some(next) = self.pending.front() else {
            return;
        };
        let arrival = next.arrival();
        if self.published == arrival {
            return;
        }
        // What had begun was published, and what is over has been forgotten.
        assert_eq!(go.steps_of(next.sequence), Some(0), "{next:?} has gone");
        self.published = arrival;
        context.port.store(Variable::Called(slot), next.called);
        context.port.store(Variable::Arrived(slot), arrival);
    }

    /// Forgets what another node's master has granted in full.
    fn forget_done(&mut self, go: Go) {
        while self.pending.front().is_some_and(|next| next.is_over(go)) {
            self.pending.pop_front();
        }
    }

    fn wants_schedule(&self) -> bool {
        !self.gone && (self.slot.is_none() || !self.pending.is_empty())
    }

    fn answer(&mut self, completion: Completion, context: &mut Context<'_>) {
        for (rank, request) in self.opening.drain(..) {
            context.out.complete(Release {
                rank,
                request,
                completion,
            });
        }
    }
}

/// If ranks called different things, a call that the fewest made, and one that does not agree with
/// it: more likely than any other it is the wrong one.
fn odd_one_out(calls: &[Call]) -> Option<(Call, Call)> {
    let made_by = |call: &Call| calls.iter().filter(|other| call.agrees_with(other)).count();
    let odd = *calls.iter().min_by_key(|call| made_by(call))?;
    let other = calls.iter().find(|call| !call.agrees_with(&odd))?;
    Some((odd, *other))
}
