//! An endpoint: one rank's end of its NIC.

use super::async_operation::AsyncOperations;
use super::deferred_copies::DeferredCopies;
use super::request::Request;
use super::state::EndpointState;
use super::turn::Turn;
use super::wait_target::WaitTarget;
use crate::attachment::NodeManagerLink;
use crate::forked;
use crate::schedules::{Contexts, Schedules};
use crate::shared_memory::SharedMemory;
use crate::transport::nic::NicTransport;
use crate::transport::smartmap::{PeerMemory, Slots, SmartMap};
use crate::transport::{Blocking, Mux, RequestOutcome};
use bcs_core::job::{NodeId, Settings};
use bcs_core::memory::NicMemory;
use bcs_core::smartmap::RankArea;
use bcs_core::wake::MachinePage;
use bcs_core::wake::owner_lock::{OwnerGuard, OwnerLock};
use std::cell::Cell;
use std::mem;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Who and where a rank is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RankLocation {
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
    pub(crate) memory: NicMemory,
    pub(crate) rank_area: Option<RankArea>,
    pub(crate) page: MachinePage,
    pub(crate) location: RankLocation,
    pub(crate) settings: Settings,
    pub(crate) turn: Turn,
    /// Whether the program has not said that only one of its threads calls.
    others_may_call: AtomicBool,
    state: OwnerLock<EndpointState>,
}

impl Endpoint {
    /// An endpoint over NIC memory that a NIC attends to.
    #[must_use]
    pub fn new(memory: SharedMemory, place: RankLocation, settings: Settings) -> Self {
        Self::with_nic(memory, place, settings, true)
    }

    fn local_transport(
        memory: &SharedMemory,
        place: RankLocation,
        settings: &Settings,
    ) -> Option<SmartMap> {
        let SharedMemory {
            nic,
            rank_area: desk,
            page,
        } = memory.clone();
        let RankArea { node, place: at } = desk?;
        let here = (at, place.first_local);
        let road = PeerMemory::open().up_to(settings.road);
        let mut near = SmartMap::new(node, nic, page, here, road);
        near.fold_by(settings.folding);
        near.eager_up_to(settings.eager_limit);
        near.expect_marks(settings.checked);
        Some(near)
    }

    /// An endpoint without a NIC: a world of one, whose memory is at the only desk of its node.
    #[must_use]
    pub fn alone(memory: SharedMemory) -> Self {
        assert!(
            memory.rank_area.is_some(),
            "a rank without a NIC has a desk"
        );
        let place = RankLocation {
            rank: 0,
            node: NodeId(0),
            local_ranks: 1,
            first_local: 0,
            ranks: 1,
        };
        let endpoint = Self::with_nic(memory, place, Settings::default(), false);
        endpoint
            .lock()
            .mux
            .local
            .iter_mut()
            .for_each(SmartMap::ends_alone);
        endpoint
    }

    fn with_nic(
        memory: SharedMemory,
        place: RankLocation,
        settings: Settings,
        has_nic: bool,
    ) -> Self {
        let near = Self::local_transport(&memory, place, &settings);
        let SharedMemory {
            nic: memory,
            rank_area: desk,
            page,
        } = memory;
        let state = EndpointState {
            mux: Mux {
                nic: NicTransport::new(
                    place.node,
                    memory.clone(),
                    page.clone(),
                    &settings,
                    has_nic,
                ),
                local: near,
            },
            contexts: Contexts::default(),
            schedules: Schedules::default(),
            undertakings: AsyncOperations::default(),
            leader_requests: Vec::new(),
            deferred_copies: DeferredCopies::default(),
            freed: Vec::new(),
            released: Vec::new(),
            invalid: Vec::new(),
        };
        page.count_awake(true); // Law 7: this rank may want a core from now on.
        let endpoint = Self {
            memory,
            rank_area: desk,
            page,
            location: place,
            settings,
            turn: Turn::default(),
            others_may_call: AtomicBool::new(true),
            state: OwnerLock::new(state),
        };
        endpoint.know_world();
        endpoint
    }

    /// From now on this node manager is told if messages of this node end the process.
    pub(crate) fn report_to(&self, link: &Arc<NodeManagerLink>) {
        let mut state = self.lock();
        let near = state.mux.local.iter_mut();
        near.for_each(|near| near.report_to(link.clone()));
    }

    /// From now on messages of this node are fetched from slots where they lie in one.
    pub(crate) fn use_slots(&self, slots: &Arc<Slots>) {
        let mut state = self.lock();
        let near = state.mux.local.iter_mut();
        near.for_each(|near| near.use_slots(slots.clone()));
    }

    /// Who and where this rank is.
    #[must_use]
    pub fn place(&self) -> RankLocation {
        self.location
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

    #[inline(always)]
    pub(crate) fn lock(&self) -> OwnerGuard<'_, EndpointState> {
        // A panic of another thread while it held the lock leaves a consistent state: nothing
        // between two updates of it can panic but assertions about the program's own requests.
        self.state.lock()
    }

    /// The program says whether other threads than the one that has initialised MPI call it.
    pub(crate) fn others_may_call(&self, may: bool) {
        self.others_may_call.store(may, Ordering::Relaxed);
    }

    /// Whether they may: the program has not said that they do not, or one has done it.
    pub(crate) fn may_others_call(&self) -> bool {
        self.others_may_call.load(Ordering::Relaxed) || self.has_threads()
    }

    /// Whether more than one thread of this rank has called.
    pub(crate) fn has_threads(&self) -> bool {
        self.state.is_shared()
    }

    pub(crate) fn completions(&self) -> u64 {
        self.memory.completions().load(Ordering::Acquire)
    }

    /// Law 5: passes on what was held back, which asks for slices as if it were posted now, and
    /// moves schedules on. Every call does this.
    pub(crate) fn progress(&self, state: &mut EndpointState) {
        let mut wanted = false;
        loop {
            state.mux.nic.progress();
            state.mux.local.iter_mut().for_each(SmartMap::progress);
            self.tell_threads(state);
            if self.lead(state) {
                continue;
            }
            let events = state.events(self.completions());
            if state.advance_schedules(events) || self.advance_undertakings(state, events) {
                continue;
            }
            let holds = state.holds();
            self.turn.set_holding(holds);
            if !holds || wanted {
                return;
            }
            // Who posted may never wait, and who waits may sleep already: the NIC is to ring.
            self.memory.request_space();
            wanted = true;
        }
    }

    /// Asks whether a request is done, or waits until it is. `None` only if it is not done and
    /// `blocking` is no.
    pub fn bcs_test(&self, blocking: Blocking, request: Request) -> Option<RequestOutcome> {
        if request.is_complete() {
            return self.lock().take(request);
        }
        self.poll_or_wait(blocking, WaitTarget::Request(request), |state| {
            state.take(request)
        })
    }

    /// Asks whether all of several requests are done, or waits until they are. Who only asks spends
    /// nothing unless all are done.
    pub fn bcs_testall(
        &self,
        blocking: Blocking,
        requests: &[Request],
    ) -> Option<Vec<RequestOutcome>> {
        let taken = Cell::new(0);
        let mut outcomes = Vec::with_capacity(requests.len());
        // All before this one are done, so none is looked at twice.
        let mut done = if blocking == Blocking::Yes {
            requests.len()
        } else {
            0
        };
        self.poll_or_wait(blocking, WaitTarget::All(requests, &taken), |state| {
            while done < requests.len() && state.is_done(requests[done]) {
                done += 1;
            }
            // Who waits takes what is there, while the NIC completes the rest.
            while done == requests.len()
                && let Some(&request) = requests.get(outcomes.len())
                && let Some(outcome) = state.take(request)
            {
                outcomes.push(outcome);
                taken.set(outcomes.len());
            }
            (outcomes.len() == requests.len()).then(|| mem::take(&mut outcomes))
        })
    }

    /// Asks whether any of several requests is done, or waits until one is: its index, and what it
    /// came to. `None` at once if there are no requests.
    pub fn bcs_testany(
        &self,
        blocking: Blocking,
        requests: &[Request],
    ) -> Option<(usize, RequestOutcome)> {
        let blocking = if requests.is_empty() {
            Blocking::No
        } else {
            blocking
        };
        let what = match requests {
            [request] => WaitTarget::Request(*request),
            _ => WaitTarget::Any(requests),
        };
        self.poll_or_wait(blocking, what, |state| {
            let mut numbered = requests.iter().enumerate();
            numbered.find_map(|(index, &request)| Some((index, state.take(request)?)))
        })
    }
}

impl Drop for Endpoint {
    fn drop(&mut self) {
        if forked::is_child() {
            return;
        }
        self.page.count_awake(false);
    }
}
