//! A collective that is long, or goes to other nodes: entering it, and finding that all do the
//! same.
//!
//! Its data stay in place, and go through the phases of [`reachability`] and the others. If not all
//! memory can be reached, they go through the records, one part after the other. So do data of up
//! to [`PAYLOAD_BYTES`] in collectives of several nodes. ([`short`] collectives need none of that.)
#![expect(unsafe_code, reason = "buffers are named by address")]

use super::awaited::{AwaitedEvent, AwaitedMember};
use super::environment::CollectiveEnvironment;
use super::group::LocalGroup;
use super::machine::{CollectiveMachine, CollectiveResult, failed};
use super::member::MemberRecord;
use super::member_buffers::MemberBuffers;
use super::phase::{Phase, PhaseOutcome};
use super::phased::{PhasedCollective, hands_out};
use super::spare::SpareBuffers;
use super::{agreement, broadcast, reachability, reduce, short, steps};
use crate::data::{ByteRange, LONG_BYTES};
use bcs_core::descriptor::CollectiveKind;
use bcs_core::job::NodeRanks;
use bcs_core::limits::MAX_SPARE_BYTES;
use bcs_core::request::RequestFailure;
use bcs_core::smartmap::coll_info::PAYLOAD_BYTES;
use bcs_core::wait_state::ConflictingCall;

impl PhasedCollective {
    pub(super) fn ended(&self) -> CollectiveResult {
        if self.failure == RequestFailure::None {
            return Ok(());
        }
        failed(self.failure, self.said)
    }

    pub(super) fn give_back(&mut self, spare: &mut SpareBuffers) {
        let partial = std::mem::take(&mut self.partial);
        if partial.len() > spare.partial.len() && partial.len() <= MAX_SPARE_BYTES {
            spare.partial = partial;
        }
    }

    /// Returns the offset and length of the bytes that go through the records now: all of them, or
    /// a part.
    fn here(&self) -> (usize, usize) {
        let offset = self.offset.unwrap_or(0);
        if self.part.bytes - offset <= PAYLOAD_BYTES {
            return (offset, self.part.bytes - offset);
        }
        let most = match self.part.kind {
            CollectiveKind::Reduce { datatype, .. } => {
                PAYLOAD_BYTES / datatype.size() * datatype.size()
            }
            _ => PAYLOAD_BYTES,
        };
        (offset, (self.part.bytes - offset).min(most))
    }

    fn enter(
        &mut self,
        group: &mut LocalGroup,
        around: CollectiveEnvironment<'_>,
        spare: &mut SpareBuffers,
    ) -> PhaseOutcome {
        let number = group.next_number();
        if self.is_in_memory() {
            self.partial = reduce::room_for_partial(&self.part, group, spare);
            let output = if self.partial.is_empty() {
                self.part.output.address()
            } else {
                self.partial.as_ptr().expose_provenance() as u64
            };
            let input = self.part.input.unwrap_or_default().address();
            let memory = MemberBuffers { input, output };
            memory.say(group.own(), number, group.open, self.part.bytes);
        } else if let Some(input) = self.contributes_now() {
            let (offset, len) = self.here();
            // SAFETY: this rank does not write it meanwhile.
            let data = unsafe { input.part(offset..offset + len).bytes() };
            group.own().contribute(number, data);
        }
        let for_leader = self.for_leader.as_ref();
        let whole = for_leader.map_or(self.part, |it| it.whole); // the call of the program
        if group.enter([whole.called().pack(), whole.bytes as u64]) {
            group.release(around, |_| false);
        }
        match for_leader.map(|it| it.leader) {
            Some(leader) if leader != group.me && self.offset.is_none() && !self.is_in_memory() => {
                given_to(leader, group, around);
                PhaseOutcome::Over
            }
            _ => PhaseOutcome::Continue(Phase::Entered),
        }
    }

    /// Continues after this rank has entered. A different call of another member is an error.
    fn entered(
        &mut self,
        group: &mut LocalGroup,
        around: CollectiveEnvironment<'_>,
        spare: &mut SpareBuffers,
    ) -> Result<PhaseOutcome, ConflictingCall> {
        if !group.all_are_there() {
            return Ok(PhaseOutcome::Waits);
        }
        group.tell_all(around, Phase::Entered);
        match self.for_leader {
            None => agreement::compare(group, around.ranks)?,
            // The NICs report earlier errors.
            Some(_) => agreement::disagreement(group, around.ranks).map_or(Ok(()), Err)?,
        }
        Ok(self.all_have_entered(group, around, spare))
    }

    /// Returns what goes into the record when this rank enters. The data that a leader distributes
    /// may not be there yet.
    fn contributes_now(&self) -> Option<ByteRange> {
        let broadcasts = matches!(self.part.kind, CollectiveKind::Broadcast { .. });
        let later = self.for_leader.is_some() && broadcasts;
        self.part.input.filter(|_| !later)
    }

    fn all_have_entered(
        &mut self,
        group: &mut LocalGroup,
        around: CollectiveEnvironment<'_>,
        spare: &mut SpareBuffers,
    ) -> PhaseOutcome {
        if self.is_in_memory() {
            return self.judge(group, around, spare);
        }
        let (offset, len) = self.here();
        match self.part.kind {
            CollectiveKind::Broadcast { root }
                if self.for_leader.is_none() && !self.part.output.is_empty() =>
            {
                let root = group.member_of(root, around.ranks);
                // SAFETY: only this code writes it.
                let into = unsafe { self.part.output.part(offset..offset + len).bytes_mut() };
                let root = &group.members[root].info;
                root.contribution(group.number, into);
            }
            CollectiveKind::Reduce { op, datatype, .. } if !self.part.output.is_empty() => {
                // SAFETY: as above.
                let into = unsafe { self.part.output.part(offset..offset + len).bytes_mut() };
                if short::fold(group, (op, datatype), None, into, spare).is_err() {
                    self.failure = RequestFailure::BadDescriptor;
                }
            }
            _ => {}
        }
        match self.offset {
            Some(_) if offset + len < self.part.bytes => {
                self.offset = Some(offset + len);
                PhaseOutcome::Continue(Phase::Posted)
            }
            _ => PhaseOutcome::Over,
        }
    }

    /// Continues when all have entered and not all memory can be reached.
    fn unreachable_memory(&mut self) -> PhaseOutcome {
        self.offset = Some(0);
        match self.part.kind {
            // The leader gets it in one piece first.
            CollectiveKind::Broadcast { .. } if self.for_leader.is_some() => PhaseOutcome::Over,
            _ => PhaseOutcome::Continue(Phase::Posted),
        }
    }

    /// Continues when all have entered a long collective.
    fn judge(
        &mut self,
        group: &mut LocalGroup,
        around: CollectiveEnvironment<'_>,
        spare: &mut SpareBuffers,
    ) -> PhaseOutcome {
        let number = group.number;
        let open = |info: &MemberRecord| info.arguments::<3>(number)[2] == 1;
        if group.members.iter().all(|member| open(&member.info)) {
            return self.begin(group, around, spare);
        }
        let verdict = self.verdict(group, around);
        group.own().publish_verdict(number, verdict);
        group.look_anew();
        PhaseOutcome::Continue(Phase::Judged)
    }

    /// Returns this rank's verdict on the memory that it has to read.
    fn verdict(&self, group: &LocalGroup, around: CollectiveEnvironment<'_>) -> u8 {
        let number = group.number;
        let memory = |member: usize| MemberBuffers::of(&group.members[member].info, number);
        let place = |member: usize| group.members[member].place;
        let opens = |member: usize| {
            let MemberBuffers { input, output } = memory(member);
            let address = if input == 0 { output } else { input };
            around
                .peer_memory
                .opens(around.node, place(member), address)
        };
        let part = &self.part;
        let reaches = |member: usize| {
            let (place, MemberBuffers { input, output }) = (place(member), memory(member));
            // The data that a leader distributes are its result.
            let reduces = matches!(part.kind, CollectiveKind::Reduce { .. });
            let for_leader = self.for_leader.as_ref().filter(|_| reduces);
            let handed_out =
                for_leader.is_some_and(|it| hands_out(&it.whole) && it.leader == member);
            let read = if handed_out {
                part.bytes
            } else {
                reduce::read_of_output(part, group, member)
            };
            let resolves = |address, len| {
                len == 0 || around.peer_memory.resolve(place, address, len).is_some()
            };
            opens(member) || (resolves(input, part.bytes) && resolves(output, read))
        };
        reachability::of(group.others().all(opens), || match part.kind {
            CollectiveKind::Broadcast { root } => {
                let root = group.member_of(root, around.ranks);
                root == group.me || reaches(root)
            }
            _ => group.others().all(reaches),
        })
    }

    /// Begins when all memory can be reached.
    fn begin(
        &mut self,
        group: &mut LocalGroup,
        around: CollectiveEnvironment<'_>,
        spare: &mut SpareBuffers,
    ) -> PhaseOutcome {
        match self.part.kind {
            // Each member gets it from the leader in the end.
            CollectiveKind::Broadcast { .. } if self.for_leader.is_some() => PhaseOutcome::Over,
            CollectiveKind::Broadcast { root } => broadcast::begin(self, root, group, around),
            _ => reduce::begin(self, group, around, spare),
        }
    }

    /// Goes on until it waits, or is over.
    pub(super) fn step(
        &mut self,
        group: &mut LocalGroup,
        around: CollectiveEnvironment<'_>,
        spare: &mut SpareBuffers,
    ) -> Option<CollectiveResult> {
        loop {
            let look = match self.phase {
                Phase::Posted if !group.may_enter(around.ranks) => PhaseOutcome::Waits,
                Phase::Posted => self.enter(group, around, spare),
                Phase::Entered => match self.entered(group, around, spare) {
                    Ok(look) => look,
                    Err(against) => return Some(agreement::mismatch(&against)),
                },
                Phase::Judged => match reachability::verdict(group, around) {
                    None => PhaseOutcome::Waits,
                    Some(false) => self.unreachable_memory(),
                    Some(true) => self.begin(group, around, spare),
                },
                Phase::Folded => reduce::copy(self, group, around),
                Phase::Read => match self.part.kind {
                    CollectiveKind::Broadcast { .. } => broadcast::finish(self, group),
                    _ => reduce::finish(self, group, around.ranks),
                },
                Phase::Told => unreachable!("a leader tells of collectives of several nodes"),
            };
            match look {
                PhaseOutcome::Continue(phase) => self.phase = phase,
                PhaseOutcome::Waits => return None,
                PhaseOutcome::Over => return Some(self.ended()),
            }
        }
    }
}

/// Ends the part of a rank that has given all to the leader of its node, and does not wait for the
/// others.
fn given_to(leader: usize, group: &mut LocalGroup, around: CollectiveEnvironment<'_>) {
    group.published();
    // With many members, the last to enter has notified the others.
    if !group.is_counted() && group.all_are_there() {
        let differ = agreement::disagreement(group, around.ranks).is_some();
        // There may be no leader then: it depends on the call which member that is.
        group.tell(around, Phase::Entered, (!differ).then_some(leader));
        if differ {
            group.tell(around, Phase::Told, None);
        }
    }
}

impl CollectiveMachine for PhasedCollective {
    fn takes_long(&self) -> bool {
        self.part.bytes > LONG_BYTES
    }

    fn listens_for(&self) -> Option<Phase> {
        Some(self.phase)
    }

    fn awaited(&self, group: &LocalGroup, ranks: NodeRanks) -> Option<AwaitedMember> {
        let (member, sign) = match self.phase {
            Phase::Posted => (None, AwaitedEvent::AtGate),
            Phase::Entered => (None, AwaitedEvent::There),
            Phase::Judged => (None, AwaitedEvent::Verdict),
            Phase::Folded => (
                group.others().nth(self.copied),
                AwaitedEvent::Step(steps::FOLDED),
            ),
            Phase::Read => {
                let root = match self.part.kind {
                    CollectiveKind::Reduce { root, .. } => root,
                    _ => None,
                };
                let root = root.map(|root| group.member_of(root, ranks));
                (root, AwaitedEvent::Step(steps::DONE))
            }
            Phase::Told => return None,
        };
        Some(group.awaited(member, sign))
    }

    fn advance(
        &mut self,
        group: &mut LocalGroup,
        around: CollectiveEnvironment<'_>,
        spare: &mut SpareBuffers,
    ) -> Option<CollectiveResult> {
        let ended = self.step(group, around, spare)?;
        self.give_back(spare);
        Some(ended)
    }
}
