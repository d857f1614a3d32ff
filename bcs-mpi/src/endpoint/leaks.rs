//! The entries in a rank's tables when it ends.
//!
//! There are two kinds. The first is what this library *owes*: payload slots, sends that had not
//! ended, messages held back, requests of its own. Only the library can leave them, so any of them
//! is a bug here. Finalize asserts that there are none, in every job. The second is what the
//! program has *left*: requests that it never waited for, messages that it never received. MPI
//! calls most of that an error, and much of it is common. It does not end a job whose work is done.
//! The rank reports it to `bcs run`, and tests check it.

use super::endpoint::Endpoint;
use super::request::Request;
use super::state::{EndpointState, KeepAlive};
use bcs_core::wait_state::{self, EnteredCollective, Leak};
use std::collections::HashSet;
use std::fmt;
use std::sync::atomic::Ordering;

/// The numbers of entries that a program has left in its rank's tables.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LeakCounts {
    /// Requests that the program has not waited for, and the requests that are parts of them.
    pub requests: usize,
    /// Messages that have come and were not received.
    pub messages: u64,
}

impl fmt::Display for LeakCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { requests, messages } = self;
        write!(
            f,
            "{requests} requests that nobody waited for, {messages} messages that nobody received"
        )
    }
}

impl Endpoint {
    /// Returns what the program has left so far, as far as this rank knows.
    #[must_use]
    pub fn bcs_leak_counts(&self) -> LeakCounts {
        let mut state = self.lock();
        state.reap_invalid();
        let of_library = state.held_by_invalid();
        let near = state.mux.local.as_ref();
        let (near_requests, near_messages) = near.map_or((0, 0), |near| near.leak_counts());
        let messages = self.memory.unexpected().load(Ordering::Acquire) + near_messages;
        LeakCounts {
            requests: (state.mux.nic.in_use()
                + state.schedules.left()
                + state.undertakings.left()
                + near_requests)
                .saturating_sub(of_library),
            // A message that has come may be for a receive that the NIC has not yet taken.
            messages: messages.saturating_sub(of_library as u64),
        }
    }
}

impl Endpoint {
    /// Frees a request that is not done (`MPI_Request_free`). `stays` is kept until it is. It must
    /// not be dropped under the endpoint's lock.
    pub(crate) fn bcs_free(&self, request: Request, stays: impl KeepAlive + 'static) {
        let mut state = self.lock();
        state.free(request, Box::new(stays));
        let released = std::mem::take(&mut state.released);
        drop(state);
        drop(released);
    }

    /// Drops what was kept for freed requests that are done by now.
    pub(crate) fn bcs_reap_freed(&self) {
        let mut state = self.lock();
        state.reap_freed();
        let released = std::mem::take(&mut state.released);
        drop(state);
        drop(released);
    }

    /// Gives up this rank's part in a collective that it has called with a wrong argument, or the
    /// closing of its context. No call will take it.
    pub(crate) fn forget_invalid(&self, request: Request) {
        let mut state = self.lock();
        state.reap_invalid();
        state.invalid.push(request);
    }

    /// Removes the complete ones of `requests`. All of them were given up by
    /// [`forget_invalid`](Self::forget_invalid).
    pub(crate) fn retain_invalid(&self, requests: &mut Vec<Request>) {
        let mut state = self.lock();
        state.reap_invalid();
        requests.retain(|request| state.invalid.contains(request));
    }
}

impl EndpointState {
    /// Returns what the program has left, as a report: without requests that it has freed and that
    /// are complete.
    pub(crate) fn leak_report(&mut self) -> wait_state::LeakReport {
        self.reap_freed();
        self.reap_invalid();
        let mut left = wait_state::LeakReport::default();
        // Keeps the first of several entries for one collective, which may be a part of a schedule.
        let mut under_way: Vec<EnteredCollective> = self.schedules.entered().collect();
        let has_parts = !self.schedules.is_idle();
        let nic = self.mux.nic.add_requests(&mut left, &under_way);
        under_way.extend(nic);
        if let Some(near) = &mut self.mux.local {
            let twins = self.mux.nic.twins();
            under_way.extend(near.add_requests(&mut left, &twins, has_parts));
            near.add_messages(&mut left);
        }
        let mut known = HashSet::new();
        let of_program = |entered: &EnteredCollective| !entered.called.is_invalid();
        for entered in under_way.into_iter().filter(of_program) {
            if known.insert((entered.context, entered.number)) {
                left.add(Leak::Collective(entered), 1);
            }
        }
        let unasked = u32::try_from(self.schedules.unasked()).unwrap_or(u32::MAX);
        left.add(Leak::Request, unasked);
        let is_made = |&context: &u32| {
            let known = self.contexts.get(context);
            context != 0 && known.is_some_and(|known| !known.stays)
        };
        for context in self.contexts.ids().filter(is_made) {
            left.add(Leak::Communicator(context), 1);
        }
        left
    }

    /// Returns what this library owes at the end of its rank, in words. It is empty, unless the
    /// library has a bug.
    pub(crate) fn internal_leaks(&mut self) -> Vec<&'static str> {
        let leads_nobody = |state: &Self| {
            let busy = state.mux.local.as_ref().is_some_and(|near| near.is_busy());
            state.leads() && !busy
        };
        let leads = (leads_nobody(self), "orders of the NIC for nobody");
        let mut owed = self.mux.nic.internal_leaks().to_vec();
        owed.push(leads);
        if let Some(near) = &self.mux.local {
            owed.extend(near.internal_leaks());
        }
        let owed = owed.into_iter().filter(|(owes, _)| *owes);
        owed.map(|(_, what)| what).collect()
    }
}
