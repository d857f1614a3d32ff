//! What an endpoint remembers, behind its lock.

use super::errands::{Errand, Errands, Waiter};
use super::request::{Kind, Request};
use super::undertaking::Undertakings;
use crate::roads::smartmap::{self, GroupId};
use crate::roads::{Handle, Outcome, Roads};
use crate::schedules::{Contexts, Schedules, Steps};
use bcs_core::request::RequestId;
use std::fmt::Debug;

/// What this rank's NIC does for a group of its node.
#[derive(Debug)]
pub(crate) struct Leading {
    pub(crate) group: GroupId,
    pub(crate) request: RequestId,
}

/// What an endpoint remembers.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) roads: Roads,
    pub(crate) contexts: Contexts,
    pub(crate) schedules: Schedules,
    pub(crate) undertakings: Undertakings,
    /// What the NIC does for them.
    pub(crate) leading: Vec<Leading>,
    /// What is to be done without the lock.
    pub(crate) errands: Errands,
    /// Requests that the program has freed before they were done, and what stays until they are.
    pub(crate) freed: Vec<(Request, Stays)>,
    /// What need not stay any more. It may be a communicator, and is dropped without the lock.
    pub(crate) released: Vec<Stays>,
    /// This rank's part in collectives that it called with wrong arguments, of which nobody is told.
    pub(crate) invalid: Vec<Request>,
}

/// What has to stay as long as a request is under way that the program has freed: its communicator, whose context id must
/// not be another one's meanwhile, or memory.
pub(crate) type Stays = Box<dyn Stay>;

/// Anything can stay.
pub(crate) trait Stay: Debug + Send {}

impl<T: Debug + Send> Stay for T {}

impl State {
    /// Takes what a request came to, if it is done.
    #[inline(always)]
    pub(crate) fn take(&mut self, request: Request) -> Option<Outcome> {
        match request.0 {
            Kind::Road(handle) => self.roads.take(handle),
            Kind::Schedule(id) => self.schedules.take(id),
            Kind::Undertaking(id) => self.undertakings.take(id),
        }
    }

    /// Whether a request is done.
    #[inline]
    pub(crate) fn is_done(&mut self, request: Request) -> bool {
        match request.0 {
            Kind::Road(handle) => self.roads.is_done(handle),
            Kind::Schedule(id) => self.schedules.is_done(id),
            Kind::Undertaking(id) => self.undertakings.is_done(id),
        }
    }

    /// Nobody waits for a request any more: it is taken when it is done.
    pub(crate) fn free(&mut self, request: Request, stays: Stays) {
        if self.freed.len() == self.freed.capacity() {
            self.reap_freed();
        }
        self.freed.push((request, stays));
    }

    /// Takes the freed requests that are done.
    pub(crate) fn reap_freed(&mut self) {
        let mut freed = std::mem::take(&mut self.freed);
        let done = freed.extract_if(.., |(request, _)| self.take(*request).is_some());
        let released: Vec<Stays> = done.map(|(_, stays)| stays).collect();
        self.released.extend(released);
        self.freed = freed;
    }

    /// Takes the parts in collectives with wrong arguments that are done.
    pub(crate) fn reap_invalid(&mut self) {
        let mut invalid = std::mem::take(&mut self.invalid);
        invalid.retain(|&request| self.take(request).is_none());
        self.invalid = invalid;
    }

    /// How many requests those have that are not done.
    pub(crate) fn held_by_invalid(&self) -> usize {
        let held = |request: &Request| match request.0 {
            Kind::Road(Handle::Near(_)) => 1 + self.leading.len(),
            Kind::Road(_) | Kind::Undertaking(_) => 1,
            Kind::Schedule(id) => 1 + self.schedules.held_by(id),
        };
        self.invalid.iter().map(held).sum()
    }

    /// Whether the NIC has a part of what members of this node wait for.
    pub(crate) fn leads(&self) -> bool {
        !self.leading.is_empty()
    }

    /// Whether descriptors wait for room in a ring.
    pub(crate) fn holds(&self) -> bool {
        self.roads.nic.holds()
    }
}

impl State {
    /// How much has been done on either road, with so many completions of the NIC's.
    pub(crate) fn events(&self, completions: u64) -> u64 {
        let near = self.roads.near.as_ref();
        completions.wrapping_add(near.map_or(0, smartmap::SmartMap::events))
    }

    /// Moves all schedules on, if anything has been completed since they were last moved on, so much in all. Returns
    /// whether anything was posted.
    pub(crate) fn advance_schedules(&mut self, completions: u64) -> bool {
        let Self {
            schedules,
            roads,
            errands,
            ..
        } = self;
        let hand_over = |steps| errands.push(Errand::Steps(steps));
        schedules.advance(roads, completions, hand_over)
    }
}

impl State {
    /// The next errand that no other thread waits for.
    pub(crate) fn take_errand(&mut self, waiter: Option<Waiter>) -> Option<Errand> {
        let Self {
            errands,
            roads: Roads { near, nic, .. },
            ..
        } = self;
        let is_mine = |kind| !errands.is_anothers(kind, waiter);
        if let Some(near) = near.as_mut().filter(|near| near.has_errands())
            && let Some(errand) = near.take_errand(|id| is_mine(Kind::Road(Handle::Near(id))))
        {
            return Some(Errand::Near(errand));
        }
        if let Some(unpack) = nic.take_errand(|id| is_mine(Kind::Road(Handle::Nic(id)))) {
            return Some(Errand::Unpack(unpack));
        }
        let mine = |errand: &Errand| errand.belongs_to().is_none_or(is_mine);
        let next = errands.waiting.iter().position(mine)?;
        errands.waiting.remove(next)
    }

    /// Whether there is something to do without the lock.
    #[inline]
    pub(crate) fn has_errands(&self) -> bool {
        let near = self.roads.near.as_ref();
        near.is_some_and(smartmap::SmartMap::has_errands)
            || self.roads.nic.has_errands()
            || !self.errands.waiting.is_empty()
    }

    pub(crate) fn bring_back(&mut self, errand: Errand) {
        self.errands.done += 1;
        self.schedules.look_again();
        self.undertakings.look_again();
        match errand {
            Errand::Near(errand) => {
                let near = self.roads.near.as_mut().expect("it is its errand");
                near.brought(errand);
            }
            Errand::Steps(Steps { schedule, .. }) => self.schedules.stepped(schedule),
            Errand::Unpack(unpack) => self.roads.nic.brought(unpack),
        }
    }
}
