//! How schedules are posted: as an exchange of the members if they are all on one node, else as messages.
#![expect(unsafe_code, reason = "memory is named by address")]

use crate::endpoint::{Endpoint, Errand, Kind, Request};
use crate::roads::{Blocking, Handle, TooManyRequests};
use crate::schedules::{COLLECTIVE_MESSAGES, Members, OneRound, Plan, Schedule};

impl Endpoint {
    /// Posts a schedule on a communicator's context.
    ///
    /// # Safety
    /// The memory that the plan names, other than its scratch memory, stays until the request is
    /// done; what is read is initialised and nobody writes it, and what is written nobody else
    /// uses.
    pub(crate) unsafe fn post_schedule(
        &self,
        context: u32,
        mut plan: Plan,
    ) -> Result<Request, TooManyRequests> {
        for local in plan.first.drain(..) {
            // SAFETY: the caller's promise.
            unsafe { local.run() };
        }
        let exchanges = plan.among.is_some() && self.lock().exchanges(context);
        // SAFETY: the caller's promise.
        unsafe { plan.pack(exchanges) };
        let mut state = self.lock();
        if let Some(blocking) = plan.among.filter(|_| state.exchanges(context)) {
            // SAFETY: the caller's promise.
            return unsafe { self.post_exchange(state, context, plan, blocking) };
        }
        self.progress(&mut state);
        let first_round = plan.rounds.front().map_or(0, |round| round.receives.len());
        let by_leaders = plan.hierarchy.as_ref().map_or(0, |it| it.requests());
        let needed = plan.sends.len() + first_round + usize::from(plan.part.is_some()) + by_leaders;
        if state.roads.room() < needed {
            return Err(TooManyRequests);
        }
        // A communicator of one is no context of the NIC's, and sends nothing.
        // What a collective of the NIC is a part of has no messages, and takes no number: whether a
        // broadcast is a schedule is each rank's own affair.
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
        if let Some(part) = plan.part {
            // SAFETY: the caller's promise; scratch memory lives as long as the schedule.
            let handle = unsafe { self.arrive_at(&mut state, context, part, Blocking::No)? };
            schedule.awaits(handle);
            entered = state.roads.entered_by(handle);
        }
        schedule.enters(entered);
        let advance = schedule.begin(&mut state.roads, plan.sends);
        if schedule.is_over(&advance) {
            self.progress(&mut state);
            self.leave(state);
            return Ok(Request::on(Handle::Complete(0)));
        }
        let (id, steps) = state.schedules.insert(schedule, advance);
        let steps = steps.map(Errand::Steps);
        steps
            .into_iter()
            .for_each(|steps| state.errands.push(steps));
        self.progress(&mut state);
        self.leave(state);
        Ok(Request(Kind::Schedule(id)))
    }
}

impl Endpoint {
    /// Posts a collective of one round: by an exchange of the members, if they are all on one node.
    ///
    /// # Safety
    /// As for [`bcs_scatter`](Self::bcs_scatter).
    #[inline]
    pub(crate) unsafe fn post_round(
        &self,
        members: Members<'_>,
        mut round: OneRound,
        blocking: Blocking,
    ) -> Result<Request, TooManyRequests> {
        let mut state = self.lock();
        if state.exchanges(members.context) {
            if !round.is_plain() {
                drop(state);
                // SAFETY: the caller's promise.
                unsafe { round.pack(members.me) };
                state = self.lock();
            }
            // SAFETY: the caller's promise.
            return unsafe { self.exchange_round(state, members, round, blocking) };
        }
        drop(state);
        // SAFETY: the caller's promise.
        let plan = unsafe { round.plan(members) };
        // SAFETY: the caller's promise.
        unsafe { self.post_schedule(members.context, plan) }
    }
}
