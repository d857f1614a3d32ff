//! A short collective: its members' contributions lie in their records, and each member that wants
//! the result takes it from there.
//!
//! A member that needs no data of the others is done when it has entered ([`NeededData::Nobody`]).
//! A member that needs data of one or of all others, which do not wait for it, is done when these
//! have entered. Only in the other collectives all wait for all.
#![expect(unsafe_code, reason = "buffers are named by address")]

use super::agreement;
use super::awaited::{AwaitedEvent, AwaitedMember};
use super::environment::CollectiveEnvironment;
use super::group::LocalGroup;
use super::machine::{CollectiveMachine, CollectiveResult, failed};
use super::phase::Phase;
use super::spare::SpareBuffers;
use crate::steps::CollectiveArguments;
use bcs_core::descriptor::CollectiveKind;
use bcs_core::reduction::arithmetic::{ArithmeticPath, CombineError, combine};
use bcs_core::reduction::{Datatype, Op};
use bcs_core::request::RequestFailure;
use bcs_core::smartmap::coll_info::{self, PAYLOAD_BYTES};
use bcs_core::wait_state::ConflictingCall;

/// A short collective of this rank.
#[derive(Debug)]
pub(in crate::transport::smartmap) struct ShortCollective {
    part: CollectiveArguments,
    needs: NeededData,
    entered: bool,
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
    fn of(part: &CollectiveArguments, group: &LocalGroup, first: u32) -> Self {
        match part.kind {
            CollectiveKind::Broadcast { root } => match group.member_of(root, first) {
                root if root == group.me => Self::Nobody,
                root => Self::One(root),
            },
            CollectiveKind::Reduce {
                root: Some(root), ..
            } => match group.member_of(root, first) {
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
        first: u32,
    ) -> Self {
        debug_assert!(part.bytes <= PAYLOAD_BYTES);
        Self {
            part,
            needs: NeededData::of(&part, group, first),
            entered: false,
        }
    }

    #[inline]
    fn enter(
        &mut self,
        group: &mut LocalGroup,
        around: CollectiveEnvironment<'_>,
        spare: &mut SpareBuffers,
    ) {
        self.entered = true;
        let number = group.next_number();
        if let Some(input) = self.part.input {
            // SAFETY: this rank does not write it meanwhile.
            let data = unsafe { input.bytes() };
            group.own().contribute(number, data);
        }
        let called = self.part.called().pack();
        if group.enter([called, self.part.bytes as u64]) {
            group.release(around, |group| self.fold_for_all(group, spare));
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
            NeededData::One(member) => agreement::compare_with(group, member, around.first)?,
            NeededData::Others | NeededData::All if !group.all_are_there() => return Ok(false),
            NeededData::Others => {
                let agreed = agreement::compare(group, around.first);
                // No member waits for this rank here, except one with a different call, or one at a
                // gate.
                if agreed.is_err() || coll_info::is_gate(group.number) {
                    group.tell_all(around, Phase::Entered);
                }
                agreed?;
            }
            NeededData::All => {
                group.tell_all(around, Phase::Entered);
                agreement::compare(group, around.first)?;
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

impl CollectiveMachine for ShortCollective {
    fn takes_long(&self) -> bool {
        false
    }

    fn listens_for(&self) -> Option<Phase> {
        Some(match self.entered {
            true => Phase::Entered,
            false => Phase::Posted,
        })
    }

    fn awaited(&self, group: &LocalGroup, _: u32) -> Option<AwaitedMember> {
        Some(match (self.entered, self.needs) {
            (false, _) => group.awaited(None, AwaitedEvent::AtGate),
            (true, NeededData::One(member)) => group.awaited(Some(member), AwaitedEvent::There),
            (true, _) => group.awaited(None, AwaitedEvent::There),
        })
    }

    #[inline]
    fn advance(
        &mut self,
        group: &mut LocalGroup,
        around: CollectiveEnvironment<'_>,
        spare: &mut SpareBuffers,
    ) -> Option<CollectiveResult> {
        if !self.entered {
            if !group.may_enter(around.first) {
                return None;
            }
            self.enter(group, around, spare);
        }
        match self.have_come(group, around) {
            Ok(false) => None,
            Ok(true) => Some(self.take(group, spare)),
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
