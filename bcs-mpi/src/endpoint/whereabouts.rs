//! What this rank says of itself while it is blocked ([`bcs_core::whereabouts`]).

use super::endpoint::Endpoint;
use super::request::{Kind, Request};
use super::state::State;
use super::what::What;
use crate::roads::smartmap::SmartMap;
use bcs_core::memory::NicMemory;
use bcs_core::whereabouts::{Entered, Wait, Whereabouts};

/// The rank says where it is while this lives.
#[derive(Debug)]
pub(crate) struct Said<'a> {
    memory: &'a NicMemory,
    number: u64,
}

impl Drop for Said<'_> {
    fn drop(&mut self) {
        self.memory.went_on(self.number);
    }
}

impl State {
    /// What it means to wait for a request, and what was entered by it.
    fn wait(&mut self, request: Request) -> (Wait, Option<Entered>) {
        match request.0 {
            Kind::Road(handle) => self.roads.wait(handle),
            Kind::Schedule(id) => (Wait::Collective, self.schedules.entered_by(id)),
        }
    }
}

impl Endpoint {
    /// Says where this rank is, before it sleeps.
    pub(crate) fn say_where(&self, state: &mut State, what: What<'_>) -> Said<'_> {
        let (wait, first) = match what {
            What::Request(request) => state.wait(request),
            What::All(requests, taken) => requests[taken.get()..]
                .iter()
                .find(|request| !state.is_done(**request))
                .map_or((Wait::Any, None), |&request| state.wait(request)),
            What::Any(_) => (Wait::Any, None),
            What::Wait(wait) => (wait, None),
        };
        let near = state.roads.near.as_mut().map(SmartMap::entered);
        let mut entered: Vec<Entered> = Vec::new();
        for one in first
            .into_iter()
            .chain(state.roads.nic.all_entered())
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
