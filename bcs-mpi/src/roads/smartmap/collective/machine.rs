//! A collective that is long, or goes to other nodes: entering it, and finding that all do the same.
//!
//! Its data stay where they are, and go through the phases of [`judging`](super::judging) and the others. If not
//! all memory can be reached, they go through the records, one part after the other; and so do data of up to
//! [`PAYLOAD_BYTES`] of several nodes. ([`short`](super::short) collectives need none of that.)
#![expect(unsafe_code, reason = "buffers are named by address")]

use super::course::Way;
use super::group::{Awaited, Group, Sign};
use super::judging::Memory;
use super::led::{self, Led};
use super::queue::Machine;
use super::{Spare, Surroundings, agreement, broadcast, judging, reduce, short, steps};
use crate::data::LONG_BYTES;
use crate::data::{bytes, bytes_mut};
use crate::plan::Part;
use crate::roads::Outcome;
use bcs_core::descriptor::CollectiveKind;
use bcs_core::reduction::arithmetic::{Path, combine};
use bcs_core::reduction::{Datatype, Op};
use bcs_core::request::Failure;
use bcs_core::smartmap::coll_info::PAYLOAD_BYTES;
use bcs_core::whereabouts::{Called, Objection};

/// A collective of this rank's.
#[derive(Debug)]
pub(super) struct Collective {
    pub(super) part: Part,
    phase: Phase,
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
        if group.enter(call) {
            group.release(around, |_| false);
        }
        led::entered(self, group, around)
    }

    /// This rank has entered; what another one has called instead is an error.
    fn entered(
        &mut self,
        group: &mut Group,
        around: Surroundings<'_>,
        spare: &mut Spare,
    ) -> Result<Look, Objection> {
        if !group.all_are_there() {
            return Ok(Look::Waits);
        }
        group.tell_all(around, Phase::Entered);
        if self.led.is_none() {
            agreement::compare(group, around.first)?;
        } else if agreement::disagreement(group, around.first).is_some() {
            return Ok(led::leave(self, group, around));
        }
        Ok(self.all_have_entered(group, around, spare))
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
                if short::fold(group, (op, datatype), into, spare).is_err() {
                    self.failure = Failure::BadDescriptor;
                }
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

impl Machine for Collective {
    fn is_long(&self) -> bool {
        self.part.bytes > LONG_BYTES
    }

    fn advance(
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
}
