//! What this rank has posted on a communicator: collectives take place in this order, one at a time.

use super::exchange::Exchanging;
use super::group::{Awaited, Group};
use super::led::{ForWhom, Led, Number};
use super::machine::{Collective, Ended, Phase};
use super::short::Short;
use super::{Spare, Surroundings};
use crate::plan::Part;
use crate::roads::Outcome;
use crate::roads::smartmap::requests::Id;
use std::collections::VecDeque;

/// The collectives of a communicator that are not over.
#[derive(Debug)]
pub(super) struct Queue {
    pub(super) group: Group,
    posted: VecDeque<(Id, Posted)>,
    /// The news of this rank when the first of them, a long one, listened.
    pub(super) listened: Option<u64>,
}

/// A collective.
#[derive(Debug)]
pub(super) enum Posted {
    /// All members have one result: what the NICs do as well. It is found in the records.
    Short(Short),
    /// The same, in memory, or with other nodes.
    Part(Collective),
    /// Each gives something else to each.
    Exchange(Exchanging),
}

/// A collective under way, as its queue sees it.
pub(super) trait Machine: Into<Posted> {
    /// Goes on as far as it can; says what it came to when it is over.
    fn advance(
        &mut self,
        group: &mut Group,
        around: Surroundings<'_>,
        spare: &mut Spare,
    ) -> Option<Ended>;

    /// Whether that takes long, so that it is not done under the endpoint's lock.
    fn is_long(&self) -> bool;
}

impl From<Short> for Posted {
    fn from(short: Short) -> Self {
        Self::Short(short)
    }
}

impl From<Collective> for Posted {
    fn from(part: Collective) -> Self {
        Self::Part(part)
    }
}

impl From<Exchanging> for Posted {
    fn from(exchange: Exchanging) -> Self {
        Self::Exchange(exchange)
    }
}

impl Posted {
    /// What there is beyond this node.
    fn led(&mut self) -> Option<&mut Led> {
        match self {
            Self::Part(part) => part.led.as_deref_mut(),
            Self::Short(_) | Self::Exchange(_) => None,
        }
    }

    fn phase(&self) -> Phase {
        match self {
            Self::Short(short) => short.phase(),
            Self::Part(part) => part.phase(),
            Self::Exchange(exchange) => exchange.phase(),
        }
    }

    fn is_long(&self) -> bool {
        match self {
            Self::Short(short) => short.is_long(),
            Self::Part(part) => part.is_long(),
            Self::Exchange(exchange) => exchange.is_long(),
        }
    }

    fn advance(
        &mut self,
        group: &mut Group,
        around: Surroundings<'_>,
        spare: &mut Spare,
    ) -> Option<Ended> {
        match self {
            Self::Short(short) => short.advance(group, around, spare),
            Self::Part(part) => part.advance(group, around, spare),
            Self::Exchange(exchange) => exchange.advance(group, around, spare),
        }
    }
}

impl Queue {
    pub(super) fn new(group: Group) -> Self {
        Self {
            group,
            posted: VecDeque::new(),
            listened: None,
        }
    }

    pub(super) fn post(&mut self, request: Id, collective: Posted) {
        self.posted.push_back((request, collective));
    }

    /// Goes as far as it can with a collective that has not been posted, nor any before it. What it comes to is
    /// said if it is over; otherwise it is to be posted.
    #[inline]
    pub(super) fn advance_unposted(
        &mut self,
        collective: &mut impl Machine,
        around: Surroundings<'_>,
        spare: &mut Spare,
    ) -> Option<Ended> {
        debug_assert!(self.is_empty(), "collectives take place in order");
        let ended = collective.advance(&mut self.group, around, spare)?;
        Some(self.group.with_objection(ended))
    }

    /// What this rank's NIC is to do for the first of them, once.
    pub(super) fn take_order(&mut self) -> Option<(Number, Part, ForWhom)> {
        self.posted.front_mut()?.1.led()?.take_order()
    }

    /// What became of that.
    pub(super) fn answered(&mut self, outcome: Outcome) {
        self.listened = None;
        let first = self.posted.front_mut();
        let led = first.and_then(|(_, posted)| posted.led());
        led.expect("it waits for its NIC").answered(outcome);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.posted.is_empty()
    }

    /// Whether the first of them takes long.
    pub(super) fn is_long(&self) -> bool {
        let first = self.posted.front();
        first.is_some_and(|(_, collective)| collective.is_long())
    }

    pub(super) fn requests(&self) -> impl Iterator<Item = Id> {
        self.posted.iter().map(|(request, _)| *request)
    }

    /// What the first of them waits for.
    pub(super) fn awaited(&self, first: u32) -> Option<Awaited> {
        match &self.posted.front()?.1 {
            Posted::Short(short) => Some(short.awaited(&self.group)),
            Posted::Part(part) => part.awaited(&self.group, first),
            Posted::Exchange(exchange) => exchange.awaited(&self.group),
        }
    }

    /// Goes as far as it can, up to one that is long, if that is not wanted. A rank that does not look again
    /// by itself `listens`.
    pub(super) fn advance(
        &mut self,
        around: Surroundings<'_>,
        spare: &mut Spare,
        (listens, long): (bool, bool),
        mut done: impl FnMut(Id, Ended),
    ) {
        let group = &mut self.group;
        while let Some((request, collective)) = self.posted.front_mut() {
            if !long && collective.is_long() {
                return;
            }
            let mut ended = collective.advance(group, around, spare);
            // Its NIC rings.
            let may_listen = |collective: &Posted| listens && collective.phase() != Phase::Far;
            while ended.is_none() && may_listen(collective) && group.listen(collective.phase()) {
                // LISTEN: once more. It may be in its next phase after that.
                ended = collective.advance(group, around, spare);
            }
            let Some(ended) = ended else {
                return;
            };
            group.stop_listening();
            done(*request, group.with_objection(ended));
            self.posted.pop_front();
        }
    }
}
