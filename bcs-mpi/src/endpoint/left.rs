//! What is in a rank's tables when it ends.
//!
//! Two kinds are told apart. What this library *owes* nobody but it can leave: payload slots, sends that
//! had not ended, messages held back, requests of its own. A program cannot bring that about, so whatever is
//! there is a bug here; finalize asserts that there is nothing, in every job. What the program has *left* is
//! its own affair: requests that it never waited for, messages that it never received. MPI calls most of that
//! an error, and much of it is common; it ends no job whose work is done. Tests look at it.

use super::endpoint::Endpoint;
use super::state::State;
use std::fmt;
use std::sync::atomic::Ordering;

/// What a program has left in its rank's tables.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Left {
    /// Requests that nobody has waited for, those that are parts of them among them.
    pub requests: usize,
    /// Messages that have come and that nobody has received.
    pub messages: u64,
}

impl fmt::Display for Left {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { requests, messages } = self;
        write!(
            f,
            "{requests} requests that nobody waited for, {messages} messages that nobody received"
        )
    }
}

impl Endpoint {
    /// What the program has left so far, as far as this rank knows.
    #[must_use]
    pub fn bcs_left(&self) -> Left {
        let state = self.lock();
        let near = state.roads.near.as_ref();
        let (near_requests, near_messages) = near.map_or((0, 0), |near| near.left());
        Left {
            requests: state.roads.nic.in_use() + state.schedules.left() + near_requests,
            messages: self.memory.unexpected().load(Ordering::Acquire) + near_messages,
        }
    }
}

impl State {
    /// What this library owes at the end of its rank, in words; nothing, unless it has a bug.
    pub(crate) fn owed(&mut self) -> Vec<&'static str> {
        let leads_nobody = |state: &Self| {
            let busy = state.roads.near.as_ref().is_some_and(|near| near.is_busy());
            state.leads() && !busy
        };
        let leads = (leads_nobody(self), "orders of the NIC for nobody");
        let mut owed = self.roads.nic.owed().to_vec();
        owed.push(leads);
        if let Some(near) = &self.roads.near {
            owed.extend(near.owed());
        }
        let owed = owed.into_iter().filter(|(owes, _)| *owes);
        owed.map(|(_, what)| what).collect()
    }
}
