//! Contexts: the communicators whose ranks are on this node, and which of their collectives may go
//! (paper section 4.4).
//!
//! A context has a *slot*: the index of its global variables on all its nodes. Slot 0 belongs to
//! the world. For any other context the master's BR takes a slot by Compare-And-Write on `Owner`:
//! it is free on all nodes of the group and then taken on all of them, and the other BRs find it
//! ([`slots`]). A context is known by its id and its first member: two communicators of one id have
//! no member in common.
//!
//! A rank uses a context after its opening was answered, and closes it when its collectives are
//! done. Descriptors in another order are refused, and harm no other rank.
//!
//! Readiness is a variable: `Arrived` of a slot records the collective at which all local members
//! have arrived (law 8), with the signature of their call. A node publishes one at a time, and the
//! next when that has gone. So equality on all nodes means that all ranks are at the same
//! collective with the same call: one Compare-And-Write tests it. The master's BR does this. If it
//! holds, the BR grants the collective by writing `Go`; otherwise it refuses it ([`refusal`]). Data
//! moves in steps of one token each. The tokens are taken on all nodes of the group at once, so a
//! token is one place in the collective block that nobody else uses in this slice.
//!
//! Between hosts short collectives need none of this ([`outside_slice`]).

mod communicator;
mod early_tree_messages;
mod grant;
mod outside_slice;
mod refusal;
mod slot_answers;
mod slots;
#[cfg(test)]
mod tests;

use crate::budget::Quota;
use crate::collective::{NicGroup, StepGrant};
use crate::threads::{NicThreadContext, NodeConfig};
use bcs_core::descriptor::{CollectiveDescriptor, CollectiveKind};
use bcs_core::job::NodeSet;
use bcs_core::limits::{MAX_CONTEXTS, MAX_RANKS};
use bcs_core::request::{Completion, RequestFailure};
use bcs_fabric::{Port, Variable};
use communicator::{ContextKey, NicCommunicator};
use early_tree_messages::EarlyTreeMessages;
use grant::GrantSequence;
use slots::RefusedContexts;
use std::collections::BTreeMap;

const WORLD: ContextKey = (0, 0);

/// The contexts of a node.
#[derive(Debug)]
pub(super) struct Contexts {
    config: NodeConfig,
    quota: Quota,
    communicators: BTreeMap<ContextKey, NicCommunicator>,
    /// The communicator that a rank means by a context id.
    of_rank: BTreeMap<(u32, u32), ContextKey>,
    refused: RefusedContexts,
    /// The number of contexts opened here, modulo 2^16.
    opened: u16,
    grants: GrantSequence,
    /// The most tokens that collectives of this node can get in this slice, each by itself. They
    /// are counted in DEM: in MSM a master may already have granted some of them.
    tokens_wanted: u64,
    /// Messages of other nodes about collectives outside of the slice.
    heard: EarlyTreeMessages,
    /// Arrivals that were taken before their slice and need one.
    later: Vec<(u32, CollectiveDescriptor)>,
    /// Collectives whose last arrival of this node has come since the last count.
    complete: u64,
    lost: NodeSet,
}

impl Contexts {
    pub(super) fn new(config: &NodeConfig, quota: Quota) -> Self {
        let ranks = u32::try_from(config.placement.ranks()).expect("limited");
        let group = NicGroup::new((0..ranks).collect(), &config.placement).expect("the world");
        // A spare rank is not in it: its world is a context like any other.
        let local = config.ranks.iter().map(|(rank, _)| *rank);
        let local: Vec<u32> = local.filter(|&rank| rank < ranks).collect();
        let first = config.bounds.first_collective;
        let mut world = NicCommunicator::new(WORLD.1, group, local.clone(), first);
        world.slot = Some(0);
        world.opened.extend(&local);
        Self {
            of_rank: local.into_iter().map(|rank| ((rank, 0), WORLD)).collect(),
            communicators: BTreeMap::from([(WORLD, world)]),
            refused: RefusedContexts::default(),
            opened: 0,
            grants: GrantSequence::new(quota),
            tokens_wanted: 0,
            heard: EarlyTreeMessages::default(),
            later: Vec::new(),
            complete: 0,
            lost: NodeSet::EMPTY,
            config: config.clone(),
            quota,
        }
    }

    /// Takes in DEM what local ranks posted before the cut.
    pub(super) fn arrive_all(
        &mut self,
        posted: Vec<(u32, CollectiveDescriptor)>,
        context: &mut NicThreadContext<'_>,
    ) {
        let later = std::mem::take(&mut self.later);
        for (rank, descriptor) in later.into_iter().chain(posted) {
            self.arrive(rank, descriptor, context);
        }
    }

    /// Takes a collective descriptor of a local rank.
    fn arrive(
        &mut self,
        rank: u32,
        descriptor: CollectiveDescriptor,
        context: &mut NicThreadContext<'_>,
    ) {
        let done = match descriptor.kind {
            CollectiveKind::OpenContext => self.open(rank, descriptor, context),
            CollectiveKind::CloseContext => self.close(rank, &descriptor, context),
            _ => self.gather(rank, descriptor, context),
        };
        if let Err(failure) = done {
            let failed = Completion::failed(failure);
            context.out.complete(rank, descriptor.request, failed);
        }
    }

    fn open(
        &mut self,
        rank: u32,
        descriptor: CollectiveDescriptor,
        context: &mut NicThreadContext<'_>,
    ) -> Result<(), RequestFailure> {
        let members = self.read_members(rank, &descriptor, context)?;
        let group =
            NicGroup::new(members, &self.config.placement).ok_or(RequestFailure::BadDescriptor)?;
        if !group.members.contains(&rank) {
            return Err(RequestFailure::BadDescriptor);
        }
        if !group.set.and(&self.lost).is_empty() {
            return Err(RequestFailure::PeerGone);
        }
        // An id is used again when all members have closed its context.
        let key = (group.members[0], descriptor.context);
        let is_known = |known: &NicCommunicator| {
            known.opened.contains(&rank) || known.group.members != group.members
        };
        if descriptor.context == WORLD.1
            || descriptor.context as usize >= MAX_CONTEXTS
            || self.of_rank.contains_key(&(rank, descriptor.context))
            || self.communicators.get(&key).is_some_and(is_known)
        {
            return Err(RequestFailure::BadDescriptor);
        }
        let is_local = |rank: &u32| self.config.local(*rank).is_some();
        let local: Vec<u32> = group.members.iter().copied().filter(is_local).collect();
        if self.refused.take_refusal(key, rank, local.len()) {
            return Err(RequestFailure::TableFull);
        }
        let first = self.config.bounds.first_collective;
        let communicator = self.communicators.entry(key).or_insert_with(|| {
            let mut opened = NicCommunicator::new(key.1, group, local, first);
            self.opened = self.opened.wrapping_add(1);
            opened.life = self.opened;
            opened
        });
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
        context: &mut NicThreadContext<'_>,
    ) -> Result<Vec<u32>, RequestFailure> {
        let len = usize::try_from(descriptor.bytes).unwrap_or(usize::MAX);
        if len > MAX_RANKS * 4 || !len.is_multiple_of(4) {
            return Err(RequestFailure::BadDescriptor);
        }
        let mut bytes = vec![0; len];
        match &descriptor.inline {
            Some(inline) => bytes.copy_from_slice(&inline[..len]),
            None => context
                .memory
                .read(rank, descriptor.input, &mut bytes)
                .map_err(|_| RequestFailure::BadAddress)?,
        }
        let word = |word: &[u8]| u32::from_le_bytes(word.try_into().expect("four bytes"));
        Ok(bytes.chunks_exact(4).map(word).collect())
    }

    fn close(
        &mut self,
        rank: u32,
        descriptor: &CollectiveDescriptor,
        context: &mut NicThreadContext<'_>,
    ) -> Result<(), RequestFailure> {
        let of_rank = (rank, descriptor.context);
        let key = *self
            .of_rank
            .get(&of_rank)
            .ok_or(RequestFailure::BadDescriptor)?;
        let communicator = self.communicators.get_mut(&key);
        let communicator = communicator.expect("a rank's context is known");
        let mut opening = communicator.opening.iter();
        let is_opening = opening.any(|&(member, _)| member == rank);
        if key == WORLD || is_opening {
            return Err(RequestFailure::BadDescriptor);
        }
        if let Some(slot) = communicator.slot {
            let go = StepGrant::decode(context.port.load(Variable::Go(slot)));
            communicator.apply_grant(slot, go, context);
        }
        // Members that never opened it are not waited for, since others may have closed it before.
        let is_last = communicator.closed.len() + 1 == communicator.opened.len();
        let is_in_use = !communicator.pending.is_empty() || !communicator.arrivals.is_empty();
        if is_last && is_in_use {
            return Err(RequestFailure::BadDescriptor);
        }
        communicator.closed.insert(rank);
        self.of_rank.remove(&of_rank);
        let done = Completion::done();
        context.out.complete(rank, descriptor.request, done);
        if is_last && let Some(closed) = self.communicators.remove(&key) {
            closed.give_slot_back(context);
            self.forget(key);
        }
        Ok(())
    }

    fn gather(
        &mut self,
        rank: u32,
        descriptor: CollectiveDescriptor,
        context: &mut NicThreadContext<'_>,
    ) -> Result<(), RequestFailure> {
        let key = self.of_rank.get(&(rank, descriptor.context));
        let key = *key.ok_or(RequestFailure::BadDescriptor)?;
        let communicator = self.communicators.get_mut(&key);
        let communicator = communicator.expect("a rank's context is known");
        if communicator.gone {
            return Err(RequestFailure::PeerGone);
        }
        if communicator.slot.is_none() || !communicator.may_arrive(rank, &descriptor) {
            return Err(RequestFailure::BadDescriptor);
        }
        let before = communicator.pending.len();
        communicator.arrive(rank, descriptor, (&self.config, self.quota), context);
        self.complete += (communicator.pending.len() - before) as u64;
        self.advance(key, context);
        Ok(())
    }

    /// Publishes how far this node is at the end of DEM, and looks for slots.
    pub(super) fn publish(&mut self, context: &mut NicThreadContext<'_>) {
        self.note_refusal(context);
        self.find_slots(context);
        self.tokens_wanted = 0;
        for communicator in self.communicators.values_mut() {
            communicator.grant_is_unread = false; // the phase of the slice before is over
            // Without a collective that waits for a grant there is nothing to read and nothing to
            // publish.
            let is_quiet = communicator.gone || communicator.pending.is_empty();
            if let Some(slot) = communicator.slot.filter(|_| !is_quiet) {
                let go = StepGrant::decode(context.port.load(Variable::Go(slot)));
                communicator.apply_grant(slot, go, context);
                communicator.publish(slot, go, context);
                // A context has one collective at a time.
                let next = communicator.pending.front();
                self.tokens_wanted += next.map_or(0, |next| next.tokens_wanted(go));
            }
        }
        self.advance_all(context);
    }

    /// Whether this node's BR has anything to test in MSM.
    pub(super) fn has_candidates(&self) -> bool {
        self.candidates().next().is_some()
    }

    /// Returns the contexts whose master is here and which wait for a slot or a grant.
    fn candidates(&self) -> impl Iterator<Item = ContextKey> {
        let node = self.config.node;
        let is_ours = move |(_, communicator): &(&ContextKey, &NicCommunicator)| {
            communicator.group.master() == node && communicator.wants_schedule()
        };
        let ours = self.communicators.iter().filter(is_ours);
        ours.map(|(&key, _)| key)
    }

    /// Returns the most bytes that collectives may bring into this node in this slice.
    pub(super) fn max_inbound_bytes(&self) -> u64 {
        self.tokens_wanted.min(self.quota.tokens) * self.quota.token_share
    }

    /// Begins to schedule the collectives whose master is here.
    pub(super) fn schedule(&mut self, slice: u64, context: &mut NicThreadContext<'_>) {
        let mut keys: Vec<ContextKey> = self.candidates().collect();
        if !keys.is_empty() {
            // A different context goes first in every slice, so that none is left without tokens.
            let first = usize::try_from(slice % keys.len() as u64).expect("few contexts");
            keys.rotate_left(first);
        }
        self.grants.begin(slice, keys);
        self.poll(context);
    }

    pub(super) fn is_scheduled(&self) -> bool {
        self.grants.is_done()
    }

    /// Returns whether barriers or broadcasts, and whether reductions, were granted in this slice.
    pub(super) fn granted(&self) -> [bool; 2] {
        self.grants.granted()
    }

    pub(super) fn poll(&mut self, context: &mut NicThreadContext<'_>) -> bool {
        let communicators = &mut self.communicators;
        let progress = self.grants.poll(communicators, &self.config, context);
        if progress {
            self.advance_all(context);
        }
        progress
    }

    /// Returns the number of collectives whose last arrival of this node has come since the last
    /// call.
    pub(super) fn take_complete(&mut self) -> u64 {
        std::mem::take(&mut self.complete)
    }

    /// Returns the number of collectives at which ranks of this node have arrived, and which were
    /// not granted in full before this slice: at the end of DEM.
    pub(super) fn entered(&self) -> u64 {
        let of = |communicator: &NicCommunicator| {
            (communicator.arrivals.len() + communicator.pending.len()) as u64
        };
        self.communicators.values().map(of).sum()
    }

    /// Returns the number of collectives at which ranks of this node have arrived and which have
    /// not gone.
    pub(super) fn unfinished(&self, port: &dyn Port) -> usize {
        let of = |communicator: &NicCommunicator| {
            let go = communicator.slot.map(|slot| port.load(Variable::Go(slot)));
            let go = StepGrant::decode(go.unwrap_or(0));
            let pending = communicator.pending.iter();
            let left = pending.filter(|pending| !pending.is_over(go)).count();
            communicator.arrivals.len() + left
        };
        self.later.len() + self.communicators.values().map(of).sum::<usize>()
    }

    /// Whether any collective advances in the next slice, even without further arrivals.
    pub(super) fn waits_for_slice(&self) -> bool {
        let mut communicators = self.communicators.values();
        !self.later.is_empty() || communicators.any(NicCommunicator::waits_for_slice)
    }

    pub(super) fn handle_lost_nodes(&mut self, lost: NodeSet, context: &mut NicThreadContext<'_>) {
        self.lost = self.lost.iter().chain(lost.iter()).collect();
        for communicator in self.communicators.values_mut() {
            if !communicator.group.set.and(&lost).is_empty() && !communicator.gone {
                communicator.fail_pending(context);
            }
        }
    }
}
