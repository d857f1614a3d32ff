//! Whether requests are done, and their outcomes.

use super::requests::{LocalRequestId, LocalRequestState};
use super::state::SmartMap;
use crate::transport::RequestOutcome;
use bcs_core::limits::LEAST_SHARED_BYTES;
use bcs_core::request::RequestFailure;
use bcs_core::wait_state::WaitReason;

impl SmartMap {
    /// Updates the state of a request from its transfer slot.
    pub(super) fn look_at_transfer(&mut self, id: LocalRequestId) {
        let Some(LocalRequestState::Sent { data, .. }) = self.requests.state(id) else {
            return;
        };
        let len = data.len() as u64;
        if let Some(code) = self.node.transfer_outcome(self.place, id) {
            let failure = RequestFailure::from_code(code);
            let outcome = RequestOutcome {
                failure,
                len,
                ..RequestOutcome::default()
            };
            self.requests.set(id, LocalRequestState::Done(outcome));
        } else if !self.cancels.is_empty() && self.cancels.contains(&id) {
            self.cancel_sent(id);
        } else if len >= LEAST_SHARED_BYTES as u64 {
            self.help(id);
        }
    }

    /// Returns whether a request is done.
    pub(crate) fn is_done(&mut self, id: LocalRequestId) -> bool {
        self.look_at_transfer(id);
        matches!(self.requests.state(id), Some(LocalRequestState::Done(_)))
    }

    /// Spends a request that is done, and returns its outcome.
    #[inline(always)]
    pub(crate) fn take(&mut self, id: LocalRequestId) -> Option<RequestOutcome> {
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

    /// Frees the buffer into which a message was packed.
    #[cold]
    fn unpacked(&mut self, id: LocalRequestId) {
        let room = self.packed.remove(&id);
        self.rooms.give_back(room);
    }

    /// Spends a request that is done, if it did not fail, and returns the number of bytes.
    pub(crate) fn take_success(&mut self, id: LocalRequestId) -> Option<u64> {
        match self.requests.state(id) {
            Some(LocalRequestState::Done(outcome)) if outcome.failure == RequestFailure::None => {
                self.requests.take(id).map(|outcome| outcome.len)
            }
            _ => None,
        }
    }

    /// Returns what a wait for a request waits for.
    pub(crate) fn wait(&mut self, id: LocalRequestId) -> Option<WaitReason> {
        match self.requests.state(id)? {
            LocalRequestState::Held { to }
            | LocalRequestState::Sent { to, .. }
            | LocalRequestState::Away { to, .. } => Some(WaitReason::Send(*to)),
            LocalRequestState::Posted { peer, .. } | LocalRequestState::Fetching { peer } => {
                Some(WaitReason::Receive(*peer))
            }
            LocalRequestState::Pulling(pulling) => Some(WaitReason::Receive(pulling.peer)),
            LocalRequestState::Collective(_) => Some(WaitReason::Collective(None)),
            LocalRequestState::Opened | LocalRequestState::Done(_) => None,
        }
    }

    /// Returns how many more requests can be opened.
    pub(crate) fn room(&self) -> usize {
        self.requests.room()
    }

    /// Returns how often there was no slot.
    pub(crate) fn refusals(&self) -> u64 {
        self.requests.refusals()
    }

    /// Makes the next request slots look as if they were used this many times before.
    #[cfg(test)]
    pub(crate) fn slots_were_used(&mut self, slots: usize, times: u32) {
        self.requests.were_used(slots, times);
    }

    /// Makes the request table small.
    #[cfg(test)]
    pub(crate) fn limit_requests(&mut self, slots: usize) {
        self.requests.limit(slots);
    }
}
