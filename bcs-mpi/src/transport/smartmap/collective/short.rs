//! A short collective: its members' contributions lie in their records, and each member that wants
//! the result takes it from there.
//!
//! A member that needs no data of the others is done when it has entered ([`NeededData::Nobody`]).
//! A member that needs data of one or of all others, which do not wait for it, is done when these
//! have entered. Only in the other collectives all wait for all.
//!
//! **Divided reductions.** If each member folded all contributions, many members with some hundred
//! bytes each would read many cache lines that other cores have written. So each member folds one
//! *share* of the vector, from all records. It writes the share over its own contribution, of which
//! no other member reads this part. When all have done so, each member copies the shares of all.
//! That takes one more synchronization, so it is done only if the members are many and have a core
//! each ([`LocalGroup::divide`]). A reduction to one member is not divided: it alone reads all, and
//! the others go on at once. The order within each element is the same (law 9).
#![expect(unsafe_code, reason = "buffers are named by address")]

use super::agreement;
use super::awaited::{AwaitedEvent, AwaitedMember};
use super::environment::CollectiveEnvironment;
use super::group::{LocalGroup, MAX_UNTALLIED_MEMBERS};
use super::machine::{CollectiveMachine, CollectiveResult, failed};
use super::member::Member;
use super::phase::Phase;
use super::spare::SpareBuffers;
use super::steps;
use crate::steps::CollectiveArguments;
use bcs_core::descriptor::CollectiveKind;
use bcs_core::job::NodeRanks;
use bcs_core::reduction::arithmetic::{self, ArithmeticPath, CombineError, Contributions, combine};
use bcs_core::reduction::{Datatype, Op};
use bcs_core::request::RequestFailure;
use bcs_core::smartmap::coll_info::{self, INLINE_BYTES, PAYLOAD_BYTES};
use bcs_core::wait_state::ConflictingCall;
use std::ops::Range;
use std::ptr::NonNull;

/// Bytes of a cache line.
const LINE_BYTES: usize = 64;

/// A short collective of this rank.
#[derive(Debug)]
pub(in crate::transport::smartmap) struct ShortCollective {
    part: CollectiveArguments,
    needs: NeededData,
    /// The operation, if the members divide the work.
    divided: Option<(Op, Datatype)>,
    phase: ShortPhase,
}

/// How far a rank is in a short collective.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ShortPhase {
    Posted,
    Entered,
    /// It has folded its share.
    Folded,
}

/// The members whose data a member needs to go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NeededData {
    Nobody,
    /// Those of this one.
    One(usize),
    /// Those of all others, which do not wait for this rank.
    Others,
    /// Those of all, as all others need them, too; or all act together.
    All,
}

impl NeededData {
    #[inline]
    fn of(part: &CollectiveArguments, group: &LocalGroup, ranks: NodeRanks) -> Self {
        match part.kind {
            CollectiveKind::Broadcast { root } => match group.member_of(root, ranks) {
                root if root == group.me => Self::Nobody,
                root => Self::One(root),
            },
            CollectiveKind::Reduce {
                root: Some(root), ..
            } => match group.member_of(root, ranks) {
                root if root == group.me => Self::Others,
                _ => Self::Nobody,
            },
            _ => Self::All,
        }
    }
}

/// A member that goes on at once may enter the next collectives so soon that cache lines prefetched
/// for the very next one come too late.
const PREFETCH_DISTANCE: u64 = 3;

impl ShortCollective {
    /// Makes the part of a rank that contributes, or takes, at most [`PAYLOAD_BYTES`].
    #[inline]
    pub(in crate::transport::smartmap) fn new(
        part: CollectiveArguments,
        group: &LocalGroup,
        ranks: NodeRanks,
    ) -> Self {
        debug_assert!(part.bytes <= PAYLOAD_BYTES);
        let divided = match part.kind {
            CollectiveKind::Reduce {
                root: None,
                op,
                datatype,
            } if group.divides(part.bytes) => Some((op, datatype)),
            _ => None,
        };
        Self {
            part,
            needs: NeededData::of(&part, group, ranks),
            divided,
            phase: ShortPhase::Posted,
        }
    }

    #[inline]
    fn enter(
        &mut self,
        group: &mut LocalGroup,
        around: CollectiveEnvironment<'_>,
        spare: &mut SpareBuffers,
    ) {
        self.phase = ShortPhase::Entered;
        let number = group.next_number();
        if let Some(input) = self.part.input {
            // SAFETY: this rank does not write it meanwhile.
            let data = unsafe { input.bytes() };
            group.own().contribute(number, data);
        }
        let called = self.part.called().pack();
        if group.enter([called, self.part.bytes as u64]) {
            group.release(around, |group| {
                self.divided.is_none() && self.fold_for_all(group, spare)
            });
        }
        if self.needs == NeededData::All {
            return;
        }
        group.prepare(PREFETCH_DISTANCE);
        match self.needs {
            NeededData::All => {}
            NeededData::Others => group.others().for_each(|member| group.expect(member)),
            NeededData::One(giver) => {
                group.expect(giver);
                group.tell_of_entering(around, false);
            }
            NeededData::Nobody => {
                let gives = matches!(self.part.kind, CollectiveKind::Broadcast { .. });
                group.tell_of_entering(around, gives);
            }
        }
    }

    /// Folds the result that all want, at the last of many to enter. Returns whether there is one,
    /// and it could be folded.
    fn fold_for_all(&self, group: &LocalGroup, spare: &mut SpareBuffers) -> bool {
        let CollectiveKind::Reduce {
            root: None,
            op,
            datatype,
        } = self.part.kind
        else {
            return false;
        };
        let mut result = std::mem::take(&mut spare.folded);
        result.resize(self.part.bytes, 0);
        let folded = fold(group, (op, datatype), None, &mut result, spare).is_ok();
        // No other member reads this rank's contribution.
        if folded {
            group.own().contribute(group.number, &result);
        }
        spare.folded = result;
        folded
    }

    /// Returns whether the members that this rank needs have entered with the same call. A
    /// different call is an error.
    #[inline]
    fn have_come(
        &self,
        group: &mut LocalGroup,
        around: CollectiveEnvironment<'_>,
    ) -> Result<bool, ConflictingCall> {
        match self.needs {
            NeededData::Nobody => {}
            NeededData::One(member) if !group.is_there(member) => return Ok(false),
            NeededData::One(member) => agreement::compare_with(group, member, around.ranks)?,
            NeededData::Others | NeededData::All if !group.all_are_there() => return Ok(false),
            NeededData::Others => {
                let agreed = agreement::compare(group, around.ranks);
                // No member waits for this rank here, except one with a different call, or one at a
                // gate.
                if agreed.is_err() || coll_info::is_gate(group.number) {
                    group.tell_all(around, Phase::Entered);
                }
                agreed?;
            }
            NeededData::All => {
                group.tell_all(around, Phase::Entered);
                agreement::compare(group, around.ranks)?;
            }
        }
        Ok(true)
    }

    /// Takes the result, if this rank wants it.
    #[inline]
    fn take(&self, group: &LocalGroup, spare: &mut SpareBuffers) -> CollectiveResult {
        if self.part.output.is_empty() {
            return Ok(());
        }
        // SAFETY: only this code writes it.
        let into = || unsafe { self.part.output.bytes_mut() };
        match (self.part.kind, self.needs) {
            (CollectiveKind::Broadcast { .. }, NeededData::One(root)) => {
                let root = &group.members[root].info;
                root.contribution(group.number, into());
                Ok(())
            }
            (CollectiveKind::Reduce { .. }, NeededData::All) if group.is_counted() => {
                let Some(folded) = group.folded_by() else {
                    return failed(RequestFailure::BadDescriptor, 0);
                };
                folded.contribution(group.number, into());
                Ok(())
            }
            (CollectiveKind::Reduce { op, datatype, .. }, NeededData::Others | NeededData::All) => {
                let apart = self.part.input.filter(|input| *input != self.part.output);
                // SAFETY: nothing writes it meanwhile: nothing else uses the output, so that does
                // not overlap.
                let own = apart.map(|input| unsafe { input.bytes() });
                let folded = fold(group, (op, datatype), own, into(), spare);
                folded.or_else(|_| failed(RequestFailure::BadDescriptor, 0))
            }
            _ => Ok(()),
        }
    }
}

/// Divided reductions.
impl ShortCollective {
    /// Returns the bytes that a member folds: whole cache lines of the vector, except at its end.
    fn share(&self, datatype: Datatype, member: usize, members: usize) -> Range<usize> {
        let size = datatype.size();
        let elements = self.part.bytes / size;
        let each = elements
            .div_ceil(members)
            .next_multiple_of((LINE_BYTES / size).max(1));
        let edge = |member: usize| (each * member).min(elements) * size;
        edge(member)..edge(member + 1)
    }

    /// Folds this rank's share when all have entered, and goes on.
    fn fold_share(
        &mut self,
        what: (Op, Datatype),
        group: &mut LocalGroup,
        around: CollectiveEnvironment<'_>,
        spare: &mut SpareBuffers,
    ) -> Option<CollectiveResult> {
        let (number, members) = (group.number, group.members.len());
        let share = self.share(what.1, group.me, members);
        let folded = &mut spare.chunks(share.len())[..share.len()];
        let at = share.start;
        let outcome = fold_records(group, what, None, at, folded);
        if outcome.is_err() {
            // There is no such operation, as all members find.
            return Some(failed(RequestFailure::BadDescriptor, 0));
        }
        group
            .own()
            .replace_contribution(number, share.start, folded);
        group.own().advance(number, steps::FOLDED);
        group.published();
        group.tell_if_all(around, steps::FOLDED, Phase::Folded, None);
        group.look_anew();
        self.phase = ShortPhase::Folded;
        self.take_shares(group)
    }

    /// Copies the shares of all members to the output when all have folded theirs.
    fn take_shares(&self, group: &mut LocalGroup) -> Option<CollectiveResult> {
        let (number, members) = (group.number, group.members.len());
        if !group.have_all(steps::FOLDED) {
            return None;
        }
        let (_, datatype) = self.divided.expect("it is divided");
        // SAFETY: only this code writes it.
        let into = unsafe { self.part.output.bytes_mut() };
        for (at, member) in group.members.iter().enumerate() {
            let share = self.share(datatype, at, members);
            let start = share.start;
            member
                .info
                .read_contribution(number, start, &mut into[share]);
        }
        Some(Ok(()))
    }
}

impl CollectiveMachine for ShortCollective {
    fn takes_long(&self) -> bool {
        false
    }

    fn listens_for(&self) -> Option<Phase> {
        Some(match self.phase {
            ShortPhase::Posted => Phase::Posted,
            ShortPhase::Entered => Phase::Entered,
            ShortPhase::Folded => Phase::Folded,
        })
    }

    fn awaited(&self, group: &LocalGroup, _: NodeRanks) -> Option<AwaitedMember> {
        Some(match (self.phase, self.needs) {
            (ShortPhase::Posted, _) => group.awaited(None, AwaitedEvent::AtGate),
            (ShortPhase::Entered, NeededData::One(member)) => {
                group.awaited(Some(member), AwaitedEvent::There)
            }
            (ShortPhase::Entered, _) => group.awaited(None, AwaitedEvent::There),
            (ShortPhase::Folded, _) => group.awaited(None, AwaitedEvent::Step(steps::FOLDED)),
        })
    }

    #[inline]
    fn advance(
        &mut self,
        group: &mut LocalGroup,
        around: CollectiveEnvironment<'_>,
        spare: &mut SpareBuffers,
    ) -> Option<CollectiveResult> {
        if self.phase == ShortPhase::Posted {
            if !group.may_enter(around.ranks) {
                return None;
            }
            self.enter(group, around, spare);
        }
        if self.phase == ShortPhase::Folded {
            return self.take_shares(group);
        }
        match self.have_come(group, around) {
            Ok(false) => None,
            Ok(true) => match self.divided {
                Some(what) => self.fold_share(what, group, around, spare),
                None => Some(self.take(group, spare)),
            },
            Err(against) => Some(agreement::mismatch(&against)),
        }
    }
}

/// Folds the contributions in the records of all members. This rank's own data also lie in `own`,
/// unless they are in place. Law 9: the order is that of the communicator. The first two may change
/// places, since all operations are commutative to the bit. The processor's code gives the same
/// bits as the NIC's.
///
/// # Errors
/// When there is no such operation on the datatype.
pub(super) fn fold(
    group: &LocalGroup,
    (op, datatype): (Op, Datatype),
    own: Option<&[u8]>,
    into: &mut [u8],
    spare: &mut SpareBuffers,
) -> Result<(), CombineError> {
    // Two contributions are copied and combined sooner than folded line by line.
    if into.len() > INLINE_BYTES && group.members.len() > 2 {
        return fold_records(group, (op, datatype), own, 0, into);
    }
    let (number, me) = (group.number, group.me);
    let first = usize::from(own.is_some() && me == 0);
    group.members[first].info.contribution(number, into);
    let operand = &mut spare.chunks(into.len())[..into.len()];
    for (index, member) in group.members.iter().enumerate() {
        match own {
            _ if index == first => {}
            Some(own) if index == me => combine(op, datatype, ArithmeticPath::Host, into, own)?,
            _ => {
                member.info.contribution(number, operand);
                combine(op, datatype, ArithmeticPath::Host, into, operand)?;
            }
        }
    }
    Ok(())
}

/// Does the same with bytes, from byte `at` on, of contributions in the payloads.
fn fold_records(
    group: &LocalGroup,
    what: (Op, Datatype),
    own: Option<&[u8]>,
    at: usize,
    into: &mut [u8],
) -> Result<(), CombineError> {
    let start = |(index, member): (usize, &Member)| match own {
        Some(own) if index == group.me => NonNull::from(&own[at..at + into.len()]).cast(),
        _ => member.info.contribution_at(group.number, at, into.len()),
    };
    let places = group.members.iter().enumerate().map(start);
    let mut few = [NonNull::dangling(); MAX_UNTALLIED_MEMBERS];
    let many: Vec<_>;
    let starts: &[_] = match few.get_mut(..places.len()) {
        Some(few) => {
            (few.iter_mut().zip(places)).for_each(|(at, place)| *at = place);
            few
        }
        None => {
            many = places.collect();
            &many
        }
    };
    // SAFETY: the node's memory and the caller's input stay.
    let all = unsafe { Contributions::new(starts, into.len()) };
    arithmetic::fold(what, all, 0, into)
}
