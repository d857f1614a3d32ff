//! An exchange under way: entering, checking whether all memory can be reached, and waiting for the
//! members that read this rank's memory.

use super::exchange_machine::ExchangeMachine;
use super::flow::{ExchangePattern, Flow};
use super::offered_block::{BlockLocation, Giver, MAX_LAID_BYTES, MAX_LAID_OF_SLOT, OfferedBlock};
use crate::data::copy;
use crate::transport::RequestOutcome;
use crate::transport::smartmap::collective::awaited::{AwaitedEvent, AwaitedMember};
use crate::transport::smartmap::collective::direction::Direction;
use crate::transport::smartmap::collective::environment::CollectiveEnvironment;
use crate::transport::smartmap::collective::group::LocalGroup;
use crate::transport::smartmap::collective::machine::{CollectiveMachine, CollectiveResult};
use crate::transport::smartmap::collective::member::MemberRecord;
use crate::transport::smartmap::collective::phase::{Phase, PhaseOutcome};
use crate::transport::smartmap::collective::spare::SpareBuffers;
use crate::transport::smartmap::collective::{agreement, reachability, steps};
use bcs_core::job::NodeRanks;
use bcs_core::request::RequestFailure;
use bcs_core::smartmap::coll_info::PAYLOAD_BYTES;

impl ExchangeMachine {
    fn enter(&mut self, group: &mut LocalGroup, around: CollectiveEnvironment<'_>) {
        group.next_number();
        let giver = Giver::of(group, group.me);
        let gives = &self.exchange.gives;
        if let Some(parts) = &self.parts {
            gives.lay(giver, (0, PAYLOAD_BYTES), parts.given());
        } else {
            let any = gives.any();
            let reachable = || group.is_in_slot(around, any.address(), any.len());
            let most = match !any.is_empty() && around.page.cores_suffice() && reachable() {
                true => MAX_LAID_OF_SLOT,
                false => MAX_LAID_BYTES,
            };
            gives.say(giver, group.open, most);
            self.in_memory = giver.is_in_memory();
            if self.in_memory {
                self.direction = around.last_direction.turn(giver.stream().1);
            }
        }
        if group.enter([self.exchange.called.pack(), 0]) {
            group.release(around, |_| false);
        }
        // Others may go on meanwhile.
        if self.direction == Direction::Forth {
            self.copy_own();
        }
    }

    /// Copies this rank's own block.
    fn copy_own(&mut self) {
        let Some((from, to)) = self.exchange.own.take() else {
            return;
        };
        for part in self.direction.stretches(from.len()) {
            copy(&from.part(part.clone()).into(), &to.part(part).into());
        }
    }

    fn all_have_entered(
        &mut self,
        group: &mut LocalGroup,
        around: CollectiveEnvironment<'_>,
    ) -> PhaseOutcome {
        if let Some(mut parts) = self.parts.take() {
            parts.take(group);
            if parts.is_over() {
                parts.finish(self.ended.is_err());
                return PhaseOutcome::Over;
            }
            self.parts = Some(parts);
            return PhaseOutcome::Continue(Phase::Posted);
        }
        let givers = || (0..group.members.len()).map(|member| Giver::of(group, member));
        if !givers().any(|giver| giver.is_in_memory()) {
            return match self.take_all(group, around) {
                Some(()) => PhaseOutcome::Over,
                None => PhaseOutcome::Waits,
            };
        }
        if givers().all(|giver| giver.is_open()) {
            return self.begin(group, around);
        }
        let verdict = self.verdict(group, around);
        group.own().publish_verdict(group.number, verdict);
        group.look_anew();
        PhaseOutcome::Continue(Phase::Judged)
    }

    /// Divides the exchange when not all memory can be reached: from here on the data go through
    /// the records.
    fn in_parts(
        &mut self,
        group: &mut LocalGroup,
        around: CollectiveEnvironment<'_>,
    ) -> PhaseOutcome {
        self.copy_own();
        match self.begin_parts(group, around) {
            Some(parts) => {
                self.parts = Some(Box::new(parts));
                PhaseOutcome::Continue(Phase::Posted)
            }
            None => PhaseOutcome::Waits,
        }
    }

    /// Returns this rank's verdict on the memory that it has to read.
    fn verdict(&self, group: &LocalGroup, around: CollectiveEnvironment<'_>) -> u8 {
        let me = group.me;
        let place = |member: usize| group.members[member].place;
        let opens = |member: usize| {
            let (address, _) = Giver::of(group, member).stream();
            around
                .peer_memory
                .opens(around.node, place(member), address)
        };
        let reaches = |member: usize| match Giver::of(group, member).gift(me) {
            Some(OfferedBlock {
                len,
                lies: BlockLocation::There { address, .. },
            }) => {
                let len = usize::try_from(len).unwrap_or(usize::MAX);
                len == 0
                    || around
                        .peer_memory
                        .resolve(place(member), address, len)
                        .is_some()
            }
            _ => true,
        };
        let flow = self.flow;
        reachability::of(group.others().all(opens), || {
            let mut givers = group.others().filter(|&member| flow.passes(member, me));
            givers.all(|member| opens(member) || reaches(member))
        })
    }

    /// Begins when all memory can be reached.
    fn begin(&mut self, group: &mut LocalGroup, around: CollectiveEnvironment<'_>) -> PhaseOutcome {
        if !self.in_memory {
            let givers = (0..group.members.len()).map(|member| Giver::of(group, member));
            let longest = givers.map(|giver| giver.stream().1).max();
            self.direction = around.last_direction.turn(longest.unwrap_or(0));
        }
        if self.take_all(group, around).is_none() {
            return PhaseOutcome::Waits;
        }
        let lacks = |ended: &RequestOutcome| ended.failure == RequestFailure::MemberMemory;
        let step = match &self.ended {
            Err(ended) if lacks(ended) => steps::FAULTY,
            _ => steps::DONE,
        };
        group.own().advance(group.number, step);
        group.published();
        self.tell_givers(group, around);
        self.copy_own();
        PhaseOutcome::Continue(Phase::Read)
    }

    /// Notifies the members that wait for this rank as the last taker, if they listen. It has taken
    /// all.
    fn tell_givers(&self, group: &mut LocalGroup, around: CollectiveEnvironment<'_>) {
        let (me, Flow { pattern: way, root }) = (group.me, self.flow);
        match way {
            ExchangePattern::All => group.tell_if_all(around, steps::DONE, Phase::Read, None),
            ExchangePattern::FromRoot if me == root => {}
            ExchangePattern::FromRoot => {
                group.tell_if_all(around, steps::DONE, Phase::Read, Some(root))
            }
            ExchangePattern::ToRoot if me == root => group.tell(around, Phase::Read, None),
            ExchangePattern::ToRoot => {}
            ExchangePattern::Upward => {
                // The members that all later members have read.
                let number = group.number;
                let step = |member: usize| group.members[member].info.step(number);
                let done = |&member: &usize| member == me || step(member) >= steps::DONE;
                let after = (0..group.members.len()).rev().take_while(done).count();
                let first = (group.members.len() - after).saturating_sub(1);
                for member in first..me {
                    group.tell(around, Phase::Read, Some(member));
                }
            }
        }
    }

    /// Waits for others that may still read this rank's memory. If one of them has found memory
    /// that is not mapped, this rank checks whether it is its own. It may be that of another giver,
    /// or of the taker.
    fn finish(
        &mut self,
        group: &mut LocalGroup,
        around: CollectiveEnvironment<'_>,
    ) -> PhaseOutcome {
        let (flow, me, number) = (self.flow, group.me, group.number);
        let done = |member: usize, info: &MemberRecord| {
            !flow.passes(me, member) || info.step(number) >= steps::DONE
        };
        if self.in_memory && !group.all_members(done) {
            return PhaseOutcome::Waits;
        }
        let lacks = |member: &usize| group.members[*member].info.step(number) == steps::FAULTY;
        let mut takers = group.others().filter(|&member| flow.passes(me, member));
        if self.in_memory && takers.any(|member| lacks(&member)) {
            let giver = Giver::of(group, me);
            if !self.exchange.gives.are_there(giver) {
                self.fetched(Err(group.rank_of(me, around.ranks)));
            }
        }
        PhaseOutcome::Over
    }
}

impl CollectiveMachine for ExchangeMachine {
    fn takes_long(&self) -> bool {
        self.takes_long
    }

    fn listens_for(&self) -> Option<Phase> {
        Some(self.phase)
    }

    fn awaited(&self, group: &LocalGroup, _: NodeRanks) -> Option<AwaitedMember> {
        let sign = match self.phase {
            // No part of an exchange goes to other nodes.
            Phase::Told => return None,
            Phase::Posted => AwaitedEvent::AtGate,
            Phase::Entered => AwaitedEvent::There,
            Phase::Judged => AwaitedEvent::Verdict,
            Phase::Folded | Phase::Read => AwaitedEvent::Step(steps::DONE),
        };
        Some(group.awaited(None, sign))
    }

    fn advance(
        &mut self,
        group: &mut LocalGroup,
        around: CollectiveEnvironment<'_>,
        _: &mut SpareBuffers,
    ) -> Option<CollectiveResult> {
        loop {
            let look = match self.phase {
                Phase::Posted if !group.may_enter(around.ranks) => PhaseOutcome::Waits,
                Phase::Posted => {
                    self.enter(group, around);
                    PhaseOutcome::Continue(Phase::Entered)
                }
                Phase::Entered if !group.all_are_there() => PhaseOutcome::Waits,
                Phase::Entered => {
                    group.tell_all(around, Phase::Entered);
                    if let Err(against) = agreement::compare(group, around.ranks) {
                        return Some(agreement::mismatch(&against));
                    }
                    self.all_have_entered(group, around)
                }
                Phase::Judged => match reachability::verdict(group, around) {
                    None => PhaseOutcome::Waits,
                    Some(true) => self.begin(group, around),
                    Some(false) => self.in_parts(group, around),
                },
                Phase::Folded | Phase::Read => self.finish(group, around),
                Phase::Told => unreachable!("nothing of an exchange goes to other nodes"),
            };
            match look {
                PhaseOutcome::Continue(phase) => self.phase = phase,
                PhaseOutcome::Waits => return None,
                PhaseOutcome::Over => return Some(std::mem::replace(&mut self.ended, Ok(()))),
            }
        }
    }
}
