//! The members of a context that are all on this node, and how far they are.
#![expect(unsafe_code, reason = "memory of other ranks is named by address")]

use super::course::Way;
use super::machine::{Ended, Phase};
use super::{Info, Surroundings, agreement};
use crate::data::{Piece, own_memory};
use bcs_core::layout::Location;
use bcs_core::smartmap::NodeMemory;
use bcs_core::smartmap::coll_info::{self, Presence, Release};
use bcs_core::whereabouts::Objection;
use std::sync::Arc;

/// Of so many members each looks at each; of more, each looks at the tally ([`coll_info`]). That costs an atomic
/// operation, and what the last one does for all.
pub(super) const FEW: usize = 16;

/// A communicator, as one of its members knows it.
#[derive(Debug)]
pub(super) struct Group {
    /// In the order of the communicator.
    members: Arc<[Member]>,
    /// Which member is at each place of the node.
    at_places: Box<[u32]>,
    /// This rank among them.
    me: usize,
    /// The number of the latest collective that this rank has entered.
    number: u64,
    /// Its digest.
    digest: u64,
    /// All members have entered this one.
    together: u64,
    /// Up to this one it is known whether all have called the same.
    compared: u64,
    /// What this rank is to be told of an earlier one.
    objection: Option<Objection>,
    /// This rank waits at this gate, or has waited.
    gate: u64,
    /// Members before this one are as far as the phase wants them.
    seen: usize,
    /// This rank has said that it listens, for this phase of this number.
    listening: Option<(u64, Phase)>,
    /// The kernel copies from all members to all: they have found that together.
    pub(super) open: bool,
    /// The root folds long reductions alone.
    pub(super) serial: bool,
    /// Who has entered is found by the tally.
    pub(super) counted: bool,
    suspect: Option<usize>,
}

/// A member.
#[derive(Debug)]
pub(super) struct Member {
    pub(super) place: usize,
    pub(super) info: Info,
}

/// What a member has to do next before this rank can go on: for a thread that looks at it without the
/// endpoint's lock.
#[derive(Debug)]
pub(crate) struct Awaited {
    members: Arc<[Member]>,
    member: usize,
    number: u64,
    sign: Sign,
}

/// How it shows.
#[derive(Clone, Copy, Debug)]
pub(super) enum Sign {
    /// It has entered what this rank wants it to have entered before it enters its own.
    AtGate,
    /// It has entered.
    There,
    /// All have entered, by the tally in its record.
    Released,
    /// It has judged.
    Verdict,
    /// It has come to a step.
    Step(u8),
}

impl Awaited {
    /// Whether it may have done it. What becomes of it once another thread of this rank has gone on is
    /// not told.
    pub(crate) fn has_come(&self) -> bool {
        let info = &self.members[self.member].info;
        match self.sign {
            Sign::AtGate | Sign::There => info.presence(self.number) != Presence::Awaited,
            Sign::Released => info.presence_of_all(self.number) != Presence::Awaited,
            Sign::Verdict => info.verdict(self.number) != 0,
            Sign::Step(step) => info.step(self.number) >= step,
        }
    }
}

impl Group {
    pub(super) fn open(
        node: &NodeMemory,
        context: u32,
        places: Vec<usize>,
        own: usize,
        fresh: bool,
    ) -> Option<Self> {
        let me = places.iter().position(|&place| place == own)?;
        let mut at_places = vec![u32::MAX; node.ranks()].into_boxed_slice();
        for (member, &place) in (0..).zip(&places) {
            at_places[place] = member;
        }
        let member = |place| Member {
            place,
            info: node.coll_info(place, context),
        };
        let members: Arc<[Member]> = places.into_iter().map(member).collect();
        if !fresh {
            members[me].info.reset();
        }
        Some(Self {
            counted: members.len() > FEW,
            members,
            at_places,
            me,
            number: 0,
            digest: 0,
            together: 0,
            compared: 0,
            objection: None,
            gate: 0,
            seen: 0,
            listening: None,
            open: false,
            serial: false,
            suspect: None,
        })
    }

    pub(super) fn members(&self) -> &[Member] {
        &self.members
    }

    /// The same, to be kept.
    pub(super) fn shared_members(&self) -> Arc<[Member]> {
        self.members.clone()
    }

    pub(super) fn me(&self) -> usize {
        self.me
    }

    /// All members but this one, from the next one on: not all read the memory of the same one first.
    pub(super) fn others(&self) -> impl DoubleEndedIterator<Item = usize> + use<> {
        let (me, size) = (self.me, self.members.len());
        (1..size).map(move |step| (me + step) % size)
    }

    pub(super) fn own(&self) -> &Info {
        &self.members[self.me].info
    }

    /// The number of the collective that this rank is in.
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// Whether this rank may enter its next collective; else others have to come closer ([`coll_info`], gates).
    #[inline]
    pub(super) fn may_enter(&mut self, first: u32) -> bool {
        match coll_info::gate(self.number.wrapping_add(1)) {
            Some(gate) if gate > self.together => self.passes(gate, first),
            _ => true,
        }
    }

    fn passes(&mut self, gate: u64, first: u32) -> bool {
        if self.gate != gate {
            self.gate = gate;
            self.seen = 0;
        }
        let open = self.have_entered(gate);
        if open {
            self.together = gate;
            agreement::compare_at_gate(self, gate, first);
        }
        open
    }

    /// This rank will soon enter the collective that is so many after the one that it is in.
    #[inline]
    pub(super) fn prepare(&self, after: u64) {
        self.own().prepare(self.number.wrapping_add(after));
    }

    /// This rank enters the collective that has begun, with what it has called. Returns whether it has to
    /// [release](Self::release) the others: there are many, and it is the last.
    #[inline]
    pub(super) fn enter(&mut self, call: [u64; 2]) -> bool {
        self.digest = self.own().enter(self.number, call, self.digest);
        self.counted && self.tally().sign(self.number, self.members.len())
    }

    /// The record of the first of many members, in which all sign.
    fn tally(&self) -> &Info {
        &self.members[0].info
    }

    /// Whether members are told of what is over by one of them alone, which has signed last.
    pub(super) fn is_counted(&self) -> bool {
        self.counted
    }

    /// All members have entered, and this one is the last: it tells them. `fold` is to put into its record what
    /// all want to have of their contributions, and is asked to if they want the same.
    #[cold]
    pub(super) fn release(&mut self, around: Surroundings<'_>, fold: impl FnOnce(&Self) -> bool) {
        let number = self.number;
        if !(0..self.members.len()).all(|member| self.has_entered(member, number)) {
            // They have signed, and not entered.
            self.suspect = self.suspect.or(Some(self.members[0].place));
            return;
        }
        let own = self.own();
        let same = |member: &Member| member.info.call(number) == own.call(number);
        let folded = self.members.iter().all(same) && fold(self);
        let release = Release {
            agreed: self.all_have_digest(number),
            folded_by: folded.then(|| u16::try_from(self.me).expect("members are few")),
        };
        self.tally().release(number, release);
        Info::published();
        self.tell(around, Phase::Entered, None);
        if !release.agreed {
            self.tell(around, Phase::Told, None);
        }
        if coll_info::is_gate(number) {
            self.tell(around, Phase::Posted, None);
        }
    }

    /// In whose record the result of a collective is that all have entered, if somebody has folded it for all.
    pub(super) fn folded_by(&self) -> Option<&Info> {
        let member = self.tally().released(self.number).folded_by?;
        self.members
            .get(usize::from(member))
            .map(|member| &member.info)
    }

    /// Whether all members have called the same since the last gate before a number that all have entered.
    #[inline]
    pub(super) fn digests_agree(&self, number: u64) -> bool {
        if self.counted {
            return self.tally().released(number).agreed;
        }
        self.all_have_digest(number)
    }

    #[inline]
    fn all_have_digest(&self, number: u64) -> bool {
        let own = self.own().digest(number);
        let mut members = self.members.iter();
        members.all(|member| member.info.digest(number) == own)
    }

    /// All have entered the collective that this rank is in, and are told of it by others than this rank.
    pub(super) fn settle(&mut self) {
        self.together = self.number;
        self.compared = self.number;
    }

    /// Up to which number it is known whether all have called the same.
    pub(super) fn compared(&self) -> u64 {
        self.compared
    }

    /// This rank compares what was called up to this number, or is told of it. Up to which it knew before is
    /// given back.
    pub(super) fn compare_to(&mut self, number: u64) -> u64 {
        std::mem::replace(&mut self.compared, number)
    }

    /// This rank is to be told of an earlier collective, if it has not been told of another one.
    pub(super) fn object(&mut self, against: Objection) {
        self.objection = self.objection.or(Some(against));
    }

    /// What a collective has come to, with what this rank is to be told of an earlier one.
    #[inline]
    pub(super) fn with_objection(&mut self, ended: Ended) -> Ended {
        if self.objection.is_none() {
            return ended;
        }
        ended?;
        let against = self.objection.take();
        against.map_or(Ok(()), |against| agreement::earlier_mismatch(&against))
    }

    /// A member does not wait for this rank: if it has come before it, it is likely to be ahead.
    #[inline]
    pub(super) fn expect(&self, member: usize) {
        let info = &self.members[member].info;
        if info.presence(self.number) == Presence::There {
            info.expect(self.number);
        }
    }

    /// The next collective, or the next part of one, begins.
    pub(super) fn next_number(&mut self) -> u64 {
        self.number = self.number.wrapping_add(1);
        self.seen = 0;
        self.number
    }

    /// This rank has said how far it is: from here on, the others are looked at anew.
    pub(super) fn published(&mut self) {
        self.seen = 0;
        Info::published();
    }

    /// Whether all the others are so far. Those that were are not looked at again.
    pub(super) fn all(&mut self, is: impl Fn(&Info) -> bool) -> bool {
        while let Some(member) = self.members.get(self.seen) {
            if self.seen != self.me && !is(&member.info) {
                return false;
            }
            self.seen += 1;
        }
        true
    }

    /// The same, with their places among the members.
    pub(super) fn all_members(&mut self, is: impl Fn(usize, &Info) -> bool) -> bool {
        while let Some(member) = self.members.get(self.seen) {
            if self.seen != self.me && !is(self.seen, &member.info) {
                return false;
            }
            self.seen += 1;
        }
        true
    }

    /// Which member a root is, whose world rank is so many after that of place 0. One that is none is
    /// found before anything is posted.
    pub(super) fn place_of(&self, root: u32, first: u32) -> usize {
        self.find(root, first).expect("a root is a member")
    }

    /// Which member a world rank is.
    pub(super) fn find(&self, rank: u32, first: u32) -> Option<usize> {
        let place = rank.wrapping_sub(first) as usize;
        let found = self.at_places.get(place).copied();
        let found = found.filter(|&member| (member as usize) < self.members.len());
        found.map(|member| member as usize)
    }

    /// The world rank of a member.
    pub(super) fn rank_of(&self, member: usize, first: u32) -> u32 {
        first + u32::try_from(self.members[member].place).expect("places are few")
    }

    /// Whether all members have entered the collective that this rank is in.
    #[inline]
    pub(super) fn all_are_there(&mut self) -> bool {
        let all = self.have_entered(self.number);
        if all {
            self.together = self.number;
        }
        all
    }

    #[inline]
    fn have_entered(&mut self, number: u64) -> bool {
        if self.counted {
            let tally = self.tally().presence_of_all(number);
            return self.is_present(0, tally);
        }
        while self.seen < self.members.len() {
            if !self.has_entered(self.seen, number) {
                return false;
            }
            self.seen += 1;
        }
        true
    }

    /// Whether a member has entered the collective that this rank is in.
    #[inline]
    pub(super) fn is_there(&mut self, member: usize) -> bool {
        self.has_entered(member, self.number)
    }

    #[inline]
    fn has_entered(&mut self, member: usize, number: u64) -> bool {
        let presence = self.members[member].info.presence(number);
        self.is_present(member, presence)
    }

    #[inline]
    fn is_present(&mut self, member: usize, presence: Presence) -> bool {
        match presence {
            Presence::There => true,
            Presence::Awaited => false,
            Presence::Rubbish => {
                self.suspect = Some(self.members[member].place);
                false
            }
        }
    }

    /// The record of a member says what no member would.
    pub(super) fn suspects(&mut self, member: usize) {
        self.suspect = Some(self.members[member].place);
    }

    /// The place of a member whose record says what no member would.
    pub(super) fn suspect(&self) -> Option<usize> {
        self.suspect
    }

    /// Whether all the others have come to this step.
    pub(super) fn have_all(&mut self, step: u8) -> bool {
        let number = self.number;
        self.all(|info| info.step(number) >= step)
    }

    /// Whether all have, this one among them, but the root, which waits for it.
    pub(super) fn have_all_but(&self, root: usize, step: u8) -> bool {
        let others = (0..)
            .zip(&*self.members)
            .filter(|(member, _)| *member != root);
        let mut steps = others.map(|(_, member)| member.info.step(self.number));
        steps.all(|found: u8| found >= step)
    }

    /// The first of the other members that is at just this step.
    pub(super) fn any_at(&self, step: u8) -> Option<usize> {
        let mut others = self.members.iter().enumerate();
        let is_at = |member: &Member| member.info.step(self.number) == step;
        let found = others.find(|&(place, member)| place != self.me && is_at(member));
        found.map(|(place, _)| place)
    }

    /// What the others have said before does not count in the phase that begins.
    pub(super) fn look_anew(&mut self) {
        self.seen = 0;
    }

    /// What this rank waits for: of this member, or of the first that was not so far.
    pub(super) fn awaited(&self, member: Option<usize>, sign: Sign) -> Awaited {
        let number = match sign {
            Sign::AtGate => self.gate,
            _ => self.number,
        };
        let (member, sign) = match (member, sign) {
            (None, Sign::AtGate | Sign::There) if self.counted => (0, Sign::Released),
            (member, sign) => (member.unwrap_or(self.seen), sign),
        };
        Awaited {
            members: self.members.clone(),
            member: member.min(self.members.len() - 1),
            number,
            sign,
        }
    }

    /// Copies from the memory of a member.
    ///
    /// # Errors
    /// The member whose memory is not there: that one, or this rank, whose own is not.
    pub(super) fn fetch(
        &self,
        around: Surroundings<'_>,
        member: usize,
        from: u64,
        into: &Piece,
    ) -> Result<(), usize> {
        let place = self.members[member].place;
        let location = Location::at(from);
        // SAFETY: whoever posted the collective promised that; or it is memory of this end.
        let fetched = unsafe {
            around
                .road
                .fetch(around.node, place, location, into, 0..into.len)
        };
        fetched.map_err(|_| match own_memory::takes(into, into.len) {
            true => member,
            false => self.me,
        })
    }

    /// The same, of long data.
    pub(super) fn fetch_along(
        &self,
        around: Surroundings<'_>,
        way: Way,
        (member, from): (usize, u64),
        into: &Piece,
    ) -> Result<(), usize> {
        if into.layout.is_some() {
            return self.fetch(around, member, from, into);
        }
        way.stretches(into.len).try_for_each(|stretch| {
            let start = stretch.start as u64;
            let into = Piece::new(into.address + start, stretch.len());
            self.fetch(around, member, from.wrapping_add(start), &into)
        })
    }

    /// Whether memory of this rank's can be read by the others where it is.
    pub(super) fn is_in_slot(&self, around: Surroundings<'_>, address: u64, len: usize) -> bool {
        let place = self.members[self.me].place;
        around.road.resolve(place, address, len).is_some()
    }

    /// A phase is over: who does not look by itself is told, or only this one member.
    pub(super) fn tell(&self, around: Surroundings<'_>, phase: Phase, only: Option<usize>) {
        let meant = only.map_or(0..self.members.len(), |only| only..only + 1);
        for (index, member) in meant.clone().zip(&self.members[meant]) {
            if index != self.me && member.info.take_listener(self.number, phase.code()) {
                around.node.tell(member.place);
                around.page.wake(around.node.bell(member.place));
            }
        }
    }

    /// This rank has seen that a phase is over for which it has waited for all.
    pub(super) fn tell_all(&self, around: Surroundings<'_>, phase: Phase) {
        if self.counted && phase == Phase::Entered {
            return; // The last to enter has told them.
        }
        if self.listening != Some((self.number, phase)) {
            Info::published();
        }
        self.tell(around, phase, None);
        if phase == Phase::Entered && coll_info::is_gate(self.number) {
            self.tell(around, Phase::Posted, None);
        }
    }

    /// This rank has entered, and does not wait for all. Who listens is told if all have; or, if this rank is
    /// the `giver` that others wait for alone, in any case: then who waits for all is told too early and
    /// listens again.
    pub(super) fn tell_of_entering(&self, around: Surroundings<'_>, giver: bool) {
        if self.counted {
            // That all have entered is told by the last.
            if giver {
                Info::published();
                self.tell(around, Phase::Entered, None);
            }
            return;
        }
        Info::published();
        let number = self.number;
        let waits = |phase: Phase| {
            let mut members = self.members.iter();
            members.any(|member| member.info.listens_for(number, phase.code()))
        };
        let all_have_come = || {
            let mut members = self.members.iter();
            members.all(|member| member.info.presence(number) == Presence::There)
        };
        if waits(Phase::Entered) && (giver || all_have_come()) {
            self.tell(around, Phase::Entered, None);
        }
        if coll_info::is_gate(number) && waits(Phase::Posted) && all_have_come() {
            self.tell(around, Phase::Posted, None);
        }
    }

    /// This rank will be told when this phase is over. Returns whether it has to look once more.
    pub(super) fn listen(&mut self, phase: Phase) -> bool {
        let number = match phase {
            Phase::Posted => self.gate,
            _ => self.number,
        };
        let now = Some((number, phase));
        let begins = self.listening != now || !self.own().listens();
        if begins {
            self.listening = now;
            self.own().listen(number, phase.code());
        }
        begins
    }

    /// The collective is over.
    pub(super) fn stop_listening(&mut self) {
        if self.listening.take().is_some() {
            self.own().stop_listening();
        }
    }
}
