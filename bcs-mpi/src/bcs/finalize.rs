//! The end: a rank leaves when its sends have completed (law 5), and what it still had for its NIC has been
//! taken. What is in its tables then is known ([`super::left`]).

use super::endpoint::{Endpoint, State};
use super::waiting::Watch;
use super::whereabouts::What;
use crate::roads::smartmap::SmartMap;
use bcs_core::request::Failure;
use bcs_core::whereabouts::Wait;
use std::sync::atomic::Ordering;

impl Endpoint {
    /// Waits until everything this rank has sent has been taken by its NIC, delivered, and, where
    /// the NIC reads the rank's memory for it, received; and until what it asked of its NIC for itself
    /// was answered. Returns how eager sends went whose sender had gone on: their first failure.
    ///
    /// # Panics
    /// When this library has lost something that it owes.
    pub fn bcs_finalize(&self) -> Failure {
        {
            let mut state = self.lock();
            state.forget_probes();
            self.reap(&mut state, true);
            if state.requests.has_detached() {
                self.ask(); // What only withdraws a receive or a question asks for no slice.
            }
        }
        let (lost, owed) = self.wait_for(Watch::Rings, What::Wait(Wait::Sends), |state| {
            self.is_over(state).then(|| (state.lost, state.owed()))
        });
        let rank = self.place.rank;
        assert!(
            owed.is_empty(),
            "at its end rank {rank} has left {owed:?}, which is a bug of bcs-mpi"
        );
        lost
    }

    fn is_over(&self, state: &mut State) -> bool {
        self.reap(state, true);
        if state.sends.untaken() || self.memory.held_back().load(Ordering::Acquire) != 0 {
            return false;
        }
        if !state.near.as_mut().is_none_or(SmartMap::is_quiet) {
            return false;
        }
        let completed = |request| self.memory.completion(request).is_some();
        !state.requests.has_detached() && !state.requests.sends_outstanding(completed)
    }
}
