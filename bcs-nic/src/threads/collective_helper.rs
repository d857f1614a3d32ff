//! CH, the Collective Helper: barriers and broadcasts, in BBM (paper section 4.4).
//!
//! - **Owns** the barriers and broadcasts at which all local ranks have arrived.
//!   [`PulledCollectives`] describes the long ones, whose data are pulled.
//! - **Takes** `Ready`, `GivenUp`, `Phase` (BBM); parts of the collective block.
//! - **Emits** broadcast data as one PUT to all nodes of the group; completions to SR.
//! - **Invariants.** A collective goes only as far as its context's `Go` allows. A barrier is a
//!   broadcast without data. The root's ranks complete when the data has left, the others when it
//!   has been written to them. A root whose memory cannot be read sends an error in place of the
//!   data, in each of the granted steps, so no node waits for more than the fabric.
//!   [`MissingMemory`] describes who is notified of missing memory.

use super::missing_memory::MissingMemory;
use super::pull::PulledCollectives;
use super::{NicThread, NicThreadContext, NodeConfig, Retries, RetryablePut, TableLeak};
use crate::blocks::{PartContent, StepPart, part_address};
use crate::budget::Quota;
use crate::collective::{ReadyCollective, StepGrant, StepProgress, step_range, steps};
use crate::mail::{AbandonedCollectives, GrantedCounts, Mail};
use bcs_core::descriptor::{CollectiveDescriptor, CollectiveKind};
use bcs_core::job::{Microphase, NicThreadId};
use bcs_core::limits::INLINE_BYTES;
use bcs_core::request::{Completion, RequestFailure};
use bcs_fabric::{Port, RankMemory, Variable};

#[derive(Debug)]
struct ActiveBroadcast {
    collective: ReadyCollective,
    steps: StepProgress,
    /// (step, token) of the steps in this slice whose data this node waits for.
    expected: Vec<(u64, u64)>,
    result: Completion,
    spoilt: MissingMemory,
}

/// The Collective Helper of a node.
#[derive(Debug)]
pub struct CollectiveHelper {
    config: NodeConfig,
    quota: Quota,
    active: Vec<ActiveBroadcast>,
    pulls: PulledCollectives,
    puts: Retries<RetryablePut>,
    slice: Option<u64>,
    going: GrantedCounts,
}

impl CollectiveHelper {
    /// Creates the CH of a node.
    #[must_use]
    pub fn new(config: NodeConfig) -> Self {
        let quota = Quota::with_bounds(&config.settings, &config.bounds);
        Self {
            pulls: PulledCollectives::new(&config, NicThreadId::CollectiveHelper),
            config,
            quota,
            active: Vec::new(),
            puts: Retries::default(),
            slice: None,
            going: GrantedCounts::default(),
        }
    }

    fn start(&mut self, slice: u64, context: &mut NicThreadContext<'_>) {
        self.slice = Some(slice);
        self.going = self.pulls.start(slice, context);
        for index in 0..self.active.len() {
            let active = &mut self.active[index];
            let slot = active.collective.slot;
            let go = StepGrant::decode(context.port.load(Variable::Go(slot)));
            let granted: Vec<_> = active
                .steps
                .granted(go, active.collective.sequence)
                .collect();
            let all = steps(active.collective.bytes(), self.quota.broadcast_step());
            self.going
                .count(active.steps.done, granted.len() as u64, all);
            let root = match active.collective.kind() {
                CollectiveKind::Broadcast { root } if active.collective.bytes() > 0 => root,
                _ => {
                    // No data move and no token was taken: the grant itself completes the steps.
                    active.steps.done += granted.len() as u64;
                    continue;
                }
            };
            if self.config.local(root).is_none() {
                active.expected = granted;
                continue;
            }
            for (step, token) in granted {
                let content = self.root_data(index, root, step, context);
                self.active[index].steps.done += 1;
                self.broadcast(index, slice, (step, token), content, context);
            }
        }
    }

    fn step_of(&self, index: usize, step: u64) -> (u64, u64) {
        step_range(
            step,
            self.quota.broadcast_step(),
            self.active[index].collective.bytes(),
        )
    }

    fn root_data(
        &self,
        index: usize,
        root: u32,
        step: u64,
        context: &mut NicThreadContext<'_>,
    ) -> PartContent {
        let (offset, len) = self.step_of(index, step);
        let ActiveBroadcast {
            collective, spoilt, ..
        } = &self.active[index];
        spoilt.check()?; // the rest is of no use any more
        let (_, descriptor) = collective
            .local
            .iter()
            .find(|(rank, _)| *rank == root)
            .expect("the root is a local member");
        contribution(root, descriptor, offset, len, context.memory)
    }

    /// Sends the data of a step to the other nodes, and to this node's ranks.
    fn broadcast(
        &mut self,
        index: usize,
        slice: u64,
        (step, token): (u64, u64),
        content: PartContent,
        context: &mut NicThreadContext<'_>,
    ) {
        let collective = &self.active[index].collective;
        let mut set = collective.group.set;
        set.remove(self.config.node);
        let part = StepPart {
            slice,
            slot: collective.slot,
            sequence: collective.sequence,
            step,
            content,
        };
        if !set.is_empty() {
            RetryablePut {
                set,
                at: part_address(token, 0, 0),
                bytes: part.encode(),
                signal: Some(NicThreadId::CollectiveHelper),
            }
            .start(context.port, &mut self.puts);
        }
        self.deliver(index, step, part.content, context);
    }

    /// Writes the data of a step to the ranks of this node.
    fn deliver(
        &mut self,
        index: usize,
        step: u64,
        content: PartContent,
        context: &mut NicThreadContext<'_>,
    ) {
        let (offset, _) = self.step_of(index, step);
        let active = &mut self.active[index];
        let Some(bytes) = active.spoilt.note(content) else {
            return;
        };
        let CollectiveKind::Broadcast { root } = active.collective.kind() else {
            return;
        };
        if active.collective.bytes() <= INLINE_BYTES as u64 {
            active.result.set_inline(&bytes);
            return;
        }
        for (rank, descriptor) in &active.collective.local {
            if *rank != root {
                let address = descriptor.output + offset;
                let written = context.memory.write(*rank, address, &bytes);
                active.spoilt.note(written.map_err(|_| *rank));
            }
        }
    }

    fn receive(&mut self, slice: u64, context: &mut NicThreadContext<'_>) -> bool {
        let mut progress = false;
        for index in 0..self.active.len() {
            for (step, token) in std::mem::take(&mut self.active[index].expected) {
                let collective = &self.active[index].collective;
                let (_, len) = self.step_of(index, step);
                let (slot, sequence) = (collective.slot, collective.sequence);
                let part = StepPart::read(context.port, part_address(token, 0, 0), slice, len)
                    .filter(|part| (part.slot, part.sequence, part.step) == (slot, sequence, step));
                let Some(part) = part else {
                    self.active[index].expected.push((step, token));
                    continue;
                };
                progress = true;
                self.active[index].steps.done += 1;
                self.deliver(index, step, part.content, context);
            }
        }
        progress
    }

    fn release_finished(&mut self, context: &mut NicThreadContext<'_>) {
        let step = self.quota.broadcast_step();
        self.active.retain(|active| {
            let collective = &active.collective;
            if active.steps.done < steps(collective.bytes(), step) {
                return true;
            }
            for (rank, descriptor) in &collective.local {
                let request = descriptor.request;
                context
                    .out
                    .complete(*rank, request, active.spoilt.or(active.result));
            }
            context.out.report_over(collective);
            false
        });
    }
}

/// Returns the contribution of a rank: inline, or from its memory. On failure it returns the rank
/// whose memory is missing, which is another one if this one arrived for its node.
pub(super) fn contribution(
    rank: u32,
    descriptor: &CollectiveDescriptor,
    offset: u64,
    len: u64,
    memory: &mut dyn RankMemory,
) -> PartContent {
    if let Some(culprit) = descriptor.unreadable_member {
        return Err(culprit);
    }
    let mut bytes = vec![0; usize::try_from(len).expect("a step is small")];
    match &descriptor.inline {
        Some(inline) => {
            let offset = usize::try_from(offset).expect("inline data is short");
            let end = offset + bytes.len();
            bytes.copy_from_slice(&inline[offset..end]);
        }
        None => {
            let read = memory.read(rank, descriptor.input + offset, &mut bytes);
            read.map_err(|_| rank)?;
        }
    }
    Ok(bytes)
}

impl NicThread for CollectiveHelper {
    fn handle(&mut self, mail: Mail, context: &mut NicThreadContext<'_>) {
        match mail {
            Mail::Ready(collective) => {
                let short = self.pulls.admit(collective);
                self.active.extend(short.map(|collective| ActiveBroadcast {
                    collective: *collective,
                    steps: StepProgress::default(),
                    expected: Vec::new(),
                    result: Completion::done(),
                    spoilt: MissingMemory::default(),
                }));
            }
            Mail::Phase {
                slice,
                phase: Microphase::Bbm,
                ..
            } => {
                self.start(slice, context);
                self.poll(context);
            }
            Mail::GivenUp(what) => {
                self.pulls.give_up(*what, context);
                self.active
                    .retain(|active| !give_up(*what, &active.collective, context));
            }
            Mail::NodesLost(_) => {} // BR knows which contexts are gone
            other => unreachable!("CH does not take {other:?}"),
        }
    }

    fn table_leaks(&self, port: &dyn Port) -> Vec<TableLeak> {
        let active = self.active.iter();
        let active = active.map(|active| (&active.collective, active.steps.done));
        let mut left = TableLeak::collectives(active, port);
        left.push(TableLeak::runtime_leak(
            "parts on their way",
            self.puts.len(),
        ));
        left.extend(self.pulls.left_over(port));
        left
    }

    fn needs_polling(&self) -> bool {
        self.slice.is_some()
    }

    fn poll(&mut self, context: &mut NicThreadContext<'_>) -> bool {
        let Some(slice) = self.slice else {
            return false;
        };
        let mut progress = RetryablePut::poll(context.port, &mut self.puts);
        progress |= self.pulls.poll(context);
        progress |= self.receive(slice, context);
        self.give_up_on_the_dead(context);
        let waiting = self.active.iter().any(|active| !active.expected.is_empty());
        if self.puts.is_empty() && !waiting && self.pulls.is_idle() {
            self.slice = None;
            self.release_finished(context);
            let tally = self.going.tally();
            context
                .out
                .finish_microphase(Microphase::Bbm, [false; 5], tally);
            return true;
        }
        progress
    }
}

impl CollectiveHelper {
    /// Gives up broadcasts whose root died in this very phase and will not send.
    fn give_up_on_the_dead(&mut self, context: &mut NicThreadContext<'_>) {
        let alive = context.port.alive();
        let placement = self.config.placement.clone();
        self.active.retain(|active| {
            let CollectiveKind::Broadcast { root } = active.collective.kind() else {
                return true;
            };
            let dead = placement
                .node_of(root)
                .is_some_and(|node| !alive.contains(node));
            if dead && !active.expected.is_empty() {
                abandon(&active.collective, context);
                return false;
            }
            true
        });
    }
}

/// Fails a collective for all local ranks, because a member has gone.
pub(super) fn abandon(collective: &ReadyCollective, context: &mut NicThreadContext<'_>) {
    fail(
        collective,
        Completion::failed(RequestFailure::PeerGone),
        context,
    );
}

/// Fails a collective if it is among those that are given up. Returns whether it is.
pub(super) fn give_up(
    what: AbandonedCollectives,
    collective: &ReadyCollective,
    context: &mut NicThreadContext<'_>,
) -> bool {
    let is_it = what.is_about(collective);
    if is_it {
        fail(collective, what.completion, context);
    }
    is_it
}

/// Fails a collective for all local ranks.
fn fail(collective: &ReadyCollective, completion: Completion, context: &mut NicThreadContext<'_>) {
    for (rank, descriptor) in &collective.local {
        context.out.complete(*rank, descriptor.request, completion);
    }
}
