//! The end: a rank leaves when its sends have completed (law 5), and what it still had for its NIC has been
//! taken. What is in its tables then is known ([`super::left`]).

use super::endpoint::Endpoint;
use super::waiting::Watch;
use super::what::What;
use crate::roads::Road;
use bcs_core::request::Failure;
use bcs_core::whereabouts::{Left, Wait};

/// How a rank has ended.
#[derive(Debug)]
pub struct End {
    /// How eager sends went whose sender had gone on: their first failure.
    pub lost: Failure,
    /// What the program has left, as far as this rank knows.
    pub left: Left,
}

impl Endpoint {
    /// Waits until everything this rank has sent has been taken by its NIC, delivered, and, where
    /// the NIC reads the rank's memory for it, received; and until what it asked of its NIC for itself
    /// was answered.
    ///
    /// # Panics
    /// When this library has lost something that it owes.
    pub fn bcs_finalize(&self) -> End {
        self.lock().roads.nic.close();
        let (end, owed) = self.wait_for(Watch::Rings, What::Wait(Wait::Sends), |state| {
            if !state.roads.is_over() {
                return None;
            }
            self.say_last(state);
            let (lost, left) = (state.roads.nic.lost(), state.left());
            Some((End { lost, left }, state.owed()))
        });
        let rank = self.place.rank;
        assert!(
            owed.is_empty(),
            "at its end rank {rank} has left {owed:?}, which is a bug of bcs-mpi"
        );
        end
    }
}
