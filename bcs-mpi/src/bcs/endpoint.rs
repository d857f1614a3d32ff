//! An endpoint: one rank's end of its NIC.

use super::errands::Errands;
use super::leading::Leading;
use super::request::{Handle, Request};
use super::schedule::Schedules;
use super::waiting::Turn;
use super::whereabouts::What;
use crate::attachment::Link;
use crate::forked;
use crate::roads::Blocking;
use crate::roads::Outcome;
use crate::roads::both;
use crate::roads::nic::Nic;
use crate::roads::smartmap::{Road, Slots, SmartMap};
use crate::shared_memory::SharedMemory;
use bcs_core::job::{NodeId, Settings};
use bcs_core::memory::NicMemory;
use bcs_core::request::RequestId;
use bcs_core::smartmap::Desk;
use bcs_core::wake::MachinePage;
use bcs_core::wake::owner_lock::{OwnerGuard, OwnerLock};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Who and where a rank is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The rank's number in the world.
    pub rank: u32,
    /// The rank's node.
    pub node: NodeId,
    /// Ranks of the world on that node, which follow each other,
    pub local_ranks: u32,
    /// from this one on.
    pub first_local: u32,
    /// Ranks of the world.
    pub ranks: u32,
}

/// One rank's end of its NIC.
#[derive(Debug)]
pub struct Endpoint {
    pub(super) memory: NicMemory,
    pub(super) desk: Option<Desk>,
    pub(super) page: MachinePage,
    pub(super) place: Place,
    pub(super) settings: Settings,
    pub(super) turn: Turn,
    state: OwnerLock<State>,
}

/// What an endpoint remembers.
#[derive(Debug)]
pub(super) struct State {
    pub(super) nic: Nic,
    pub(super) contexts: super::collective::Contexts,
    pub(super) schedules: Schedules,
    /// The ranks of this node, if this one reaches them without its NIC.
    pub(super) near: Option<SmartMap>,
    /// What the NIC does for them.
    pub(super) leading: Vec<Leading>,
    /// What is to be done without the lock.
    pub(super) errands: Errands,
}

impl State {
    /// Takes the completion of a request of the NIC, or what the other road has made of it.
    pub(super) fn take(&mut self, request: RequestId) -> Option<Outcome> {
        both::take((&mut self.nic, self.near.as_mut()), request)
    }

    /// Whether descriptors wait for room in a ring.
    pub(super) fn holds(&self) -> bool {
        self.nic.holds()
    }
}

impl Endpoint {
    /// An endpoint over NIC memory that a NIC attends to.
    #[must_use]
    pub fn new(memory: SharedMemory, place: Place, settings: Settings) -> Self {
        Self::with_nic(memory, place, settings, true)
    }

    fn near(memory: &SharedMemory, place: Place, settings: &Settings) -> Option<SmartMap> {
        let SharedMemory { nic, desk, page } = memory.clone();
        let Desk { node, place: at } = desk?;
        let here = (at, place.first_local);
        let road = Road::open().up_to(settings.road);
        let mut near = SmartMap::new(node, nic, page, here, road);
        near.fold_by(settings.folding);
        Some(near)
    }

    /// An endpoint without a NIC: a world of one, whose memory is at the only desk of its node.
    #[must_use]
    pub fn alone(memory: SharedMemory) -> Self {
        assert!(memory.desk.is_some(), "a rank without a NIC has a desk");
        let place = Place {
            rank: 0,
            node: NodeId(0),
            local_ranks: 1,
            first_local: 0,
            ranks: 1,
        };
        let endpoint = Self::with_nic(memory, place, Settings::default(), false);
        endpoint
            .lock()
            .near
            .iter_mut()
            .for_each(SmartMap::ends_alone);
        endpoint
    }

    fn with_nic(memory: SharedMemory, place: Place, settings: Settings, has_nic: bool) -> Self {
        let near = Self::near(&memory, place, &settings);
        let SharedMemory {
            nic: memory,
            desk,
            page,
        } = memory;
        let state = State {
            nic: Nic::new(memory.clone(), page.clone(), &settings, has_nic),
            contexts: super::collective::Contexts::default(),
            schedules: Schedules::default(),
            near,
            leading: Vec::new(),
            errands: Errands::default(),
        };
        page.awake(true); // Law 7: this rank may want a core from now on.
        let endpoint = Self {
            memory,
            desk,
            page,
            place,
            settings,
            turn: Turn::default(),
            state: OwnerLock::new(state),
        };
        endpoint.know_world();
        endpoint
    }

    /// From now on this node manager is told if messages of this node end the process.
    pub(crate) fn report_to(&self, link: &Arc<Link>) {
        let mut state = self.lock();
        let near = state.near.iter_mut();
        near.for_each(|near| near.report_to(link.clone()));
    }

    /// From now on messages of this node are fetched from slots where they lie in one.
    pub(crate) fn use_slots(&self, slots: &Arc<Slots>) {
        let mut state = self.lock();
        let near = state.near.iter_mut();
        near.for_each(|near| near.use_slots(slots.clone()));
    }

    /// Who and where this rank is.
    #[must_use]
    pub fn place(&self) -> Place {
        self.place
    }

    /// How the runtime is set.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// In a forked child, which has no part in it.
    pub(crate) fn abandon(&self) {
        self.state.close();
    }

    pub(super) fn lock(&self) -> OwnerGuard<'_, State> {
        // A panic of another thread while it held the lock leaves a consistent state: nothing
        // between two updates of it can panic but assertions about the program's own requests.
        self.state.lock()
    }

    /// Whether more than one thread of this rank has called.
    pub(super) fn has_threads(&self) -> bool {
        self.state.is_shared()
    }

    pub(super) fn completions(&self) -> u64 {
        self.memory.completions().load(Ordering::Acquire)
    }

    /// Law 5: passes on what was held back, which asks for slices as if it were posted now, and
    /// moves schedules on. Every call does this.
    pub(super) fn progress(&self, state: &mut State) {
        let mut wanted = false;
        loop {
            state.nic.progress();
            state.near.iter_mut().for_each(SmartMap::progress);
            self.tell_threads(state);
            if self.lead(state) {
                continue;
            }
            if self.advance_schedules(state) {
                continue;
            }
            let holds = state.holds();
            self.turn.holds(holds);
            if !holds || wanted {
                return;
            }
            // Who posted may never wait, and who waits may sleep already: the NIC is to ring.
            self.memory.want_room();
            wanted = true;
        }
    }

    /// Asks whether a request is done, or waits until it is. `None` only if it is not done and
    /// `blocking` is no.
    pub fn bcs_test(&self, blocking: Blocking, request: Request) -> Option<Outcome> {
        if let Handle::Complete(_) = request.0 {
            return self.take_any(&mut self.lock(), request);
        }
        self.look(blocking, What::Request(request), |state| {
            self.take_any(state, request)
        })
    }

    /// Asks whether all of several requests are done, or waits until they are. Nothing is spent
    /// unless all are done.
    pub fn bcs_testall(&self, blocking: Blocking, requests: &[Request]) -> Option<Vec<Outcome>> {
        let mut done = 0; // All before this one are done, so none is looked at twice.
        self.look(blocking, What::All(requests), |state| {
            while done < requests.len() && !self.is_pending(state, requests[done]) {
                done += 1;
            }
            (done == requests.len()).then(|| {
                requests
                    .iter()
                    .filter_map(|&request| self.take_any(state, request))
                    .collect()
            })
        })
    }

    /// Asks whether any of several requests is done, or waits until one is: its index, and what it
    /// came to. `None` at once if there are no requests.
    pub fn bcs_testany(
        &self,
        blocking: Blocking,
        requests: &[Request],
    ) -> Option<(usize, Outcome)> {
        let blocking = if requests.is_empty() {
            Blocking::No
        } else {
            blocking
        };
        let what = match requests {
            [request] => What::Request(*request),
            _ => What::Any(requests),
        };
        self.look(blocking, what, |state| {
            let mut numbered = requests.iter().enumerate();
            numbered.find_map(|(index, &request)| Some((index, self.take_any(state, request)?)))
        })
    }

    fn take_any(&self, state: &mut State, request: Request) -> Option<Outcome> {
        match request.0 {
            Handle::Schedule(id) => state.schedules.take(id),
            posted => self.take_posted(state, posted),
        }
    }

    /// As [`take`](Self::take), of what one of the roads completes.
    pub(super) fn take_posted(&self, state: &mut State, handle: Handle) -> Option<Outcome> {
        match handle {
            Handle::Complete(len) => Some(Outcome {
                len,
                ..Outcome::default()
            }),
            Handle::Nic(id) => state.take(id),
            Handle::Near(id) => state.near.as_mut()?.take(id),
            Handle::Schedule(_) => unreachable!("schedules are not made of schedules"),
        }
    }

    /// Whether a request is not done.
    pub(super) fn is_pending(&self, state: &mut State, request: Request) -> bool {
        match request.0 {
            Handle::Complete(_) => false,
            Handle::Nic(id) => !both::is_done((&mut state.nic, state.near.as_mut()), id),
            Handle::Schedule(id) => !state.schedules.is_done(id),
            Handle::Near(id) => state.near.as_mut().is_some_and(|near| !near.is_done(id)),
        }
    }
}

impl Drop for Endpoint {
    fn drop(&mut self) {
        if forked::is_child() {
            return;
        }
        self.page.awake(false);
    }
}
