//! The end: a rank leaves when its sends have completed (law 5).

use super::endpoint::Endpoint;
use super::waiting::Watch;
use super::whereabouts::What;
use crate::smartmap::SmartMap;
use bcs_core::request::Failure;
use bcs_core::whereabouts::Wait;
use std::sync::atomic::Ordering;

impl Endpoint {
    /// Waits until everything this rank has sent has been taken by its NIC, delivered, and, where
    /// the NIC reads the rank's memory for it, received. Returns how eager sends went whose sender
    /// had gone on: their first failure.
    pub fn bcs_finalize(&self) -> Failure {
        self.wait_for(Watch::Rings, What::Wait(Wait::Sends), |state| {
            self.reap(state, true);
            if state.sends.untaken() || self.memory.held_back().load(Ordering::Acquire) != 0 {
                return None;
            }
            if !state.near.as_mut().is_none_or(SmartMap::is_quiet) {
                return None;
            }
            let completed = |request| self.memory.completion(request).is_some();
            (!state.requests.sends_outstanding(completed)).then_some(state.lost)
        })
    }
}
