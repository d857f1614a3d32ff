//! The wait state that a blocked rank reports of itself ([`bcs_core::wait_state`]).

use super::endpoint::Endpoint;
use super::request::{OperationId, Request};
use super::state::EndpointState;
use super::wait_target::WaitTarget;
use crate::call_site;
use crate::transport::TransportHandle;
use crate::transport::smartmap::SmartMap;
use bcs_core::memory::NicMemory;
use bcs_core::wait_state::{EnteredCollective, MessagePeer, WaitReason, WaitState};

/// A wait for very many requests checks only this many. The rest counts as not done.
const LOOKED_AT: usize = 256;

/// Publishes the rank's wait state as long as it lives.
#[derive(Debug)]
pub(crate) struct WaitStateGuard<'a> {
    memory: &'a NicMemory,
    number: u64,
    /// The number of messages of this node that had no receive by then.
    kept: u64,
}

impl WaitStateGuard<'_> {
    /// Returns whether unexpected messages have come since then.
    pub(crate) fn is_old(&self, state: &EndpointState) -> bool {
        self.kept != state.kept()
    }
}

impl Drop for WaitStateGuard<'_> {
    fn drop(&mut self) {
        self.memory.clear_wait_state(self.number);
    }
}

/// Adds what a wait is for, with the collective that the rank entered by it.
fn add(told: &mut WaitState, wait: WaitReason, entered: Option<EnteredCollective>) {
    if told.waits.len() >= WaitState::WAITS {
        told.more += 1;
        return;
    }
    let wait = match (wait, entered) {
        (WaitReason::Collective(_), Some(entered)) => WaitReason::Collective(enter(told, entered)),
        (wait, _) => wait,
    };
    told.waits.push(wait);
}

/// Adds a collective, unless it is there or does not fit. Returns its index.
fn enter(told: &mut WaitState, one: EnteredCollective) -> Option<u8> {
    // Compares word by word: valgrind takes absent parts of the call for parts that were not
    // written.
    let words = |it: &EnteredCollective| (it.context, it.group, it.number, it.called.pack());
    let known = told.entered.iter();
    let known = known.map(words).position(|known| known == words(&one));
    let at = known.unwrap_or(told.entered.len());
    if at >= WaitState::ENTERED {
        return None;
    }
    if known.is_none() {
        told.entered.push(one);
    }
    u8::try_from(at).ok()
}

impl EndpointState {
    /// Adds what a wait for a request waits for.
    fn add_request(&mut self, told: &mut WaitState, request: Request) {
        match request.0 {
            OperationId::Transport(handle) => {
                let (wait, entered) = self.mux.wait(handle);
                add(told, wait, entered);
            }
            OperationId::Schedule(id) => match self.schedules.entered_by(id) {
                Some(entered) => add(told, WaitReason::Collective(None), Some(entered)),
                None => self.add_handles(told, &self.schedules.awaited_by(id)),
            },
            OperationId::AsyncOperation(id) => match &self.undertakings.awaited_by(id)[..] {
                [] => add(told, WaitReason::Request, None),
                handles => self.add_handles(told, handles),
            },
        }
    }

    fn add_handles(&mut self, told: &mut WaitState, handles: &[TransportHandle]) {
        for &handle in handles {
            let (wait, entered) = self.mux.wait(handle);
            add(told, wait, entered);
        }
    }

    /// Adds those of several requests that are not done.
    fn add_requests(&mut self, told: &mut WaitState, requests: &[Request]) {
        for &request in requests.iter().take(LOOKED_AT) {
            if !self.is_done(request) {
                self.add_request(told, request);
            }
        }
        let rest = requests.len().saturating_sub(LOOKED_AT);
        told.more += u32::try_from(rest).unwrap_or(u32::MAX);
    }

    fn kept(&self) -> u64 {
        self.mux.local.as_ref().map_or(0, SmartMap::kept_so_far)
    }

    /// Returns what this rank waits for.
    fn awaits(&mut self, what: WaitTarget<'_>) -> WaitState {
        let mut told = WaitState::default();
        match what {
            WaitTarget::Request(request) => self.add_request(&mut told, request),
            WaitTarget::All(requests, taken) => {
                self.add_requests(&mut told, &requests[taken.get()..])
            }
            WaitTarget::Any(requests) => {
                told.for_any = true;
                self.add_requests(&mut told, requests);
            }
            WaitTarget::Wait(wait) => {
                add(&mut told, wait, None);
                if wait == WaitReason::Sends {
                    self.add_sends(&mut told);
                }
            }
        }
        told
    }

    /// Adds the sends that are not over.
    fn add_sends(&mut self, told: &mut WaitState) {
        let near = self.mux.local.as_ref();
        let near = near.into_iter().flat_map(SmartMap::sending_to);
        for to in self.mux.nic.sending_to().chain(near) {
            add(told, WaitReason::Send(to), None);
        }
    }

    /// Adds the other collectives that this rank has entered, the oldest first.
    fn add_entered(&mut self, told: &mut WaitState) {
        let near = self.mux.local.as_mut().map(SmartMap::entered);
        let nic = self.mux.nic.all_entered();
        for one in nic
            .chain(near.into_iter().flatten())
            .chain(self.schedules.entered())
        {
            let _if_it_fits = enter(told, one);
        }
    }

    /// Adds messages from within the node that have come instead of the first awaited one.
    fn add_unmatched(&self, told: &mut WaitState) {
        let Some(near) = self.mux.local.as_ref().filter(|near| near.keeps_any()) else {
            return;
        };
        let instead = told
            .near_misses()
            .filter_map(|pattern| near.unmatched(pattern));
        let mut unmatched: Vec<MessagePeer> = Vec::new();
        for peer in instead {
            if unmatched.len() < WaitState::UNMATCHED && !unmatched.contains(&peer) {
                unmatched.push(peer);
            }
        }
        told.unmatched = unmatched;
    }

    /// Adds the communicators in which this rank waits, and others that it knows.
    fn add_communicators(&self, told: &mut WaitState) {
        let waits = told.waits.iter().filter_map(|wait| match wait {
            WaitReason::Receive(peer)
            | WaitReason::Probe(peer)
            | WaitReason::Send(peer)
            | WaitReason::WindowLock(peer)
            | WaitReason::WindowPost(peer)
            | WaitReason::WindowComplete(peer) => Some(peer.context),
            _ => None,
        });
        let entered = told.entered.iter().map(|entered| entered.context);
        let first: Vec<u32> = entered.chain(waits).collect();
        for context in first.into_iter().chain(self.contexts.ids()) {
            if told.communicators.len() >= WaitState::COMMUNICATORS {
                return;
            }
            if told.communicators.iter().any(|it| it.context == context) {
                continue;
            }
            let communicator = self.contexts.get(context);
            told.communicators
                .extend(communicator.map(|it| it.told(context)));
            let title = communicator.and_then(|it| it.title.as_ref());
            if let Some(title) = title.filter(|_| told.labels.len() < WaitState::TITLES) {
                told.labels.push(title.clone());
            }
        }
    }
}

impl Endpoint {
    /// Publishes how far this rank was in its communicators when it left, because others may wait
    /// for it.
    pub(crate) fn publish_final_state(&self, state: &EndpointState) {
        let mut told = WaitState::default();
        state.add_communicators(&mut told);
        let _stays = self.memory.publish_wait_state(&told);
    }

    /// Returns the wait state of a wait for this.
    #[must_use]
    pub fn bcs_wait_state(&self, request: Request) -> WaitState {
        let mut state = self.lock();
        if state.is_done(request) {
            return WaitState::waiting_for(WaitReason::Request);
        }
        state.awaits(WaitTarget::Request(request))
    }

    /// Publishes the wait state, before the rank sleeps.
    pub(crate) fn publish_wait_state(
        &self,
        state: &mut EndpointState,
        what: WaitTarget<'_>,
    ) -> WaitStateGuard<'_> {
        let told = self.wait_state_of(state, what);
        WaitStateGuard {
            memory: &self.memory,
            number: self.memory.publish_wait_state(&told),
            kept: state.kept(),
        }
    }

    /// Publishes what this rank polls for in vain, and returns the number of that wait state.
    pub(super) fn publish_polls(&self, state: &mut EndpointState, what: WaitTarget<'_>) -> u64 {
        let mut told = self.wait_state_of(state, what);
        told.polls = true;
        told.site = told
            .site
            .or_else(|| call_site::to_published(call_site::current()?));
        self.memory.publish_wait_state(&told)
    }

    fn wait_state_of(&self, state: &mut EndpointState, what: WaitTarget<'_>) -> WaitState {
        let mut told = state.awaits(what);
        told.threads = self.may_others_call();
        told.site = call_site::published_site();
        // A call that blocks starts what it waits for.
        let started = call_site::published_start();
        told.started = started.filter(|started| told.site.as_ref() != Some(started));
        state.add_entered(&mut told);
        state.add_communicators(&mut told);
        state.add_unmatched(&mut told);
        told
    }
}
