//! Short collectives outside of the slice, between nodes on different hosts.
//!
//! By slices a collective takes seven trips between nodes: somebody requests a slice, it is struck,
//! all report that they have exchanged, the master tests whether all have arrived and grants, the
//! phase is struck, and the data move. A collective whose data fit into a descriptor needs none of
//! that. It takes no token, because nothing enters a rank's memory. Its order is that of the
//! context's sequence, which no cut can change. It only needs the arrival of all members.
//!
//! So with elastic strobes it goes along the binomial tree of the group's nodes (the one of RH).
//! When all members of a node and of all its subtrees have arrived, the node *reports* to its
//! parent, with their contribution. When the root has heard from all, the collective is
//! *concluded*, and the result goes down again. The contributions are folded as RH folds them, the
//! local members in communicator order and then the children in ascending order (law 9), so the
//! bits are the same.
//!
//! - **Which groups.** Those whose tree has only edges between different hosts. Nodes of one host
//!   have no such path, and need none. All nodes compute the same: each knows which nodes are on
//!   which host.
//! - **One order.** A context has one collective at a time: one that goes by slices delays those
//!   behind it until CH or RH of this node reports that it is over, or another slice begins. A node
//!   that has concluded one writes that into its `Go`, as the master's Compare-And-Write would
//!   have; so a reader of `Go` finds one count of all that have begun. The master writes nothing
//!   there before its own helper has read the grant, however fast the other nodes are.
//! - **Back to slices.** If the next collective goes by slices, the slice that its members
//!   requested may be over. So each node that concludes one requests another slice, in whose DEM it
//!   publishes its arrival. So does each node where one that went by slices is over and the next
//!   one is pending: otherwise its pending entry would count as work that is left, and a deadlock
//!   would never be proven.
//! - **Calls that differ** are reported as ever, by the master in a slice ([`super::refusal`]).
//!   Every collective of such a group, even a long one, reports its arrivals up the tree, with its
//!   signature. A node that gets another signature than its own passes on that not all are the same
//!   (0). So the root knows when all have arrived and differ, and requests the slice. In its DEM
//!   all nodes publish where they are, and none of them has gone on.
//! - **Early messages** are held by context and sequence, also if the context is not yet open here.
//!   A child is at most one collective ahead of its parent, so few are held. A child's report about
//!   a collective that went by slices may come when the context is closed here, and its id is used
//!   again. So all messages name the [life](super::slots) of the context.

use super::Contexts;
use super::communicator::{ArrivedDescriptors, ContextKey, NicCommunicator, UngrantedCollective};
use super::early_tree_messages::EarlyTreeMessages;
use super::grant::ask_for_another;
use crate::blocks::{CollectiveTreeMessage, PartContent, TreeDirection};
use crate::collective::{NicGroup, StepGrant};
use crate::failure::NicFailureCause;
use crate::threads::arithmetic::Arithmetic;
use crate::threads::collective_helper::contribution;
use crate::threads::{NicThreadContext, NodeConfig};
use bcs_core::descriptor::{BadDescriptor, CollectiveDescriptor, CollectiveKind};
use bcs_core::job::NodeId;
use bcs_core::request::Completion;
use bcs_fabric::{Port, Variable};

impl Contexts {
    /// Takes an arrival of a local rank before its slice. Returns whether it needs a slice.
    pub(in super::super) fn arrive_outside_slice(
        &mut self,
        rank: u32,
        descriptor: CollectiveDescriptor,
        context: &mut NicThreadContext<'_>,
    ) -> bool {
        let communicator = self.of_rank.get(&(rank, descriptor.context));
        let communicator = communicator.and_then(|key| self.communicators.get_mut(key));
        let goes_ahead = descriptor.is_short()
            && communicator.is_some_and(|it| it.works_outside_slice(&self.config, context.port));
        if goes_ahead {
            self.arrive(rank, descriptor, context);
        } else {
            self.later.push((rank, descriptor));
        }
        !goes_ahead
    }

    /// Takes a message of another node about a collective.
    pub(in super::super) fn hear(
        &mut self,
        from: NodeId,
        part: CollectiveTreeMessage,
        context: &mut NicThreadContext<'_>,
    ) {
        let key = part.context;
        self.heard.add(from, part);
        self.advance(key, context);
    }

    /// Ends a collective that went by slices, when CH or RH has reported that.
    pub(in super::super) fn over(&mut self, key: ContextKey, context: &mut NicThreadContext<'_>) {
        let Some(communicator) = self.communicators.get_mut(&key) else {
            return;
        };
        communicator.grant_is_unread = false;
        // The master already knows, since it granted the collective.
        if let Some(slot) = communicator.slot
            && communicator.group.master() != self.config.node
        {
            let go = StepGrant::decode(context.port.load(Variable::Go(slot)));
            communicator.apply_grant(slot, go, context);
            if communicator.is_to_be_published() {
                ask_for_another(&self.config);
            }
        }
        self.advance(key, context);
    }

    /// Advances the collectives of a context outside of the slice as far as possible.
    pub(super) fn advance(&mut self, key: ContextKey, context: &mut NicThreadContext<'_>) {
        let communicator = self.communicators.get_mut(&key);
        let Some(communicator) = communicator.filter(|it| it.goes_ahead == Some(true)) else {
            return; // no rank has arrived here so far
        };
        while communicator.go_on(&mut self.heard, &self.config, context) {}
        let (life, next) = (communicator.life, communicator.next());
        self.heard.forget_all_but(key, life, next);
    }

    /// Advances all contexts with short collectives that wait.
    pub(super) fn advance_all(&mut self, context: &mut NicThreadContext<'_>) {
        let waits = |communicator: &&NicCommunicator| {
            communicator.goes_ahead == Some(true) && !communicator.pending.is_empty()
        };
        let waiting = self.communicators.values().filter(waits);
        let waiting: Vec<ContextKey> = waiting.map(|communicator| communicator.key).collect();
        for key in waiting {
            self.advance(key, context);
        }
    }

    /// Forgets the messages of a closed context.
    pub(super) fn forget(&mut self, key: ContextKey) {
        self.heard
            .forget_range((key, 0, 0), (key, u16::MAX, u64::MAX));
    }
}

impl NicCommunicator {
    /// Whether its short collectives go outside of the slice.
    pub(super) fn works_outside_slice(&mut self, config: &NodeConfig, port: &dyn Port) -> bool {
        let group = &self.group;
        *self.goes_ahead.get_or_insert_with(|| {
            let node = |place: usize| group.nodes[place];
            let is_apart = |place| {
                let parent = NicGroup::parent(place);
                parent.is_none_or(|(parent, _)| {
                    port.are_on_different_hosts(node(place), node(parent))
                })
            };
            let nodes = group.nodes.len();
            config.settings.strobe.is_elastic() && nodes > 1 && (1..nodes).all(is_apart)
        })
    }

    /// Advances the next collective: reports that its members have arrived, or concludes it.
    /// Returns whether another one is next now.
    fn go_on(
        &mut self,
        heard: &mut EarlyTreeMessages,
        config: &NodeConfig,
        context: &mut NicThreadContext<'_>,
    ) -> bool {
        let goes_on = !(self.gone || self.grant_is_unread);
        let Some(next) = self.pending.front().filter(|_| goes_on) else {
            return false;
        };
        let (name, signature) = ((self.key, self.life, next.sequence), next.signature);
        let place = self.group.place_of(config.node);
        let place = place.expect("local ranks are members");
        let parent = NicGroup::parent(place).map(|(parent, _)| self.group.nodes[parent]);
        if next.is_told {
            let (Some(arrivals), Some(parent)) = (&next.ahead, parent) else {
                return false; // a slice ends it
            };
            let down = heard.take(name, TreeDirection::Down, &[parent]);
            let Some(result) = down.into_iter().flatten().next() else {
                return false;
            };
            let len = result.content.as_ref().map_or(0, Vec::len);
            if result.content.is_ok() && len as u64 != bytes_of(arrivals) {
                report_bad_message(parent, len, config, context);
                return false;
            }
            self.conclude(place, result.content, config, context);
            return true;
        }
        let children = self.group.children(place);
        let children: Vec<NodeId> = children.map(|child| self.group.nodes[child]).collect();
        let Some(below) = heard.take(name, TreeDirection::Up, &children) else {
            return false;
        };
        let is_same = next.agreed() && below.iter().all(|part| part.signature == signature);
        let content = match next.ahead.as_ref().filter(|_| is_same) {
            Some(arrivals) => {
                let below = children.into_iter().zip(below);
                fold(arrivals, below, config, context)
            }
            None => Ok(Vec::new()),
        };
        let next = self.pending.front_mut().expect("just seen");
        next.is_told = true;
        match parent {
            Some(parent) => {
                let up = CollectiveTreeMessage {
                    context: self.key,
                    life: self.life,
                    sequence: name.2,
                    way: TreeDirection::Up,
                    signature: if is_same { signature } else { 0 },
                    content,
                };
                context.port.send_outside_slice(parent, &up.encode());
                false
            }
            None if !is_same => {
                next.differs = true;
                config.page.arm();
                config.page.demand();
                false
            }
            None => {
                let is_ahead = next.ahead.is_some();
                if is_ahead {
                    self.conclude(place, content, config, context);
                }
                is_ahead
            }
        }
    }

    /// Concludes the next collective with this outcome, and reports it to the nodes below and to
    /// the local members.
    fn conclude(
        &mut self,
        place: usize,
        content: PartContent,
        config: &NodeConfig,
        context: &mut NicThreadContext<'_>,
    ) {
        let over = self.pending.pop_front().expect("it is concluded");
        let down = CollectiveTreeMessage {
            context: self.key,
            life: self.life,
            sequence: over.sequence,
            way: TreeDirection::Down,
            signature: over.signature,
            content,
        };
        let words = down.encode();
        for child in self.group.children(place) {
            context
                .port
                .send_outside_slice(self.group.nodes[child], &words);
        }
        let slot = self.slot.expect("who has no slot may not arrive");
        let go = StepGrant::new(over.sequence, over.steps, 0);
        context.port.store(Variable::Go(slot), go.encode());
        self.withdraw_published(over.sequence, slot, context);
        complete(&over, &down.content, context);
        if self.is_to_be_published() {
            ask_for_another(config);
        }
    }
}

/// Returns the contribution of a subtree: that of this node's members, combined with those that the
/// children reported.
fn fold(
    arrivals: &ArrivedDescriptors,
    below: impl Iterator<Item = (NodeId, CollectiveTreeMessage)>,
    config: &NodeConfig,
    context: &mut NicThreadContext<'_>,
) -> PartContent {
    let (kind, bytes) = (arrivals[0].1.kind, bytes_of(arrivals));
    let (arithmetic, only) = match kind {
        CollectiveKind::Reduce { op, datatype, .. } => {
            let arithmetic = Arithmetic::new(op, datatype, bytes, &config.settings);
            (Some(arithmetic), None)
        }
        CollectiveKind::Broadcast { root } => (None, Some(root)),
        _ => (None, None),
    };
    let gives = |(rank, _): &&(u32, _)| bytes > 0 && only.is_none_or(|only| only == *rank);
    let here = arrivals.iter().filter(gives).map(|(rank, descriptor)| {
        let content = contribution(*rank, descriptor, 0, bytes, context.memory);
        (config.node, content)
    });
    let below = below.map(|(node, part)| (node, part.content));
    let mut folded = None;
    let mut misfit = None;
    for (node, content) in here.chain(below) {
        match (&mut folded, content) {
            // A subtree without the root.
            (_, Ok(bytes)) if bytes.is_empty() => {}
            (_, Ok(part)) if part.len() as u64 != bytes => misfit = Some((node, part.len())),
            (None, content) => folded = Some(content),
            // The first rank whose memory is missing is named.
            (Some(Err(_)), _) => {}
            (Some(folded), Err(rank)) => *folded = Err(rank),
            (Some(Ok(folded)), Ok(part)) => {
                let combined = arithmetic.map(|it| it.combine(folded, &part));
                if combined.is_none_or(|combined| combined.is_err()) {
                    misfit = Some((node, part.len()));
                }
            }
        }
    }
    if let Some((node, len)) = misfit {
        report_bad_message(node, len, config, context);
    }
    folded.unwrap_or_else(|| Ok(Vec::new()))
}

/// Returns how many bytes the result has for each member.
fn bytes_of(arrivals: &ArrivedDescriptors) -> u64 {
    match arrivals[0].1 {
        CollectiveDescriptor {
            kind: CollectiveKind::Broadcast { .. } | CollectiveKind::Reduce { .. },
            bytes,
            ..
        } => bytes,
        _ => 0,
    }
}

/// Reports that a node has sent data that no BR sends.
fn report_bad_message(
    lane: NodeId,
    len: usize,
    config: &NodeConfig,
    context: &mut NicThreadContext<'_>,
) {
    let (field, value) = ("bytes of a part", len as u64);
    let what = BadDescriptor { field, value };
    let bad = config.failure(NicFailureCause::BadBlock { lane, what });
    context.out.failures.push(bad);
}

/// Reports the outcome to the members on this node.
fn complete(over: &UngrantedCollective, content: &PartContent, context: &mut NicThreadContext<'_>) {
    for (rank, descriptor) in over.ahead.iter().flatten() {
        let wants = match descriptor.kind {
            CollectiveKind::Reduce { root, .. } => root.is_none_or(|root| root == *rank),
            _ => true,
        };
        let completion = match content {
            Err(culprit) => Completion::member_memory(*culprit),
            Ok(bytes) if wants => {
                let mut completion = Completion::done();
                completion.set_inline(bytes);
                completion
            }
            Ok(_) => Completion::done(),
        };
        context.out.complete(*rank, descriptor.request, completion);
    }
}
