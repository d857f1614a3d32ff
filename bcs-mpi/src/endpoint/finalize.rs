//! The end: a rank leaves when its sends have completed (law 5), and what it still had for its NIC has been
//! taken. What is in its tables then is known ([`super::left`]).

use super::endpoint::Endpoint;
use super::waiting::Watch;
use super::what::What;
use crate::roads::Road;
use bcs_core::request::Failure;
use bcs_core::whereabouts::Wait;

impl Endpoint {
    /// Waits until everything this rank has sent has been taken by its NIC, delivered, and, where
    /// the NIC reads the rank's memory for it, received; and until what it asked of its NIC for itself
    /// was answered. Returns how eager sends went whose sender had gone on: their first failure.
    ///
    /// # Panics
    /// When this library has lost something that it owes.
    pub fn bcs_finalize(&self) -> Failure {
        self.lock().roads.nic.close();
        let (lost, owed) = self.wait_for(Watch::Rings, What::Wait(Wait::Sends), |state| {
            if !state.roads.is_over() {
                return None;
            }
            self.say_last(state);
            Some((state.roads.nic.lost(), state.owed()))
        });
        let rank = self.place.rank;
        assert!(
            owed.is_empty(),
            "at its end rank {rank} has left {owed:?}, which is a bug of bcs-mpi"
        );
        lost
    }
}
