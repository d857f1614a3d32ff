//! How collectives that are made of messages are posted: as an exchange of the members if they are
//! all on one node, otherwise as messages.

use super::algorithm::{CollectiveAlgorithm, CollectiveClass};
use crate::endpoint::{DeferredCopy, Endpoint, EndpointState, OperationId, Request};
use crate::schedules::{COLLECTIVE_MESSAGES, Members, OneRound, Plan, Schedule};
use crate::transport::{Blocking, TooManyRequests, TransportHandle};

impl EndpointState {
    /// Returns the algorithm of a call on a context. A communicator of one rank has no context.
    #[inline]
    pub(super) fn algorithm_for(
        &self,
        context: u32,
        call: CollectiveClass,
        bytes: usize,
    ) -> CollectiveAlgorithm {
        let known = self.contexts.get(context);
        known.map_or(CollectiveAlgorithm::Messages, |known| {
            known.algorithm_for(call, bytes)
        })
    }
}

impl Endpoint {
    /// Posts a collective that all members of a communicator call and have to wait for.
    pub(super) fn post_plan(
        &self,
        members: Members<'_>,
        mut plan: Plan,
        blocking: Blocking,
    ) -> Result<Request, TooManyRequests> {
        let way =
            self.lock()
                .algorithm_for(members.context, CollectiveClass::Blocks { same: false }, 0);
        let CollectiveAlgorithm::Exchange(group) = way else {
            return self.post_messages(members.context, plan);
        };
        plan.prepare(true);
        let exchange = plan.exchange(members);
        let on = (members.context, group);
        self.post_exchange(self.lock(), on, exchange, blocking)
    }

    /// Posts a collective of one round.
    #[inline]
    pub(super) fn post_round(
        &self,
        members: Members<'_>,
        mut round: OneRound,
        blocking: Blocking,
    ) -> Result<Request, TooManyRequests> {
        let mut state = self.lock();
        let same = round.gives_the_same();
        let (call, bytes) = match &round.nodes {
            None => (CollectiveClass::Blocks { same }, 0),
            Some(nodes) => {
                let nodes = nodes.count();
                (
                    CollectiveClass::EqualBlocks { nodes, same },
                    round.into.len_of(members.me),
                )
            }
        };
        let one_by_one = match state.algorithm_for(members.context, call, bytes) {
            CollectiveAlgorithm::Exchange(group) => {
                if !round.is_plain() {
                    drop(state);
                    round.pack(members.me);
                    state = self.lock();
                }
                let on = (members.context, group);
                let exchange = round.exchange(members);
                return self.post_exchange(state, on, exchange, blocking);
            }
            CollectiveAlgorithm::ByLeaders { one_by_one } => one_by_one,
            _ => {
                round.nodes = None;
                true
            }
        };
        drop(state);
        let plan = round.plan(members, one_by_one);
        self.post_messages(members.context, plan)
    }

    /// Posts messages, or a collective of the NIC with local steps before and after it, on a
    /// communicator's context.
    pub(super) fn post_messages(
        &self,
        context: u32,
        mut plan: Plan,
    ) -> Result<Request, TooManyRequests> {
        plan.prepare(false);
        let mut state = self.lock();
        self.progress(&mut state);
        let first_round = plan.rounds.front().map_or(0, |round| round.receives.len());
        let by_leaders = plan.hierarchy.as_ref().map_or(0, |it| it.requests());
        let needed = plan.sends.len() + first_round + usize::from(plan.part.is_some()) + by_leaders;
        if state.mux.room() < needed {
            return Err(TooManyRequests);
        }
        // A communicator of one rank has no context at the NIC, and sends nothing. A schedule with
        // a collective of the NIC has no messages and takes no number. Each rank decides by itself
        // whether a broadcast is such a schedule.
        let messages = plan.part.is_none();
        let known = state.contexts.get_mut(context).filter(|_| messages);
        let (tag, mut entered) = known.map_or((0, None), |known| {
            let called = plan.called.map(|called| known.enter(context, called));
            let tag = known.next_tag();
            if let Some(hierarchy) = &mut plan.hierarchy {
                hierarchy.post(context | COLLECTIVE_MESSAGES, known.next_tag());
            }
            (tag, called)
        });
        let on = (context, tag);
        let mut schedule = Schedule::new(on, plan.rounds, plan.hierarchy, plan.scratch);
        if let Some(call) = plan.invalid {
            schedule.mark_invalid(call);
        }
        if let Some(part) = plan.part {
            let handle = self.arrive_at(&mut state, context, part, Blocking::No)?;
            schedule.add_awaited(handle);
            entered = state.mux.entered_by(handle);
        }
        schedule.set_entered(entered);
        let advance = schedule.begin(&mut state.mux, plan.sends);
        let posted = if schedule.is_over(&advance) {
            Request::on(TransportHandle::Complete(0))
        } else {
            let (id, steps) = state.schedules.insert(schedule, advance);
            if let Some(steps) = steps {
                state.deferred_copies.push(DeferredCopy::Steps(steps));
            }
            Request(OperationId::Schedule(id))
        };
        self.progress(&mut state);
        self.leave(state);
        Ok(posted)
    }
}
