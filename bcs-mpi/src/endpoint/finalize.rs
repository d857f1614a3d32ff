//! The end: a rank leaves when its sends have completed (law 5), and its NIC has taken the rest.
//! The remaining entries of its tables are then known ([`super::leaks`]).

use super::endpoint::Endpoint;
use super::wait_target::WaitTarget;
use super::waiting::Watch;
use crate::transport::Transport;
use bcs_core::request::RequestFailure;
use bcs_core::wait_state::{LeakReport, WaitReason};

/// How a rank has ended.
#[derive(Debug)]
pub struct FinalizeOutcome {
    /// The first failure of eager sends that the sender had not waited for.
    pub lost: RequestFailure,
    /// The leaks of the program, as far as this rank knows.
    pub left: LeakReport,
}

impl Endpoint {
    /// Waits until everything this rank has sent has been taken by its NIC, delivered, and, where
    /// the NIC reads the rank's memory for it, received; and until its NIC has answered its own
    /// requests.
    ///
    /// # Panics
    /// Panics if this library has lost something that it owes.
    pub fn bcs_finalize(&self) -> FinalizeOutcome {
        self.lock().mux.nic.close();
        let (end, owed) =
            self.wait_for(Watch::Rings, WaitTarget::Wait(WaitReason::Sends), |state| {
                if !state.mux.is_over() {
                    return None;
                }
                self.publish_final_state(state);
                let (lost, left) = (state.mux.nic.eager_failure(), state.leak_report());
                Some((FinalizeOutcome { lost, left }, state.internal_leaks()))
            });
        let rank = self.location.rank;
        assert!(
            owed.is_empty(),
            "at its end rank {rank} has left {owed:?}, which is a bug of bcs-mpi"
        );
        end
    }
}
