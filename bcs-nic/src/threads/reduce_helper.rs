//! RH, the Reduce Helper: reductions along a binomial tree of nodes, in RM, in software floating
//! point (paper section 4.4).
//!
//! - **Owns** the reductions at which all local ranks have arrived; of the long ones, whose data are
//!   pulled, [`Pulls`] says all that follows.
//! - **Takes** `Ready`, `GivenUp`, `Phase` (RM); parts of the collective block.
//! - **Emits** partial results to the parent's node, results to the nodes that want them;
//!   completions to SR.
//! - **Invariants.** The association is canonical (law 9): local ranks in communicator order, then
//!   the children of the tree in ascending order. The tree is over the group's list of nodes and
//!   does not depend on the root. At most [`Settings::soft_reduce_elements`] elements are computed
//!   softly, more of them on the host's FPU: the bits are the same.
//!
//! [`Settings::soft_reduce_elements`]: bcs_core::job::Settings::soft_reduce_elements

use super::arithmetic::Arithmetic;
use super::collective_helper::{abandon, contribution, give_up};
use super::pull::Pulls;
use super::spoilt::Spoilt;
use super::{Context, LeftOver, NicThread, NodeConfig, Put, Retries};
use crate::blocks::{Content, Part, part_address};
use crate::budget::Quota;
use crate::collective::{Collective, Go, Group, Steps, step_range, steps};
use crate::mail::{Going, Mail};
use bcs_core::descriptor::CollectiveKind;
use bcs_core::job::{Microphase, NicThreadId, NodeId, NodeSet};
use bcs_core::limits::INLINE_BYTES;
use bcs_core::request::{Completion, Failure};
use bcs_fabric::{GlobalAddress, Port, Variable};

/// A step of a reduction in this slice.
#[derive(Debug)]
struct StepUnderWay {
    step: u64,
    token: u64,
    /// This node's partial result so far, if all memory was there that it is made of.
    partial: Content,
    /// Children whose parts are still to come: (which child, place).
    children: Vec<(usize, usize)>,
    /// Whether the partial result has gone on.
    passed: bool,
    /// Whether this node still waits for the result.
    waits_for_result: bool,
}

#[derive(Debug)]
struct Active {
    collective: Collective,
    root: Option<u32>,
    arithmetic: Arithmetic,
    place: usize,
    quota: Quota,
    steps: Steps,
    under_way: Vec<StepUnderWay>,
    result: Completion,
    spoilt: Spoilt,
}

/// The Reduce Helper of a node.
#[derive(Debug)]
pub struct ReduceHelper {
    config: NodeConfig,
    quota: Quota,
    active: Vec<Active>,
    pulls: Pulls,
    puts: Retries<Put>,
    slice: Option<u64>,
    going: Going,
}

impl ReduceHelper {
    /// The RH of a node.
    #[must_use]
    pub fn new(config: NodeConfig) -> Self {
        let quota = Quota::of(&config.settings, &config.bounds);
        Self {
            pulls: Pulls::new(&config, NicThreadId::ReduceHelper),
            config,
            quota,
            active: Vec::new(),
            puts: Retries::default(),
            slice: None,
            going: Going::default(),
        }
    }

    fn admit(&mut self, collective: Collective) {
        let CollectiveKind::Reduce { root, op, datatype } = collective.kind() else {
            unreachable!("BR gives RH reductions only");
        };
        let place = collective
            .group
            .place(self.config.node)
            .expect("local ranks are members");
        self.active.push(Active {
            root,
            arithmetic: Arithmetic::new(op, datatype, collective.bytes(), &self.config.settings),
            place,
            quota: self.quota,
            steps: Steps::default(),
            under_way: Vec::new(),
            result: Completion::done(),
            spoilt: Spoilt::default(),
            collective,
        });
    }

    fn start(&mut self, slice: u64, context: &mut Context<'_>) {
        self.slice = Some(slice);
        self.going = self.pulls.start(slice, context);
        for active in &mut self.active {
            let go = Go::decode(context.port.load(Variable::Go(active.collective.slot)));
            let granted: Vec<_> = active
                .steps
                .granted(go, active.collective.sequence)
                .collect();
            let all = steps(active.collective.bytes(), active.step_bytes());
            self.going
                .count(active.steps.done, granted.len() as u64, all);
            if active.collective.bytes() == 0 {
                // Nothing moves, and no token was taken: going is all there is to it.
                active.steps.done += granted.len() as u64;
                continue;
            }
            for (step, token) in granted {
                let step = active.begin(step, token, &self.config, context);
                active.under_way.push(step);
            }
        }
    }

    /// Moves every step of this slice on as far as it goes.
    fn advance(&mut self, slice: u64, context: &mut Context<'_>) -> bool {
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

    fn release_finished(&mut self, context: &mut Context<'_>) {
        self.active.retain(|active| {
            let collective = &active.collective;
            if active.steps.done < steps(collective.bytes(), active.step_bytes()) {
                return true;
            }
            for (rank, descriptor) in &collective.local {
                let wants = active.root.is_none_or(|root| root == *rank);
                let completion = if wants || active.result.failure != Failure::None {
                    active.result
                } else {
                    Completion::done()
                };
                context
                    .out
                    .complete(*rank, descriptor.request, active.spoilt.or(completion));
            }
            collective.tell_over(context.out);
            false
        });
    }

    /// A node that died in this very phase will not send: reductions that wait for it are over.
    fn give_up_on_the_dead(&mut self, context: &mut Context<'_>) {
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

impl Active {
    fn step_bytes(&self) -> u64 {
        self.quota.reduce_step(self.collective.group.nodes.len())
    }

    fn range(&self, step: u64) -> (u64, u64) {
        step_range(step, self.step_bytes(), self.collective.bytes())
    }

    /// Which part of a token's place holds the result: the one after all children's.
    fn result_part(&self) -> usize {
        self.collective
            .group
            .nodes
            .len()
            .next_power_of_two()
            .trailing_zeros() as usize
    }

    /// The nodes that want the result.
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
        context: &mut Context<'_>,
    ) -> StepUnderWay {
        let partial = self.local_partial(step, context);
        let children = self
            .collective
            .group
            .children(self.place)
            .enumerate()
            .collect();
        let waits_for_result = self.place != 0 && self.wanting(config).contains(config.node);
        StepUnderWay {
            step,
            token,
            partial,
            children,
            passed: false,
            waits_for_result,
        }
    }

    fn local_partial(&mut self, step: u64, context: &mut Context<'_>) -> Content {
        self.spoilt.check()?; // what is left is of no use any more
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

    /// `partial = partial OP bytes`.
    fn combine(&mut self, partial: &mut [u8], bytes: &[u8]) {
        if self.arithmetic.combine(partial, bytes).is_err() {
            self.result.failure = Failure::BadDescriptor;
        }
    }

    fn part_at(&self, step: &StepUnderWay, part: usize) -> GlobalAddress {
        part_address(step.token, part, self.step_bytes())
    }

    fn read_part(
        &self,
        step: &StepUnderWay,
        part: usize,
        slice: u64,
        context: &Context<'_>,
    ) -> Option<Content> {
        let (_, len) = self.range(step.step);
        let found = Part::read(context.port, self.part_at(step, part), slice, len)?;
        let Collective { slot, sequence, .. } = self.collective;
        let ours = (found.slot, found.sequence, found.step) == (slot, sequence, step.step);
        let whole = |bytes: &Vec<u8>| bytes.len() as u64 == len;
        (ours && found.content.as_ref().map_or(true, whole)).then_some(found.content)
    }

    /// Combines the children's parts, each when all before it have come.
    fn take_children(
        &mut self,
        step: &mut StepUnderWay,
        slice: u64,
        context: &mut Context<'_>,
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
                (Err(_), _) => {} // the first one is named
            }
        }
        progress
    }

    /// All children have come: the partial result goes to the parent, or, at the top of the
    /// tree, the result to whoever wants it. So does word of what spoilt it, which is told here, too.
    fn pass_on(
        &mut self,
        step: &mut StepUnderWay,
        slice: u64,
        config: &NodeConfig,
        puts: &mut Retries<Put>,
        context: &mut Context<'_>,
    ) {
        self.spoilt
            .note(step.partial.as_ref().map_err(|rank| *rank));
        let (set, part) = match Group::parent(self.place) {
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
        let passed = Part {
            slice,
            slot: self.collective.slot,
            sequence: self.collective.sequence,
            step: step.step,
            content: std::mem::replace(&mut step.partial, Ok(Vec::new())),
        };
        Put {
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
        step: &StepUnderWay,
        slice: u64,
        context: &Context<'_>,
    ) -> Option<Content> {
        self.read_part(step, self.result_part(), slice, context)
    }

    /// Writes a step's result to the local ranks that want it.
    fn deliver(&mut self, step: u64, result: &Content, context: &mut Context<'_>) {
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
    fn handle(&mut self, mail: Mail, context: &mut Context<'_>) {
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
            Mail::Lost(_) => {} // BR says which contexts are gone
            other => unreachable!("RH does not take {other:?}"),
        }
    }

    fn left_over(&self, port: &dyn Port) -> Vec<LeftOver> {
        let active = self.active.iter();
        let active = active.map(|active| (&active.collective, active.steps.done));
        let mut left = LeftOver::collectives(active, port);
        left.push(LeftOver::of_runtime("parts on their way", self.puts.len()));
        left.extend(self.pulls.left_over(port));
        left
    }

    fn looks(&self) -> bool {
        self.slice.is_some()
    }

    fn poll(&mut self, context: &mut Context<'_>) -> bool {
        let Some(slice) = self.slice else {
            return false;
        };
        let mut progress = self.advance(slice, context);
        progress |= Put::poll(context.port, &mut self.puts);
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
            context.out.finished(Microphase::Rm, [false; 5], tally);
            return true;
        }
        progress
    }
}
