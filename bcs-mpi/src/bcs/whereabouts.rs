//! What this rank says of itself while it is blocked ([`bcs_core::whereabouts`]).

use super::endpoint::{Endpoint, State};
use super::request::{Handle, Request};
use crate::roads::smartmap::SmartMap;
use bcs_core::memory::NicMemory;
use bcs_core::whereabouts::{Entered, Wait, Whereabouts};

/// The rank says where it is while this lives.
#[derive(Debug)]
pub(super) struct Said<'a> {
    memory: &'a NicMemory,
    number: u64,
}

impl Drop for Said<'_> {
    fn drop(&mut self) {
        self.memory.went_on(self.number);
    }
}

/// What a wait is for.
#[derive(Clone, Copy, Debug)]
pub(super) enum What<'a> {
    /// One request.
    Request(Request),
    /// All of these.
    All(&'a [Request]),
    /// Any of these.
    Any(&'a [Request]),
    /// Something that has a name.
    Wait(Wait),
}

impl What<'_> {
    /// Whether only ranks of this node are waited for.
    pub(super) fn is_near(&self) -> bool {
        let near = |request: &Request| matches!(request.0, Handle::Near(_) | Handle::Complete(_));
        match self {
            Self::Request(request) => near(request),
            Self::All(requests) => requests.iter().all(near),
            Self::Any(_) | Self::Wait(_) => false,
        }
    }
}

impl State {
    /// What it means to wait for a request, and what was entered by it.
    fn wait(&mut self, request: Request) -> (Wait, Option<Entered>) {
        match request.0 {
            Handle::Near(id) => {
                let near = self.near.as_mut();
                let found = near.map(|near| (near.wait(id), near.entered_by(id)));
                let (wait, entered) = found.unwrap_or((None, None));
                (wait.unwrap_or(Wait::Any), entered)
            }
            Handle::Complete(_) => (Wait::Any, None),
            Handle::Schedule(id) => (Wait::Collective, self.schedules.entered_by(id)),
            Handle::Nic(id) => self.nic.wait(id),
        }
    }
}

impl Endpoint {
    /// Says where this rank is, before it sleeps.
    pub(super) fn say_where(&self, state: &mut State, what: What<'_>) -> Said<'_> {
        let (wait, first) = match what {
            What::Request(request) => state.wait(request),
            What::All(requests) => requests
                .iter()
                .find(|request| self.is_pending(state, **request))
                .map_or((Wait::Any, None), |&request| state.wait(request)),
            What::Any(_) => (Wait::Any, None),
            What::Wait(wait) => (wait, None),
        };
        let near = state.near.as_mut().map(SmartMap::entered);
        let mut entered: Vec<Entered> = Vec::new();
        for one in first
            .into_iter()
            .chain(state.nic.all_entered())
            .chain(near.into_iter().flatten())
            .chain(state.schedules.entered())
        {
            if entered.len() < Whereabouts::ENTERED && !entered.contains(&one) {
                entered.push(one);
            }
        }
        Said {
            memory: &self.memory,
            number: self.memory.say_where(&Whereabouts { wait, entered }),
        }
    }
}
