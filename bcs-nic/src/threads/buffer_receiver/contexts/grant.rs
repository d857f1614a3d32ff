//! The Compare-And-Writes by which the master's BR opens contexts and grants collectives.
//!
//! There is one at a time: each context of this slice is a short program of them. For a new
//! context, *claim* a slot, or *decline* if none is free. For a collective: *test* whether all
//! nodes have arrived at the same one; *count* whether one rank has arrived for each node, if that
//! makes a difference; *take* tokens on all of them, if it moves data; *go*. A barrier needs no
//! token, so its test and its go are one. If the test fails, test whether any node has not arrived
//! (*late*); if all have, *refuse*.

use super::communicator::{ContextKey, NicCommunicator, UngrantedCollective, number};
use super::refusal::CollectiveRefusal;
use super::slots::{free_slot, key_value};
use crate::budget::Quota;
use crate::collective::StepGrant;
use crate::threads::{NicThreadContext, NodeConfig};
use bcs_core::limits::COLLECTIVE_TOKENS;
use bcs_core::request::Completion;
use bcs_fabric::{CompareAndWrite, Comparison, Event, Ticket, Variable};
use std::collections::{BTreeMap, VecDeque};

/// The stage of a context's program: the current Compare-And-Write.
#[derive(Clone, Copy, Debug)]
enum GrantStage {
    Claim { slot: u32, next: u32 },
    Decline,
    Test,
    Count,
    Take { used: u64, tokens: u64 },
    Go(StepGrant),
    Late,
    Refuse(CollectiveRefusal),
}

#[derive(Debug)]
struct PendingGrant {
    key: ContextKey,
    stage: GrantStage,
    ticket: Ticket,
}

/// Returns the value of `Tokens` in a slice in which no tokens were taken. The factor 2 keeps "all
/// taken" below the next slice's value.
fn tokens_of(slice: u64) -> u64 {
    slice * 2 * COLLECTIVE_TOKENS
}

#[derive(Debug)]
pub(super) struct GrantSequence {
    quota: Quota,
    slice: u64,
    todo: VecDeque<ContextKey>,
    under_way: Option<PendingGrant>,
    granted: [bool; 2],
}

impl GrantSequence {
    pub(super) fn new(quota: Quota) -> Self {
        Self {
            quota,
            slice: 0,
            todo: VecDeque::new(),
            under_way: None,
            granted: [false; 2],
        }
    }

    pub(super) fn begin(&mut self, slice: u64, keys: Vec<ContextKey>) {
        self.slice = slice;
        self.todo = keys.into();
        self.granted = [false; 2];
    }

    pub(super) fn is_done(&self) -> bool {
        self.todo.is_empty() && self.under_way.is_none()
    }

    pub(super) fn granted(&self) -> [bool; 2] {
        self.granted
    }

    pub(super) fn poll(
        &mut self,
        communicators: &mut BTreeMap<ContextKey, NicCommunicator>,
        config: &NodeConfig,
        context: &mut NicThreadContext<'_>,
    ) -> bool {
        let mut progress = false;
        loop {
            let Some(current) = &self.under_way else {
                let Some(key) = self.todo.pop_front() else {
                    return progress;
                };
                if let Some(communicator) = communicators.get(&key)
                    && let Some(stage) = self.first_stage(communicator, config, context)
                {
                    self.ask(communicator, stage, context);
                }
                continue;
            };
            let Event::Verdict(holds) = context.port.test_event(current.ticket) else {
                return progress;
            };
            progress = true;
            let PendingGrant { key, stage, .. } = self.under_way.take().expect("just seen");
            let Some(communicator) = communicators.get_mut(&key) else {
                continue;
            };
            if communicator.gone {
                continue;
            }
            if let Some(stage) = self.decided(communicator, stage, holds, config, context) {
                self.ask(communicator, stage, context);
            }
        }
    }

    fn first_stage(
        &self,
        communicator: &NicCommunicator,
        config: &NodeConfig,
        context: &NicThreadContext<'_>,
    ) -> Option<GrantStage> {
        if communicator.slot.is_none() {
            return Some(claim(communicator.key, 0, config, context));
        }
        let pending = communicator.pending.front()?;
        if pending.needs_no_slice() {
            return None;
        }
        Some(if pending.differs || !pending.agreed() {
            GrantStage::Late
        } else if !pending.has_data {
            GrantStage::Go(StepGrant::new(pending.sequence, 1, 0))
        } else if pending.arrived {
            return self.take_or_wait(communicator, self.used(context), config);
        } else {
            GrantStage::Test
        })
    }

    /// Returns the number of tokens taken on this node in this slice.
    fn used(&self, context: &NicThreadContext<'_>) -> u64 {
        context
            .port
            .load(Variable::Tokens)
            .saturating_sub(tokens_of(self.slice))
    }

    /// Takes as many tokens as the collective can use, if any remain after the first `used`.
    fn take(&self, pending: &UngrantedCollective, used: u64) -> Option<GrantStage> {
        let free = self.quota.tokens.checked_sub(used)?;
        let steps = (pending.steps - pending.granted).min(free / pending.tokens);
        let tokens = steps * pending.tokens;
        (tokens > 0).then_some(GrantStage::Take { used, tokens })
    }

    fn ask(
        &mut self,
        communicator: &NicCommunicator,
        stage: GrantStage,
        context: &mut NicThreadContext<'_>,
    ) {
        let key = communicator.key;
        let arrived = |write| {
            let slot = communicator.slot.expect("it has a slot");
            let arrival = communicator.front().arrival();
            (Variable::Arrived(slot), Comparison::Equal, arrival, write)
        };
        let (variable, comparison, operand, write) = match stage {
            GrantStage::Claim { slot, .. } => {
                let owner = Variable::Owner(slot);
                let claimed = key_value(key, communicator.life);
                (owner, Comparison::Equal, 0, Some((owner, claimed)))
            }
            GrantStage::Decline => {
                let write = Some((Variable::Refused, key_value(key, 0)));
                (Variable::Refused, Comparison::Equal, 0, write)
            }
            GrantStage::Test => arrived(None),
            GrantStage::Count => {
                let slot = communicator.slot.expect("it has a slot");
                (Variable::Arrivals(slot), Comparison::Less, 2, None)
            }
            GrantStage::Take { used, tokens } => {
                assert!(used + tokens <= self.quota.tokens, "a slice has no more");
                let base = tokens_of(self.slice);
                let write = Some((Variable::Tokens, base + used + tokens));
                (Variable::Tokens, Comparison::Less, base + used + 1, write)
            }
            GrantStage::Go(go) => {
                let slot = communicator.slot.expect("it has a slot");
                arrived(Some((Variable::Go(slot), go.encode())))
            }
            GrantStage::Late => {
                let slot = communicator.slot.expect("it has a slot");
                let least = number(communicator.front().sequence);
                (Variable::Number(slot), Comparison::AtLeast, least, None)
            }
            GrantStage::Refuse(refusal) => {
                let ticket = context
                    .port
                    .compare_and_write(&refusal.next_compare_and_write(communicator));
                self.under_way = Some(PendingGrant { key, stage, ticket });
                return;
            }
        };
        let set = communicator.group.set;
        let what = CompareAndWrite {
            set,
            variable,
            comparison,
            operand,
            write,
            wait: false,
        };
        let ticket = context.port.compare_and_write(&what);
        self.under_way = Some(PendingGrant { key, stage, ticket });
    }

    /// Handles a verdict. Returns the next stage, if there is one in this slice.
    fn decided(
        &mut self,
        communicator: &mut NicCommunicator,
        stage: GrantStage,
        holds: bool,
        config: &NodeConfig,
        context: &mut NicThreadContext<'_>,
    ) -> Option<GrantStage> {
        match (stage, holds) {
            (GrantStage::Claim { slot, .. }, true) => {
                communicator.slot = Some(slot);
                communicator.answer(Completion::done(), context);
                ask_for_another(config); // in its DEM the other nodes look for it
                None
            }
            (GrantStage::Claim { next, .. }, false) => {
                Some(claim(communicator.key, next, config, context))
            }
            // If another refusal is still unread somewhere, this one is tried again, from the
            // start.
            (GrantStage::Decline, _) => {
                ask_for_another(config); // in its DEM all nodes see it
                None
            }
            (GrantStage::Test, true) => {
                let used = self.used(context);
                let pending = communicator.pending.front_mut()?;
                pending.arrived = true;
                if pending.tokens > 1 {
                    return Some(GrantStage::Count);
                }
                self.take_or_wait(communicator, used, config)
            }
            (GrantStage::Count, one_each) => {
                let used = self.used(context);
                let pending = communicator.pending.front_mut()?;
                if one_each {
                    pending.tokens = 1;
                }
                self.take_or_wait(communicator, used, config)
            }
            (GrantStage::Take { used, tokens }, true) => {
                let pending = communicator.pending.front()?;
                let steps = pending.granted + tokens / pending.tokens;
                Some(GrantStage::Go(StepGrant::new(
                    pending.sequence,
                    steps,
                    used,
                )))
            }
            // A node of the group has taken more tokens than this one.
            (GrantStage::Take { used, .. }, false) => {
                self.take_or_wait(communicator, used + 1, config)
            }
            (GrantStage::Go(go), true) => {
                self.grant(communicator, go, config);
                None
            }
            (GrantStage::Test | GrantStage::Go(_), false) => {
                (!communicator.front().arrived).then_some(GrantStage::Late)
            }
            (GrantStage::Late, false) => None, // the node that arrives last requests a slice
            (GrantStage::Late, true) => {
                Some(GrantStage::Refuse(CollectiveRefusal::new(communicator)))
            }
            (GrantStage::Refuse(refusal), holds) => {
                let next = refusal.decided(holds, communicator).map(GrantStage::Refuse);
                if next.is_none() {
                    ask_for_another(config); // in its DEM all nodes see it
                }
                next
            }
        }
    }

    fn take_or_wait(
        &self,
        communicator: &NicCommunicator,
        used: u64,
        config: &NodeConfig,
    ) -> Option<GrantStage> {
        let stage = self.take(communicator.pending.front()?, used);
        if stage.is_none() {
            config.page.arm(); // left over by the budget: law 2
        }
        stage
    }

    fn grant(&mut self, communicator: &mut NicCommunicator, go: StepGrant, config: &NodeConfig) {
        let pending = communicator
            .pending
            .front_mut()
            .expect("it was being granted");
        pending.granted = go.steps;
        self.granted[usize::from(pending.reduces)] = true;
        if pending.granted == pending.steps {
            communicator.pending.pop_front();
            communicator.grant_is_unread = true;
        }
        let next = communicator.pending.front();
        if let Some(next) = next.filter(|next| !next.needs_no_slice()) {
            // The next one of this context is ready as far as this node can tell: law 2.
            if next.granted == 0 {
                ask_for_another(config);
            } else {
                config.page.arm();
            }
        }
    }
}

/// Returns the stage that gets a slot for a context, from this probe on.
fn claim(
    key: ContextKey,
    probe: u32,
    config: &NodeConfig,
    context: &NicThreadContext<'_>,
) -> GrantStage {
    match free_slot(key, probe, config.bounds.contexts, context.port) {
        Some((slot, next)) => GrantStage::Claim { slot, next },
        None => GrantStage::Decline,
    }
}

/// Requests another slice (law 2): at once if a rank is blocked.
pub(super) fn ask_for_another(config: &NodeConfig) {
    config.page.arm();
    if config.page.hungry() {
        config.page.demand();
    }
}
