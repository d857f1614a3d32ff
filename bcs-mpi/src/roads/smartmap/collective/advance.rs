//! A collective that is long, or goes to other nodes: entering it, and finding that all do the same.
//!
//! Its data stay where they are, and go through the phases of [`reachability`] and the others. If not
//! all memory can be reached, they go through the records, one part after the other; and so do data of up to
//! [`PAYLOAD_BYTES`] of several nodes. ([`short`] collectives need none of that.)
#![expect(unsafe_code, reason = "buffers are named by address")]

use super::group::Group;
use super::machine::{Ended, Machine};
use super::member::Info;
use super::named_memory::Memory;
use super::phase::{Look, Phase};
use super::phased::Phased;
use super::spare::Spare;
use super::surroundings::Surroundings;
use super::{agreement, broadcast, leader, reachability, reduce, short};
use crate::data::{LONG_BYTES, bytes, bytes_mut};
use crate::roads::Outcome;
use bcs_core::descriptor::CollectiveKind;
use bcs_core::limits::MAX_SPARE_BYTES;
use bcs_core::request::Failure;
use bcs_core::smartmap::coll_info::PAYLOAD_BYTES;
use bcs_core::whereabouts::{Called, Objection};

impl Phased {
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
        if partial.len() > spare.partial.len() && partial.len() <= MAX_SPARE_BYTES {
            spare.partial = partial;
        }
        if let Some(room) = leader::spent(self, MAX_SPARE_BYTES) {
            spare.room = room;
        }
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
        leader::entered(self, group, around)
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
        if self.beyond.is_none() {
            agreement::compare(group, around.first)?;
        } else if agreement::disagreement(group, around.first).is_some() {
            return Ok(leader::leave(self, group, around));
        }
        Ok(self.all_have_entered(group, around, spare))
    }

    /// What the rank has called.
    fn kind(&self) -> CollectiveKind {
        let beyond = self.beyond.as_ref();
        beyond.map_or(self.part.kind, |beyond| beyond.called())
    }

    /// What goes into the record when this rank enters. What a leader hands out may not be there yet.
    fn contributes_now(&self) -> Option<u64> {
        let later =
            self.beyond.is_some() && matches!(self.part.kind, CollectiveKind::Broadcast { .. });
        self.part.input.filter(|_| !later)
    }

    fn all_have_entered(
        &mut self,
        group: &mut Group,
        around: Surroundings<'_>,
        spare: &mut Spare,
    ) -> Look {
        if self.is_long() {
            return self.judge(group, around, spare);
        }
        let (offset, len) = self.here();
        match self.part.kind {
            CollectiveKind::Broadcast { root }
                if self.beyond.is_none() && self.part.output != 0 =>
            {
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
            _ if self.beyond.is_some() => leader::folded(self, group),
            _ => Look::Over,
        }
    }

    /// Not all memory can be reached, as is found out when all have entered.
    fn unreachable_memory(&mut self, group: &Group) -> Look {
        let broadcast = matches!(self.part.kind, CollectiveKind::Broadcast { .. });
        if self.beyond.is_some() && broadcast {
            self.offset = Some(0); // and the leader gets it in one piece first
            return leader::folded(self, group);
        }
        self.in_parts()
    }

    /// All have entered a long collective.
    fn judge(&mut self, group: &mut Group, around: Surroundings<'_>, spare: &mut Spare) -> Look {
        let number = group.number();
        let open = |info: &Info| info.said::<3>(number)[2] == 1;
        if group.members().iter().all(|member| open(&member.info)) {
            return self.begin(group, around, spare);
        }
        let verdict = self.verdict(group, around);
        group.own().judge(number, verdict);
        group.look_anew();
        Look::Goes(Phase::Judged)
    }

    /// What this rank says of the memory that it has to read.
    fn verdict(&self, group: &Group, around: Surroundings<'_>) -> u8 {
        let number = group.number();
        let memory = |member: usize| Memory::of(&group.members()[member].info, number);
        let place = |member: usize| group.members()[member].place;
        let opens = |member: usize| {
            let Memory { input, output } = memory(member);
            let address = if input == 0 { output } else { input };
            around
                .peer_memory
                .opens(around.node, place(member), address)
        };
        let part = &self.part;
        let reaches = |member: usize| {
            let (place, Memory { input, output }) = (place(member), memory(member));
            // What a leader hands out is its result.
            let reduces = matches!(part.kind, CollectiveKind::Reduce { .. });
            let beyond = self.beyond.as_ref().filter(|_| reduces);
            let handed_out =
                beyond.is_some_and(|beyond| beyond.hands_out() && beyond.leader() == member);
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
                let root = group.place_of(root, around.first);
                root == group.me() || reaches(root)
            }
            _ => group.others().all(reaches),
        })
    }

    /// All memory can be reached.
    fn begin(&mut self, group: &mut Group, around: Surroundings<'_>, spare: &mut Spare) -> Look {
        match self.part.kind {
            CollectiveKind::Broadcast { .. } if self.beyond.is_some() => {
                leader::broadcast(self, group, around)
            }
            CollectiveKind::Broadcast { root } => broadcast::begin(self, root, group, around),
            _ => reduce::begin(self, group, around, spare),
        }
    }
}

impl Machine for Phased {
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
                Phase::Judged => match reachability::verdict(group, around) {
                    None => Look::Waits,
                    Some(false) => self.unreachable_memory(group),
                    Some(true) => self.begin(group, around, spare),
                },
                Phase::Folded => reduce::copy(self, group, around),
                Phase::AtNic => leader::wait_for_nic(self, group, around),
                Phase::Told => leader::wait_for_leader(self, group, around),
                Phase::Read if self.beyond.is_some() => leader::all_have_read(self, group),
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
