//! Whether requests are done, and what they came to.

use super::requests::{Id, State};
use super::state::SmartMap;
use crate::roads::Outcome;
use bcs_core::limits::LEAST_SHARED_BYTES;
use bcs_core::request::Failure;
use bcs_core::whereabouts::Wait;

impl SmartMap {
    /// What waits for a request: nothing, if it is done.
    pub(super) fn look_at_transfer(&mut self, id: Id) {
        let Some(State::Sent { data, .. }) = self.requests.state(id) else {
            return;
        };
        let len = data.len() as u64;
        if let Some(code) = self.node.transfer_outcome(self.place, id) {
            let failure = Failure::from_code(code);
            let outcome = Outcome {
                failure,
                len,
                ..Outcome::default()
            };
            self.requests.set(id, State::Done(outcome));
        } else if !self.cancels.is_empty() && self.cancels.contains(&id) {
            self.cancel_sent(id);
        } else if len >= LEAST_SHARED_BYTES as u64 {
            self.help(id);
        }
    }

    /// Whether a request is done.
    pub(crate) fn is_done(&mut self, id: Id) -> bool {
        self.look_at_transfer(id);
        matches!(self.requests.state(id), Some(State::Done(_)))
    }

    /// Spends a request that is done, and says what it came to.
    #[inline(always)]
    pub(crate) fn take(&mut self, id: Id) -> Option<Outcome> {
        self.look_at_transfer(id);
        let outcome = self.requests.take(id)?;
        if !self.packed.is_empty() {
            self.unpacked(id);
        }
        if !self.cancels.is_empty() {
            self.cancels.retain(|it| *it != id);
        }
        Some(outcome)
    }

    /// What a message was packed into is free again.
    #[cold]
    fn unpacked(&mut self, id: Id) {
        let room = self.packed.remove(&id);
        self.rooms.give_back(room);
    }

    /// Spends a request that is done, if it did not fail, and says how many bytes it came to.
    pub(crate) fn take_success(&mut self, id: Id) -> Option<u64> {
        match self.requests.state(id) {
            Some(State::Done(outcome)) if outcome.failure == Failure::None => {
                self.requests.take(id).map(|outcome| outcome.len)
            }
            _ => None,
        }
    }

    /// What it means to wait for a request.
    pub(crate) fn wait(&mut self, id: Id) -> Option<Wait> {
        match self.requests.state(id)? {
            State::Held { to } | State::Sent { to, .. } | State::Away { to, .. } => {
                Some(Wait::Send(*to))
            }
            State::Posted { peer, .. } | State::Fetching { peer } => Some(Wait::Receive(*peer)),
            State::Pulling(pulling) => Some(Wait::Receive(pulling.peer)),
            State::Collective(_) => Some(Wait::Collective(None)),
            State::Opened | State::Done(_) => None,
        }
    }

    /// How many more requests can be opened.
    pub(crate) fn room(&self) -> usize {
        self.requests.room()
    }

    /// How often there was no slot.
    pub(crate) fn refusals(&self) -> u64 {
        self.requests.refusals()
    }

    /// The slots of requests that are opened next, so many, were used as often before.
    #[cfg(test)]
    pub(crate) fn slots_were_used(&mut self, slots: usize, times: u32) {
        self.requests.were_used(slots, times);
    }

    /// Makes the table of requests a small one.
    #[cfg(test)]
    pub(crate) fn limit_requests(&mut self, slots: usize) {
        self.requests.limit(slots);
    }
}
