//! What this rank has posted on a communicator: collectives take place in this order, one at a time.

use super::group::{Awaited, Group};
use super::led::Number;
use super::machine::{Collective, Phase};
use super::{Spare, Surroundings};
use crate::bcs::{Outcome, Part};
use crate::smartmap::requests::Id;
use std::collections::VecDeque;

/// The collectives of a communicator that are not over.
#[derive(Debug)]
pub(super) struct Queue {
    pub(super) group: Group,
    posted: VecDeque<Collective>,
}

impl Queue {
    pub(super) fn new(group: Group) -> Self {
        let posted = VecDeque::new();
        Self { group, posted }
    }

    pub(super) fn post(&mut self, collective: Collective) {
        self.posted.push_back(collective);
    }

    /// What this rank's NIC is to do for the first of them, once.
    pub(super) fn take_order(&mut self) -> Option<(Number, Part, bool)> {
        self.posted.front_mut()?.led.as_mut()?.take_order()
    }

    /// What became of that.
    pub(super) fn answered(&mut self, outcome: Outcome) {
        let first = self.posted.front_mut();
        let led = first.and_then(|first| first.led.as_mut());
        led.expect("it waits for its NIC").answered(outcome);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.posted.is_empty()
    }

    pub(super) fn requests(&self) -> impl Iterator<Item = Id> {
        self.posted.iter().map(Collective::request)
    }

    /// What the first of them waits for.
    pub(super) fn awaited(&self, first: u32) -> Option<Awaited> {
        self.posted.front()?.awaited(&self.group, first)
    }

    /// Goes as far as it can. A rank that does not look again by itself `listens`.
    pub(super) fn advance(
        &mut self,
        around: Surroundings<'_>,
        spare: &mut Spare,
        listens: bool,
        mut done: impl FnMut(Id, Outcome),
    ) {
        let group = &mut self.group;
        while let Some(collective) = self.posted.front_mut() {
            let mut outcome = collective.advance(group, around, spare);
            // Its NIC rings.
            let may_listen = |collective: &Collective| listens && collective.phase() != Phase::Far;
            while outcome.is_none() && may_listen(collective) && group.listen(collective.phase()) {
                // LISTEN: once more. It may be in its next phase after that.
                outcome = collective.advance(group, around, spare);
            }
            let Some(outcome) = outcome else {
                return;
            };
            group.stop_listening();
            done(collective.request(), outcome);
            self.posted.pop_front();
        }
    }
}
