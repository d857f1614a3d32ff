//! A collective: entering it, finding that all do the same, and what is short enough to be done then.
//!
//! Data of up to [`PAYLOAD_BYTES`] lie in the records of who contributes them. When those have entered whose
//! data it needs, a member computes its result from there, and is done; nobody looks at anybody's buffers, and
//! who needs no data waits for nobody. Longer data stay where they are, and go through the phases of
//! [`judging`](super::judging) and the others. If not all memory can be reached, they go through the records as
//! well, one part after the other.
#![expect(unsafe_code, reason = "buffers are named by address")]

use super::course::Way;
use super::group::{Awaited, Group, Sign};
use super::judging::Memory;
use super::led::{self, Led};
use super::{Spare, Surroundings, agreement, broadcast, judging, reduce, steps};
use crate::bcs::{Outcome, Part, bytes, bytes_mut};
use bcs_core::arithmetic::{Path, combine};
use bcs_core::coll_info::{self, PAYLOAD_BYTES};
use bcs_core::datatype::Datatype;
use bcs_core::descriptor::CollectiveKind;
use bcs_core::op::Op;
use bcs_core::request::Failure;
use bcs_core::whereabouts::{Called, Objection};

/// A collective of this rank's.
#[derive(Debug)]
pub(super) struct Collective {
    pub(super) part: Part,
    phase: Phase,
    needs: Needs,
    /// Of data that go through the records in parts: where the part begins.
    pub(super) offset: Option<usize>,
    /// Partial results that another member copies from here.
    pub(super) partial: Vec<u8>,
    /// From how many other members it has copied what they had folded.
    pub(super) copied: usize,
    /// How it goes over its data, if it is long.
    pub(super) way: Way,
    pub(super) failure: Failure,
    /// Of a mismatch: what another rank called.
    pub(super) said: u64,
    /// If it is one of several nodes: what there is beyond this one.
    pub(super) led: Option<Box<Led>>,
}

/// Who goes on at once may enter the next collectives so soon that lines fetched for the very next one come too
/// late.
const AHEAD: u64 = 3;

/// Whose data a member needs to go on, in the records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Needs {
    Nobody,
    /// That of this one.
    One(usize),
    /// That of all others, who do not wait for this rank.
    Others,
    /// That of all, as all others do; or all do a thing together.
    All,
}

/// What this rank waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// Its turn: those posted before are not over, or others have to come closer.
    Posted,
    /// That all have entered.
    Entered,
    /// That all have said whether they can reach the memory that they have to read.
    Judged,
    /// That others have folded what this rank copies.
    Folded,
    /// That others need its memory no more.
    Read,
    /// Its NIC.
    Far,
    /// What the leader says, which has gone to its NIC for all.
    Told,
}

/// What a collective has come to. Failures are rare, and a word is moved in no time.
pub(super) type Ended = Result<(), Box<Outcome>>;

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
            Self::Far => 5,
            Self::Told => 6,
        }
    }
}

impl Collective {
    pub(super) fn new(part: Part) -> Self {
        Self {
            part,
            phase: Phase::Posted,
            needs: Needs::All,
            offset: None,
            partial: Vec::new(),
            copied: 0,
            way: Way::Forth,
            failure: Failure::None,
            said: 0,
            led: None,
        }
    }

    pub(super) fn phase(&self) -> Phase {
        self.phase
    }

    /// What a rank that has gone as far as it can waits for.
    pub(super) fn awaited(&self, group: &Group, first: u32) -> Option<Awaited> {
        let (member, sign) = match self.phase {
            Phase::Far => return None,
            Phase::Posted => (None, Sign::AtGate),
            Phase::Told => {
                let led = self.led.as_ref();
                (led.map(|led| led.leader()), Sign::Step(steps::TOLD))
            }
            Phase::Read if self.led.is_some() => (None, Sign::Step(steps::READ)),
            Phase::Entered => {
                let one = match self.needs {
                    Needs::One(member) => Some(member),
                    _ => None,
                };
                (one, Sign::There)
            }
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
    ) -> Option<Ended> {
        loop {
            let look = match self.phase {
                Phase::Posted if !group.may_enter(around.first) => Look::Waits,
                Phase::Posted => self.enter(group, around, spare),
                Phase::Entered => match self.entered(group, around, spare) {
                    Ok(look) => look,
                    Err(against) => {
                        self.give_back(spare);
                        return Some(agreement::mismatch(&against));
                    }
                },
                Phase::Judged => match judging::verdict(group, around) {
                    None => Look::Waits,
                    Some(false) => self.unreachable_memory(group),
                    Some(true) => self.begin(group, around, spare),
                },
                Phase::Folded => reduce::copy(self, group, around),
                Phase::Far => led::far(self, group, around),
                Phase::Told => led::told(self, group, around),
                Phase::Read if self.led.is_some() => led::all_have_read(self, group),
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
                    return Some(self.ended());
                }
            }
        }
    }

    fn ended(&self) -> Ended {
        if self.failure == Failure::None {
            return Ok(());
        }
        Err(Box::new(Outcome {
            failure: self.failure,
            len: self.said,
            ..Outcome::default()
        }))
    }

    fn give_back(&mut self, spare: &mut Spare) {
        let partial = std::mem::take(&mut self.partial);
        if partial.len() > spare.partial.len() && partial.len() <= reduce::MAX_SPARE_BYTES {
            spare.partial = partial;
        }
        if let Some(room) = led::spent(self, reduce::MAX_SPARE_BYTES) {
            spare.room = room;
        }
    }

    pub(super) fn is_long(&self) -> bool {
        self.part.bytes > PAYLOAD_BYTES && self.offset.is_none()
    }

    /// Where the bytes are that go through the records now: all of them, or a part.
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

    fn enter(&mut self, group: &mut Group, around: Surroundings<'_>, spare: &mut Spare) -> Look {
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
        } else if let Some(input) = self.contributes_now() {
            let (offset, len) = self.here();
            // SAFETY: whoever posted it promised that.
            let data = unsafe { bytes(input + offset as u64, len) };
            group.own().contribute(number, data);
        }
        let (kind, bytes) = (self.kind(), self.part.bytes as u64);
        let call = [Called::Nic { kind, bytes }.pack(), bytes];
        group.enter(call);
        self.needs = self.needs(group, around.first);
        if self.needs == Needs::All {
            return led::entered(self, group, around);
        }
        group.prepare(AHEAD);
        match self.needs {
            Needs::All => {}
            Needs::Others => group.expect(None),
            Needs::One(giver) => {
                group.expect(Some(giver));
                group.tell_of_entering(around, false);
            }
            Needs::Nobody => {
                let gives = matches!(self.part.kind, CollectiveKind::Broadcast { .. });
                group.tell_of_entering(around, gives);
            }
        }
        Look::Goes(Phase::Entered)
    }

    /// Whose data this rank needs. Longer ones, and those of several nodes, are a conversation of all.
    fn needs(&self, group: &Group, first: u32) -> Needs {
        if self.led.is_some() || self.part.bytes > PAYLOAD_BYTES {
            return Needs::All;
        }
        match self.part.kind {
            CollectiveKind::Broadcast { root } => match group.place_of(root, first) {
                root if root == group.me() => Needs::Nobody,
                root => Needs::One(root),
            },
            CollectiveKind::Reduce {
                root: Some(root), ..
            } => match group.place_of(root, first) {
                root if root == group.me() => Needs::Others,
                _ => Needs::Nobody,
            },
            _ => Needs::All,
        }
    }

    /// This rank has entered; what another one has called instead is an error.
    fn entered(
        &mut self,
        group: &mut Group,
        around: Surroundings<'_>,
        spare: &mut Spare,
    ) -> Result<Look, Objection> {
        match self.needs {
            Needs::Nobody => return Ok(Look::Over),
            Needs::One(member) if !group.is_there(member) => return Ok(Look::Waits),
            Needs::One(member) => {
                agreement::compare_with(group, member, around.first)?;
            }
            Needs::Others | Needs::All if !group.all_are_there() => return Ok(Look::Waits),
            Needs::Others => {
                let agreed = agreement::compare(group, around.first);
                // Nobody waits for this rank here, but who has called something else, and who is at a gate.
                if agreed.is_err() || coll_info::is_gate(group.number()) {
                    group.tell_all(around, Phase::Entered);
                }
                agreed?;
            }
            Needs::All => {
                group.tell_all(around, Phase::Entered);
                if self.led.is_none() {
                    agreement::compare(group, around.first)?;
                } else if agreement::disagreement(group, around.first).is_some() {
                    return Ok(led::leave(self, group, around));
                }
            }
        }
        Ok(self.those_needed_have_entered(group, around, spare))
    }

    /// What the rank has called.
    fn kind(&self) -> CollectiveKind {
        let led = self.led.as_ref();
        led.map_or(self.part.kind, |led| led.called())
    }

    /// What goes into the record when this rank enters. What a leader hands out may not be there yet.
    fn contributes_now(&self) -> Option<u64> {
        let later =
            self.led.is_some() && matches!(self.part.kind, CollectiveKind::Broadcast { .. });
        self.part.input.filter(|_| !later)
    }

    fn those_needed_have_entered(
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
            CollectiveKind::Broadcast { root } if self.led.is_none() && self.part.output != 0 => {
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
            _ if self.led.is_some() => led::folded(self, group),
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

    /// The same, found out when all have entered.
    fn unreachable_memory(&mut self, group: &Group) -> Look {
        let broadcast = matches!(self.part.kind, CollectiveKind::Broadcast { .. });
        if self.led.is_some() && broadcast {
            self.offset = Some(0); // and the leader gets it in one piece first
            return led::folded(self, group);
        }
        self.in_parts()
    }

    /// All memory can be reached.
    pub(super) fn begin(
        &mut self,
        group: &mut Group,
        around: Surroundings<'_>,
        spare: &mut Spare,
    ) -> Look {
        match self.part.kind {
            CollectiveKind::Broadcast { .. } if self.led.is_some() => {
                led::broadcast(self, group, around)
            }
            CollectiveKind::Broadcast { root } => broadcast::begin(self, root, group, around),
            _ => reduce::begin(self, group, around, spare),
        }
    }
}
