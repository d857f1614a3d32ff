//! RH, the Reduce Helper: reductions along a binomial tree of nodes, in RM, in software floating
//! point (paper section 4.4).
//!
//! - **Owns** the reductions at which all local ranks have arrived. [`PulledCollectives`] describes
//!   the long ones, whose data are pulled.
//! - **Takes** `Ready`, `GivenUp`, `Phase` (RM); parts of the collective block.
//! - **Emits** partial results to the parent's node, results to the nodes that want them;
//!   completions to SR.
//! - **Invariants.** The association is canonical (law 9): local ranks in communicator order, then
//!   the children of the tree in ascending order. The tree is over the group's list of nodes and
//!   does not depend on the root. Up to [`Settings::soft_reduce_elements`] elements are computed in
//!   software, longer vectors on the host's FPU: the bits are the same.
//!
//! [`Settings::soft_reduce_elements`]: bcs_core::job::Settings::soft_reduce_elements

use super::arithmetic::Arithmetic;
use super::collective_helper::{abandon, contribution, give_up};
use super::missing_memory::MissingMemory;
use super::pull::PulledCollectives;
use super::{NicThread, NicThreadContext, NodeConfig, Retries, RetryablePut, TableLeak};
use crate::blocks::{PartContent, StepPart, part_address};
use crate::budget::Quota;
use crate::collective::{NicGroup, ReadyCollective, StepGrant, StepProgress, step_range, steps};
use crate::mail::{GrantedCounts, Mail};
use bcs_core::descriptor::CollectiveKind;
use bcs_core::job::{Microphase, NicThreadId, NodeId, NodeSet};
use bcs_core::limits::INLINE_BYTES;
use bcs_core::request::{Completion, RequestFailure};
use bcs_fabric::{GlobalAddress, Port, Variable};

/// A step of a reduction in this slice.
#[derive(Debug)]
struct ActiveStep {
    step: u64,
    token: u64,
    /// This node's partial result so far, or the rank whose memory is missing for it.
    partial: PartContent,
    /// Children whose parts are still to come: (which child, place).
    children: Vec<(usize, usize)>,
    /// Whether the partial result has been passed on.
    passed: bool,
    /// Whether this node still waits for the result.
    waits_for_result: bool,
}

#[derive(Debug)]
struct ActiveReduction {
    collective: ReadyCollective,
    root: Option<u32>,
    arithmetic: Arithmetic,
    place: usize,
    quota: Quota,
    steps: StepProgress,
    under_way: Vec<ActiveStep>,
    result: Completion,
    spoilt: MissingMemory,
}

/// The Reduce Helper of a node.
#[derive(Debug)]
pub struct ReduceHelper {
    config: NodeConfig,
    quota: Quota,
    active: Vec<ActiveReduction>,
    pulls: PulledCollectives,
    puts: Retries<RetryablePut>,
    slice: Option<u64>,
    going: GrantedCounts,
}

impl ReduceHelper {
    /// Creates the RH of a node.
    #[must_use]
    pub fn new(config: NodeConfig) -> Self {
        let quota = Quota::with_bounds(&config.settings, &config.bounds);
        Self {
            pulls: PulledCollectives::new(&config, NicThreadId::ReduceHelper),
            config,
            quota,
            active: Vec::new(),
            puts: Retries::default(),
            slice: None,
            going: GrantedCounts::default(),
        }
    }

    fn admit(&mut self, collective: ReadyCollective) {
        let CollectiveKind::Reduce { root, op, datatype } = collective.kind() else {
            unreachable!("BR gives RH reductions only");
        };
        let place = collective
            .group
            .place_of(self.config.node)
            .expect("local ranks are members");
        self.active.push(ActiveReduction {
            root,
            arithmetic: Arithmetic::new(op, datatype, collective.bytes(), &self.config.settings),
            place,
            quota: self.quota,
            steps: StepProgress::default(),
            under_way: Vec::new(),
            result: Completion::done(),
            spoilt: MissingMemory::default(),
            collective,
        });
    }

    fn start(&mut self, slice: u64, context: &mut NicThreadContext<'_>) {
        self.slice = Some(slice);
        self.going = self.pulls.start(slice, context);
        for active in &mut self.active {
            let go = StepGrant::decode(context.port.load(Variable::Go(active.collective.slot)));
            let granted: Vec<_> = active
                .steps
                .granted(go, active.collective.sequence)
                .collect();
            let all = steps(active.collective.bytes(), active.step_bytes());
            self.going
                .count(active.steps.done, granted.len() as u64, all);
            if active.collective.bytes() == 0 {
                // No data move and no token was taken: the grant itself completes the steps.
                active.steps.done += granted.len() as u64;
                continue;
            }
            for (step, token) in granted {
                let step = active.begin(step, token, &self.config, context);
                active.under_way.push(step);
            }
        }
    }

    /// Advances every step of this slice as far as possible.
    fn advance(&mut self, slice: u64, context: &mut NicThreadContext<'_>) -> bool {
        let mut progress = false;
        for active in &mut self.active {
            let mut under_way = std::mem::take(&mut active.under_way);
            under_way.retain_mut(|step| {
                progress |= active.take_children(step, slice, context);
                if step.children.is_empty() && !step.passed {
                    step.passed = true;
                    progress = true;
                    active.pass_on(step, slice, &self.config, &mut self.puts, context);
                }
                if step.waits_for_result
                    && let Some(result) = active.read_result(step, slice, context)
                {
                    step.waits_for_result = false;
                    progress = true;
                    active.deliver(step.step, &result, context);
                }
                let done = step.passed && !step.waits_for_result;
                active.steps.done += u64::from(done);
                !done
            });
            active.under_way = under_way;
        }
        progress
    }

    fn release_finished(&mut self, context: &mut NicThreadContext<'_>) {
        self.active.retain(|active| {
            let collective = &active.collective;
            if active.steps.done < steps(collective.bytes(), active.step_bytes()) {
                return true;
            }
            for (rank, descriptor) in &collective.local {
                let wants = active.root.is_none_or(|root| root == *rank);
                let completion = if wants || active.result.failure != RequestFailure::None {
                    active.result
                } else {
                    Completion::done()
                };
                context
                    .out
                    .complete(*rank, descriptor.request, active.spoilt.or(completion));
            }
            context.out.report_over(collective);
            false
        });
    }

    /// Gives up reductions that wait for a node that died in this very phase and will not send.
    fn give_up_on_the_dead(&mut self, context: &mut NicThreadContext<'_>) {
        let alive = context.port.alive();
        self.active.retain(|active| {
            let lost = active
                .collective
                .group
                .nodes
                .iter()
                .any(|&node| !alive.contains(node));
            if lost && !active.under_way.is_empty() {
                abandon(&active.collective, context);
                return false;
            }
            true
        });
    }
}

impl ActiveReduction {
    fn step_bytes(&self) -> u64 {
        self.quota.reduce_step(self.collective.group.nodes.len())
    }

    fn range(&self, step: u64) -> (u64, u64) {
        step_range(step, self.step_bytes(), self.collective.bytes())
    }

    /// Returns which part of a token's place holds the result: the one after all children's.
    fn result_part(&self) -> usize {
        self.collective
            .group
            .nodes
            .len()
            .next_power_of_two()
            .trailing_zeros() as usize
    }

    /// Returns the nodes that want the result.
    fn wanting(&self, config: &NodeConfig) -> NodeSet {
        match self.root {
            None => self.collective.group.set,
            Some(root) => {
                NodeSet::only(config.placement.node_of(root).expect("BR checked the root"))
            }
        }
    }

    fn begin(
        &mut self,
        step: u64,
        token: u64,
        config: &NodeConfig,
        context: &mut NicThreadContext<'_>,
    ) -> ActiveStep {
        let partial = self.local_partial(step, context);
        let children = self
            .collective
            .group
            .children(self.place)
            .enumerate()
            .collect();
        let waits_for_result = self.place != 0 && self.wanting(config).contains(config.node);
        ActiveStep {
            step,
            token,
            partial,
            children,
            passed: false,
            waits_for_result,
        }
    }

    fn local_partial(&mut self, step: u64, context: &mut NicThreadContext<'_>) -> PartContent {
        self.spoilt.check()?; // the rest is of no use any more
        let (offset, len) = self.range(step);
        let mut partial = None;
        for at in 0..self.collective.local.len() {
            let (rank, descriptor) = &self.collective.local[at];
            let bytes = contribution(*rank, descriptor, offset, len, context.memory)?;
            match &mut partial {
                None => partial = Some(bytes),
                Some(partial) => self.combine(partial, &bytes),
            }
        }
        Ok(partial.expect("a node of a group has a member"))
    }

    /// Computes `partial = partial OP bytes`.
    fn combine(&mut self, partial: &mut [u8], bytes: &[u8]) {
        if self.arithmetic.combine(partial, bytes).is_err() {
            self.result.failure = RequestFailure::BadDescriptor;
        }
    }

    fn part_at(&self, step: &ActiveStep, part: usize) -> GlobalAddress {
        part_address(step.token, part, self.step_bytes())
    }

    fn read_part(
        &self,
        step: &ActiveStep,
        part: usize,
        slice: u64,
        context: &NicThreadContext<'_>,
    ) -> Option<PartContent> {
        let (_, len) = self.range(step.step);
        let found = StepPart::read(context.port, self.part_at(step, part), slice, len)?;
        let ReadyCollective { slot, sequence, .. } = self.collective;
        let ours = (found.slot, found.sequence, found.step) == (slot, sequence, step.step);
        let whole = |bytes: &Vec<u8>| bytes.len() as u64 == len;
        (ours && found.content.as_ref().map_or(true, whole)).then_some(found.content)
    }

    /// Combines the children's parts, each when all before it have come.
    fn take_children(
        &mut self,
        step: &mut ActiveStep,
        slice: u64,
        context: &mut NicThreadContext<'_>,
    ) -> bool {
        let mut progress = false;
        while let Some(&(nth, _)) = step.children.first() {
            let Some(part) = self.read_part(step, nth, slice, context) else {
                break;
            };
            step.children.remove(0);
            progress = true;
            match (&mut step.partial, part) {
                (Ok(partial), Ok(bytes)) => self.combine(partial, &bytes),
                (partial @ Ok(_), Err(rank)) => *partial = Err(rank),
                (Err(_), _) => {} // the first missing one is named
            }
        }
        progress
    }

    /// Passes on the partial result once all children's parts have come: to the parent or, at the
    /// top of the tree, as the result to the nodes that want it. An error takes the same path, and
    /// is reported here, too.
    fn pass_on(
        &mut self,
        step: &mut ActiveStep,
        slice: u64,
        config: &NodeConfig,
        puts: &mut Retries<RetryablePut>,
        context: &mut NicThreadContext<'_>,
    ) {
        self.spoilt
            .note(step.partial.as_ref().map_err(|rank| *rank));
        let (set, part) = match NicGroup::parent(self.place) {
            Some((parent, nth)) => (NodeSet::only(self.node(parent)), nth),
            None => {
                let mut set = self.wanting(config);
                if set.contains(config.node) {
                    set.remove(config.node);
                    self.deliver(step.step, &step.partial, context);
                }
                (set, self.result_part())
            }
        };
        if set.is_empty() {
            return;
        }
        let passed = StepPart {
            slice,
            slot: self.collective.slot,
            sequence: self.collective.sequence,
            step: step.step,
            content: std::mem::replace(&mut step.partial, Ok(Vec::new())),
        };
        RetryablePut {
            set,
            at: self.part_at(step, part),
            bytes: passed.encode(),
            signal: Some(NicThreadId::ReduceHelper),
        }
        .start(context.port, puts);
    }

    fn node(&self, place: usize) -> NodeId {
        self.collective.group.nodes[place]
    }

    fn read_result(
        &self,
        step: &ActiveStep,
        slice: u64,
        context: &NicThreadContext<'_>,
    ) -> Option<PartContent> {
        self.read_part(step, self.result_part(), slice, context)
    }

    /// Writes a step's result to the local ranks that want it.
    fn deliver(&mut self, step: u64, result: &PartContent, context: &mut NicThreadContext<'_>) {
        let Some(bytes) = self.spoilt.note(result.as_ref().map_err(|rank| *rank)) else {
            return;
        };
        if self.collective.bytes() <= INLINE_BYTES as u64 {
            let offset = usize::try_from(self.range(step).0).expect("inline is short");
            self.result.inline[offset..offset + bytes.len()].copy_from_slice(bytes);
            let end = u8::try_from(offset + bytes.len()).expect("inline is short");
            self.result.inline_len = self.result.inline_len.max(end);
            return;
        }
        let (offset, _) = self.range(step);
        for (rank, descriptor) in &self.collective.local {
            let wants = self.root.is_none_or(|root| root == *rank);
            if wants {
                let address = descriptor.output + offset;
                let written = context.memory.write(*rank, address, bytes);
                self.spoilt.note(written.map_err(|_| *rank));
            }
        }
    }
}

impl NicThread for ReduceHelper {
    fn handle(&mut self, mail: Mail, context: &mut NicThreadContext<'_>) {
        match mail {
            Mail::Ready(collective) => {
                if let Some(short) = self.pulls.admit(collective) {
                    self.admit(*short);
                }
            }
            Mail::Phase {
                slice,
                phase: Microphase::Rm,
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
            other => unreachable!("RH does not take {other:?}"),
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
        let mut progress = self.advance(slice, context);
        progress |= RetryablePut::poll(context.port, &mut self.puts);
        progress |= self.pulls.poll(context);
        self.give_up_on_the_dead(context);
        let waiting = self
            .active
            .iter()
            .any(|active| !active.under_way.is_empty());
        if self.puts.is_empty() && !waiting && self.pulls.is_idle() {
            self.slice = None;
            self.release_finished(context);
            let tally = self.going.tally();
            context
                .out
                .finish_microphase(Microphase::Rm, [false; 5], tally);
            return true;
        }
        progress
    }
}
