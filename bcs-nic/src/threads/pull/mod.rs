//! Long collectives, whose data are pulled from memory to memory: by CH broadcasts, by RH
//! reductions.
//!
//! - **Owns** the long collectives at which all local ranks have arrived.
//! - **Takes** the mail of CH and RH about them; boards of the collective block.
//! - **Emits** offers and words to the nodes of the group; gets and fetches; completions to SR.
//! - **Invariants.** A collective goes only as far as its context's `Go` allows. The association of
//!   a reduction is canonical ([`fold_order`]). A rank's request completes only when no node reads
//!   its memory any more and nothing comes into it: all readers have reported the end, and all that
//!   this node pulls has come. The death of a node fails the collective for all, once the data in
//!   flight have arrived.

mod fold;
mod fold_order;
mod pull_task;
mod slice_pull;

use super::missing_memory::MissingMemory;
use super::{NicThreadContext, NodeConfig, Retries, RetryablePut, TableLeak};
use crate::blocks::Board;
use crate::budget::{CollectivePlan, Quota};
use crate::collective::{ReadyCollective, StepGrant, StepProgress, step_range};
use crate::mail::{AbandonedCollectives, GrantedCounts};
use bcs_core::job::{NicThreadId, NodeSet};
use bcs_core::request::{Completion, RequestFailure};
use bcs_fabric::{Port, Variable};
use pull_task::PullTask;
use slice_pull::{PullSetup, SlicePull};

#[derive(Debug)]
struct PulledCollective {
    collective: ReadyCollective,
    task: PullTask,
    plan: CollectivePlan,
    /// This node's place in the group's list.
    place: usize,
    steps: StepProgress,
    spoilt: MissingMemory,
    /// The data that move in this slice, and the number of steps done afterwards.
    under_way: Option<(SlicePull, u64)>,
    /// The outcome for its ranks as soon as nothing moves any more.
    given_up: Option<Completion>,
}

/// The long collectives of CH or RH.
#[derive(Debug)]
pub(super) struct PulledCollectives {
    config: NodeConfig,
    quota: Quota,
    who: NicThreadId,
    active: Vec<PulledCollective>,
    puts: Retries<RetryablePut>,
}

impl PulledCollectives {
    pub(super) fn new(config: &NodeConfig, who: NicThreadId) -> Self {
        Self {
            quota: Quota::with_bounds(&config.settings, &config.bounds),
            config: config.clone(),
            who,
            active: Vec::new(),
            puts: Retries::default(),
        }
    }

    /// Takes a collective if it is long; otherwise gives it back.
    pub(super) fn admit(
        &mut self,
        collective: Box<ReadyCollective>,
    ) -> Option<Box<ReadyCollective>> {
        let bytes = collective.bytes();
        let plan = self.quota.plan(collective.kind(), bytes, &collective.group);
        if !plan.pulled {
            return Some(collective);
        }
        let place = collective.group.place_of(self.config.node);
        self.active.push(PulledCollective {
            task: PullTask::new(&collective, &self.config),
            plan,
            place: place.expect("local ranks are members"),
            steps: StepProgress::default(),
            spoilt: MissingMemory::default(),
            under_way: None,
            given_up: None,
            collective: *collective,
        });
        None
    }

    /// Begins the microphase with the steps that have been granted.
    pub(super) fn start(
        &mut self,
        slice: u64,
        context: &mut NicThreadContext<'_>,
    ) -> GrantedCounts {
        let mut going = GrantedCounts::default();
        for pulled in &mut self.active {
            let go = StepGrant::decode(context.port.load(Variable::Go(pulled.collective.slot)));
            let mut granted = pulled.steps.granted(go, pulled.collective.sequence);
            let Some((first, token)) = granted.next() else {
                continue;
            };
            let upto = first + 1 + granted.count() as u64;
            let bytes = pulled.collective.bytes();
            going.count(first, upto - first, pulled.plan.steps(bytes));
            let (from, _) = step_range(first, pulled.plan.step_bytes, bytes);
            let to = (upto * pulled.plan.step_bytes).min(bytes);
            let board = Board::new(token, slice, &pulled.collective);
            let scene = pulled.scene(&self.config, self.who);
            let stretch = SlicePull::begin(
                board,
                from..to,
                &scene,
                pulled.spoilt,
                (&mut self.puts, context),
            );
            pulled.under_way = Some((stretch, upto));
        }
        going
    }

    /// Advances everything of this slice as far as possible. Returns whether anything moved.
    pub(super) fn poll(&mut self, context: &mut NicThreadContext<'_>) -> bool {
        let mut progress = RetryablePut::poll(context.port, &mut self.puts);
        if self.active.is_empty() {
            return progress;
        }
        let alive = context.port.alive();
        let (config, who, puts) = (&self.config, self.who, &mut self.puts);
        self.active.retain_mut(|pulled| {
            pulled.look_who_is_dead(&alive);
            let (moved, is_over) = match pulled.given_up {
                Some(completion) => pulled.end_early(completion, context),
                None => pulled.advance((config, who), puts, context),
            };
            progress |= moved;
            !is_over
        });
        progress
    }

    /// Whether nothing of this slice is under way.
    pub(super) fn is_idle(&self) -> bool {
        let is_under_way = |pulled: &PulledCollective| pulled.under_way.is_some();
        self.puts.is_empty() && !self.active.iter().any(is_under_way)
    }

    /// Gives up collectives that will not go, or not go on.
    pub(super) fn give_up(
        &mut self,
        what: AbandonedCollectives,
        context: &mut NicThreadContext<'_>,
    ) {
        self.active.retain_mut(|pulled| {
            if !what.is_about(&pulled.collective) {
                return true;
            }
            let completion = *pulled.given_up.get_or_insert(what.completion);
            let (_, is_over) = pulled.end_early(completion, context);
            !is_over
        });
    }

    pub(super) fn left_over(&self, port: &dyn Port) -> Vec<TableLeak> {
        let active = self.active.iter();
        let active = active.map(|pulled| (&pulled.collective, pulled.steps.done));
        let mut left = TableLeak::collectives(active, port);
        left.push(TableLeak::runtime_leak(
            "words on their way",
            self.puts.len(),
        ));
        left
    }
}

impl PulledCollective {
    fn scene<'a>(&'a self, config: &'a NodeConfig, who: NicThreadId) -> PullSetup<'a> {
        PullSetup {
            config,
            collective: &self.collective,
            task: self.task,
            place: self.place,
            who,
        }
    }

    /// Fails collectives with a dead node, which neither offers nor reads any more.
    fn look_who_is_dead(&mut self, alive: &NodeSet) {
        let mut nodes = self.collective.group.nodes.iter();
        if self.under_way.is_some() && nodes.any(|&node| !alive.contains(node)) {
            let gone = Completion::failed(RequestFailure::PeerGone);
            self.given_up.get_or_insert(gone);
        }
    }

    /// Ends without success as soon as nothing moves any more. Returns whether anything moved, and
    /// whether it has ended.
    fn end_early(
        &mut self,
        completion: Completion,
        context: &mut NicThreadContext<'_>,
    ) -> (bool, bool) {
        if let Some((stretch, _)) = &mut self.under_way {
            stretch.drain(context);
            if stretch.is_moving() {
                return (false, false);
            }
        }
        self.complete(completion, context);
        (true, true)
    }

    /// Advances as far as possible. Returns whether anything moved, and whether all of it is done.
    fn advance(
        &mut self,
        (config, who): (&NodeConfig, NicThreadId),
        puts: &mut Retries<RetryablePut>,
        context: &mut NicThreadContext<'_>,
    ) -> (bool, bool) {
        let Some((mut stretch, upto)) = self.under_way.take() else {
            return (false, false);
        };
        let (mut spoilt, left) = (self.spoilt, stretch.left());
        let scene = self.scene(config, who);
        let is_over = stretch.advance(&scene, &mut spoilt, puts, context);
        self.spoilt = spoilt;
        if !is_over {
            let moved = stretch.left() != left;
            self.under_way = Some((stretch, upto));
            return (moved, false);
        }
        self.steps.done = upto;
        let all_done = upto == self.plan.steps(self.collective.bytes());
        if all_done {
            self.complete(self.spoilt.or(Completion::done()), context);
        }
        (true, all_done)
    }

    fn complete(&self, completion: Completion, context: &mut NicThreadContext<'_>) {
        for (rank, descriptor) in &self.collective.local {
            context.out.complete(*rank, descriptor.request, completion);
        }
        context.out.report_over(&self.collective);
    }
}
