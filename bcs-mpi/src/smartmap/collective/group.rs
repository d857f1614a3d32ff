//! The members of a context that are all on this node, and the collectives that this rank has posted.
#![expect(unsafe_code, reason = "memory of other ranks is named by address")]

use super::machine::Collective;
use super::{Info, Spare, Surroundings};
use crate::bcs::{Outcome, Piece};
use crate::smartmap::requests::Id;
use bcs_core::coll_info::Presence;
use bcs_core::layout::Location;
use bcs_core::memory::NodeMemory;
use std::collections::VecDeque;

/// A communicator, as one of its members knows it.
#[derive(Debug)]
pub(super) struct Group {
    /// In the order of the communicator.
    members: Box<[Member]>,
    /// This rank among them.
    me: usize,
    /// The number of the latest collective that this rank has entered.
    number: u64,
    posted: VecDeque<Collective>,
    /// Members before this one are as far as the phase wants them.
    seen: usize,
    /// This rank has said that it listens, for this number.
    listening: Option<u64>,
    /// The kernel copies from all members to all: they have found that together.
    pub(super) open: bool,
}

/// A member.
#[derive(Debug)]
pub(super) struct Member {
    pub(super) place: usize,
    pub(super) info: Info,
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
        let member = |place| Member {
            place,
            info: node.coll_info(place, context),
        };
        let members: Box<[Member]> = places.into_iter().map(member).collect();
        if !fresh {
            members[me].info.reset();
        }
        Some(Self {
            members,
            me,
            number: 0,
            posted: VecDeque::new(),
            seen: 0,
            listening: None,
            open: false,
        })
    }

    pub(super) fn post(&mut self, collective: Collective) {
        self.posted.push_back(collective);
    }

    pub(super) fn posted(&self) -> usize {
        self.posted.len()
    }

    pub(super) fn requests(&self) -> impl Iterator<Item = Id> {
        self.posted.iter().map(Collective::request)
    }

    pub(super) fn members(&self) -> &[Member] {
        &self.members
    }

    pub(super) fn me(&self) -> usize {
        self.me
    }

    /// All members but this one, from the next one on: not all read the memory of the same one first.
    pub(super) fn others(&self) -> impl Iterator<Item = usize> + use<> {
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

    /// Whether all members have entered the collective that this rank is in.
    pub(super) fn all_are_there(&mut self, first: u32) -> bool {
        while let Some(member) = self.members.get(self.seen) {
            match member.info.presence(self.number) {
                Presence::There => {}
                Presence::Awaited => return false,
                Presence::Rubbish => panic!(
                    "rank {} is in no collective that there is: its memory was overwritten",
                    first as usize + member.place
                ),
            }
            self.seen += 1;
        }
        true
    }

    /// Whether all the others have come to this step.
    pub(super) fn have_all(&mut self, step: u8) -> bool {
        let number = self.number;
        self.all(|info| info.step(number) >= step)
    }

    /// Whether all have, this one among them, but the root, which waits for it.
    pub(super) fn have_all_but(&self, root: usize, step: u8) -> bool {
        let others = (0..)
            .zip(&self.members)
            .filter(|(member, _)| *member != root);
        let mut steps = others.map(|(_, member)| member.info.step(self.number));
        steps.all(|found: u8| found >= step)
    }

    /// Whether any member is at just this step.
    pub(super) fn has_any(&self, step: u8) -> bool {
        let mut steps = self
            .members
            .iter()
            .map(|member| member.info.step(self.number));
        steps.any(|found| found == step)
    }

    /// What the others have said before does not count in the phase that begins.
    pub(super) fn look_anew(&mut self) {
        self.seen = 0;
    }

    /// Copies from the memory of a member. Returns whether that was there.
    pub(super) fn fetch(
        &self,
        around: Surroundings<'_>,
        member: usize,
        from: u64,
        into: &Piece,
    ) -> bool {
        let place = self.members[member].place;
        let location = Location::at(from);
        // SAFETY: whoever posted the collective promised that; or it is memory of this end.
        let fetched = unsafe {
            around
                .road
                .fetch(around.node, place, location, into, into.len)
        };
        fetched.is_ok()
    }

    /// A phase is over: who does not look by itself is told, or only this one member.
    pub(super) fn tell(&self, around: Surroundings<'_>, only: Option<usize>) {
        for (index, member) in self.members.iter().enumerate() {
            let meant = only.is_none_or(|only| only == index) && index != self.me;
            if meant && member.info.listens(self.number) {
                around.node.tell(member.place);
                around.page.wake(around.node.bell(member.place));
            }
        }
    }

    /// Goes on with what was posted, in order.
    pub(super) fn advance(
        &mut self,
        around: Surroundings<'_>,
        spare: &mut Spare,
        listens: bool,
        mut done: impl FnMut(Id, Outcome),
    ) {
        while let Some(mut collective) = self.posted.pop_front() {
            let mut outcome = collective.advance(self, around, spare);
            while outcome.is_none() && listens && self.listening != Some(self.number) {
                self.listening = Some(self.number);
                self.own().listen(self.number);
                // LISTEN: once more. It may be in its next part after that.
                outcome = collective.advance(self, around, spare);
            }
            let Some(outcome) = outcome else {
                self.posted.push_front(collective);
                return;
            };
            if self.listening.take().is_some() {
                self.own().stop_listening();
            }
            done(collective.request(), outcome);
        }
    }
}
