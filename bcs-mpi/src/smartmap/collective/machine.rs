//! A collective: entering it, finding that all do the same, and what is short enough to be done then.
//!
//! Data of up to [`PAYLOAD_BYTES`] lie in the records of who contributes them. When all have entered,
//! whoever wants a result computes it from there, and is done; nobody looks at anybody's buffers. Longer
//! data stay where they are, and go through the phases of [`judging`](super::judging) and the others.
//! If not all memory can be reached, they go through the records as well, one part after the other.
#![expect(unsafe_code, reason = "buffers are named by address")]

use super::group::{Awaited, Group, Sign};
use super::judging::Memory;
use super::{Spare, Surroundings, broadcast, judging, reduce, steps};
use crate::bcs::{Outcome, Part, bytes, bytes_mut};
use crate::smartmap::requests::Id;
use bcs_core::arithmetic::{Path, combine};
use bcs_core::coll_info::PAYLOAD_BYTES;
use bcs_core::datatype::Datatype;
use bcs_core::descriptor::CollectiveKind;
use bcs_core::op::Op;
use bcs_core::request::Failure;
use bcs_core::whereabouts::{Called, Objection};

/// A collective of this rank's.
#[derive(Debug)]
pub(super) struct Collective {
    request: Id,
    pub(super) part: Part,
    phase: Phase,
    /// Of data that go through the records in parts: where the part begins.
    offset: Option<usize>,
    /// Partial results that another member copies from here.
    pub(super) partial: Vec<u8>,
    /// From how many other members it has copied what they had folded.
    pub(super) copied: usize,
    pub(super) failure: Failure,
}

/// What this rank waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// Its turn: those posted before are not over.
    Posted,
    /// That all have entered.
    Entered,
    /// That all have said whether they can reach the memory that they have to read.
    Judged,
    /// That others have folded what this rank copies.
    Folded,
    /// That others need its memory no more.
    Read,
}

/// What became of a look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Look {
    /// Others have to do something first.
    Waits,
    /// Look again.
    Goes(Phase),
    /// It is over.
    Over,
}

impl Phase {
    /// As listeners say it.
    pub(super) fn code(self) -> u8 {
        match self {
            Self::Posted => 0,
            Self::Entered => 1,
            Self::Judged => 2,
            Self::Folded => 3,
            Self::Read => 4,
        }
    }
}

impl Collective {
    pub(super) fn new(request: Id, part: Part) -> Self {
        Self {
            request,
            part,
            phase: Phase::Posted,
            offset: None,
            partial: Vec::new(),
            copied: 0,
            failure: Failure::None,
        }
    }

    pub(super) fn request(&self) -> Id {
        self.request
    }

    pub(super) fn phase(&self) -> Phase {
        self.phase
    }

    /// What a rank that has gone as far as it can waits for.
    pub(super) fn awaited(&self, group: &Group, first: u32) -> Option<Awaited> {
        let (member, sign) = match self.phase {
            Phase::Posted => return None,
            Phase::Entered => (None, Sign::There),
            Phase::Judged => (None, Sign::Verdict),
            Phase::Folded => (group.others().nth(self.copied), Sign::Step(steps::FOLDED)),
            Phase::Read => {
                let root = match self.part.kind {
                    CollectiveKind::Reduce { root, .. } => root,
                    _ => None,
                };
                let root = root.map(|root| group.place_of(root, first));
                (root, Sign::Step(steps::DONE))
            }
        };
        Some(group.awaited(member, sign))
    }

    /// Goes on as far as it can; says what it came to when it is over.
    pub(super) fn advance(
        &mut self,
        group: &mut Group,
        around: Surroundings<'_>,
        spare: &mut Spare,
    ) -> Option<Outcome> {
        loop {
            let look = match self.phase {
                Phase::Posted => {
                    self.enter(group, spare);
                    Look::Goes(Phase::Entered)
                }
                Phase::Entered if !group.all_are_there() => Look::Waits,
                Phase::Entered => {
                    group.tell_all(around, Phase::Entered);
                    if let Some(against) = disagreement(group, around.first) {
                        self.give_back(spare);
                        return Some(mismatch(&against));
                    }
                    self.all_have_entered(group, around, spare)
                }
                Phase::Judged => match judging::verdict(group, around) {
                    None => Look::Waits,
                    Some(false) => self.in_parts(),
                    Some(true) => self.begin(group, around, spare),
                },
                Phase::Folded => reduce::copy(self, group, around),
                Phase::Read => match self.part.kind {
                    CollectiveKind::Broadcast { .. } => broadcast::finish(self, group),
                    _ => reduce::finish(self, group, around.first),
                },
            };
            match look {
                Look::Goes(phase) => self.phase = phase,
                Look::Waits => return None,
                Look::Over => {
                    self.give_back(spare);
                    let failure = self.failure;
                    return Some(Outcome {
                        failure,
                        ..Outcome::default()
                    });
                }
            }
        }
    }

    fn give_back(&mut self, spare: &mut Spare) {
        let partial = std::mem::take(&mut self.partial);
        if partial.len() > spare.partial.len() && partial.len() <= reduce::MAX_SPARE_BYTES {
            spare.partial = partial;
        }
    }

    fn is_long(&self) -> bool {
        self.part.bytes > PAYLOAD_BYTES && self.offset.is_none()
    }

    /// Where the bytes are that go through the records now: all of them, or a part.
    fn here(&self) -> (usize, usize) {
        let offset = self.offset.unwrap_or(0);
        let most = match self.part.kind {
            CollectiveKind::Reduce { datatype, .. } => {
                PAYLOAD_BYTES / datatype.size() * datatype.size()
            }
            _ => PAYLOAD_BYTES,
        };
        (offset, (self.part.bytes - offset).min(most))
    }

    fn enter(&mut self, group: &mut Group, spare: &mut Spare) {
        let number = group.next_number();
        if self.is_long() {
            self.partial = reduce::room_for_partial(&self.part, group, spare);
            let output = if self.partial.is_empty() {
                self.part.output
            } else {
                self.partial.as_ptr().expose_provenance() as u64
            };
            let input = self.part.input.unwrap_or(0);
            let memory = Memory { input, output };
            memory.say(group.own(), number, group.open, self.part.bytes);
        } else if let Some(input) = self.part.input {
            let (offset, len) = self.here();
            // SAFETY: whoever posted it promised that.
            let data = unsafe { bytes(input + offset as u64, len) };
            group.own().contribute(number, data);
        }
        let (kind, bytes) = (self.part.kind, self.part.bytes as u64);
        let call = [Called::Nic { kind, bytes }.pack(), bytes];
        group.own().enter(number, call);
    }

    fn all_have_entered(
        &mut self,
        group: &mut Group,
        around: Surroundings<'_>,
        spare: &mut Spare,
    ) -> Look {
        if self.is_long() {
            return judging::judge(self, group, around, spare);
        }
        let (offset, len) = self.here();
        match self.part.kind {
            CollectiveKind::Broadcast { root } if self.part.output != 0 => {
                let root = group.place_of(root, around.first);
                // SAFETY: whoever posted it promised that.
                let into = unsafe { bytes_mut(self.part.output + offset as u64, len) };
                let root = &group.members()[root].info;
                root.contribution(group.number(), into);
            }
            CollectiveKind::Reduce { op, datatype, .. } if self.part.output != 0 => {
                // SAFETY: whoever posted it promised that.
                let into = unsafe { bytes_mut(self.part.output + offset as u64, len) };
                self.fold(group, (op, datatype), into, spare);
            }
            _ => {}
        }
        match self.offset {
            Some(_) if offset + len < self.part.bytes => {
                self.offset = Some(offset + len);
                Look::Goes(Phase::Posted)
            }
            _ => Look::Over,
        }
    }

    /// Law 9: the order is that of the communicator.
    fn fold(
        &mut self,
        group: &Group,
        (op, datatype): (Op, Datatype),
        into: &mut [u8],
        spare: &mut Spare,
    ) {
        let number = group.number();
        let (first, rest) = group.members().split_first().expect("there are members");
        first.info.contribution(number, into);
        let operand = &mut spare.chunks(into.len())[..into.len()];
        for member in rest {
            member.info.contribution(number, operand);
            self.combine((op, datatype), into, operand);
        }
    }

    /// `accumulator = accumulator OP operand`. The processor's path gives the bits of the NIC's.
    pub(super) fn combine(
        &mut self,
        (op, datatype): (Op, Datatype),
        accumulator: &mut [u8],
        operand: &[u8],
    ) {
        if combine(op, datatype, Path::Host, accumulator, operand).is_err() {
            self.failure = Failure::BadDescriptor;
        }
    }

    /// Not all memory can be reached: from here on the data go through the records.
    pub(super) fn in_parts(&mut self) -> Look {
        self.offset = Some(0);
        Look::Goes(Phase::Posted)
    }

    /// All memory can be reached.
    pub(super) fn begin(
        &mut self,
        group: &mut Group,
        around: Surroundings<'_>,
        spare: &mut Spare,
    ) -> Look {
        match self.part.kind {
            CollectiveKind::Broadcast { root } => broadcast::begin(self, root, group, around),
            _ => reduce::begin(self, group, around, spare),
        }
    }
}

/// What this rank is to be told, if not all members have called the same: as BR does it, those who are
/// with the first one that differs from the first of all are told of the first of all, the others of
/// it. All members come to the same.
pub(super) fn disagreement(group: &Group, first: u32) -> Option<Objection> {
    let number = group.number();
    let called = |member: usize| group.members()[member].info.call(number);
    let leading = called(0);
    let odd = (1..group.members().len()).find(|&member| called(member) != leading)?;
    let mine = called(group.me());
    let against = if mine == called(odd) { 0 } else { odd };
    let rank = first + u32::try_from(group.members()[against].place).expect("places are few");
    let [packed, bytes] = called(against);
    // Of what makes no sense a rank that wrote rubbish is the cause, and it is the one that is told of.
    let called = match Called::unpack(packed) {
        Some(Called::Nic { kind, .. }) => Called::Nic { kind, bytes },
        Some(called) => called,
        None => Called::Nic {
            kind: CollectiveKind::Barrier,
            bytes: 0,
        },
    };
    Some(Objection { rank, called })
}

pub(super) fn mismatch(against: &Objection) -> Outcome {
    Outcome {
        failure: Failure::Mismatch,
        len: against.pack(),
        ..Outcome::default()
    }
}
