//! An endpoint: one rank's end of its NIC.

use super::async_operation::AsyncOperations;
use super::deferred_copies::DeferredCopies;
use super::poll_watch::PollWatch;
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
use crate::transport::{Blocking, Mux, RequestOutcome, TransportHandle};
use bcs_core::job::{NodeId, NodeRanks, Settings};
use bcs_core::memory::NicMemory;
use bcs_core::smartmap::RankArea;
use bcs_core::wake::MachinePage;
use bcs_core::wake::owner_lock::{OwnerGuard, OwnerLock};
use std::cell::Cell;
use std::mem;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The rank's number and place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RankLocation {
    /// The rank's number in the world.
    pub rank: u32,
    /// The rank's node.
    pub node: NodeId,
    /// The ranks on that node, spare ones included.
    pub local: NodeRanks,
    /// Ranks that start with the job.
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
    /// Whether the program has not promised that only one thread calls.
    others_may_call: AtomicBool,
    state: OwnerLock<EndpointState>,
}

impl Endpoint {
    /// Makes an endpoint over NIC memory that a NIC serves.
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
        let here = (at, place.local);
        let road = PeerMemory::open().up_to(settings.road);
        let mut near = SmartMap::new(node, nic, page, here, road);
        near.fold_by(settings.folding);
        near.eager_up_to(settings.eager_limit);
        near.expect_marks(settings.checked);
        Some(near)
    }

    /// Makes an endpoint without a NIC: a world of one, whose memory is the only rank area of its
    /// node.
    #[must_use]
    pub fn alone(memory: SharedMemory) -> Self {
        assert!(
            memory.rank_area.is_some(),
            "a rank without a NIC has a desk"
        );
        let place = RankLocation {
            rank: 0,
            node: NodeId(0),
            local: NodeRanks::consecutive(0, 1),
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
            poll_watch: PollWatch::default(),
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

    /// Makes messages of this node report to this node manager if they end the process.
    pub(crate) fn report_to(&self, link: &Arc<NodeManagerLink>) {
        let mut state = self.lock();
        let near = state.mux.local.iter_mut();
        near.for_each(|near| near.report_to(link.clone()));
    }

    /// Makes messages of this node come from the slots in which they lie.
    pub(crate) fn use_slots(&self, slots: &Arc<Slots>) {
        let mut state = self.lock();
        let near = state.mux.local.iter_mut();
        near.for_each(|near| near.use_slots(slots.clone()));
    }

    /// Returns the rank's number and place.
    #[must_use]
    pub fn place(&self) -> RankLocation {
        self.location
    }

    /// Returns the settings of the runtime.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Gives up the endpoint in a forked child, which has no part in it.
    pub(crate) fn abandon(&self) {
        self.state.close();
    }

    #[inline(always)]
    pub(crate) fn lock(&self) -> OwnerGuard<'_, EndpointState> {
        // A panic of another thread that held the lock leaves a consistent state: between two
        // updates of it, only assertions about the program's own requests can panic.
        self.state.lock()
    }

    /// Records whether threads other than the one that initialised MPI may call it.
    pub(crate) fn others_may_call(&self, may: bool) {
        self.others_may_call.store(may, Ordering::Relaxed);
    }

    /// Returns whether other threads may call: the program has not excluded it, or one has called.
    pub(crate) fn may_others_call(&self) -> bool {
        self.others_may_call.load(Ordering::Relaxed) || self.has_threads()
    }

    /// Returns whether more than one thread of this rank has called.
    pub(crate) fn has_threads(&self) -> bool {
        self.state.is_shared()
    }

    pub(crate) fn completions(&self) -> u64 {
        self.memory.completions().load(Ordering::Acquire)
    }

    /// Makes progress (law 5): passes on the operations that were held back, which request slices
    /// as if they were posted now, and advances schedules. Every call does this.
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
            // The caller may never wait, and other threads may sleep already, so the NIC has to
            // ring the bell.
            self.memory.request_space();
            wanted = true;
        }
    }

    /// Tests whether a request is done, or waits until it is. Returns `None` only if it is not done
    /// and `blocking` is no.
    pub fn bcs_test(&self, blocking: Blocking, request: Request) -> Option<RequestOutcome> {
        if request.is_complete() {
            return self.lock().take(request);
        }
        self.poll_or_wait(blocking, WaitTarget::Request(request), |state| {
            state.take(request)
        })
    }

    /// Returns whether the data of a receive within the node are known to be in its buffer. The
    /// data of a receive that a NIC has completed may be copied there only when it is taken.
    pub(crate) fn is_delivered(&self, request: Request) -> bool {
        let is_local = matches!(request.handle(), Some(TransportHandle::Local(_)));
        is_local && self.lock().is_done(request)
    }

    /// Tests whether all of several requests are done, or waits until they are. A test spends
    /// nothing unless all are done.
    pub fn bcs_testall(
        &self,
        blocking: Blocking,
        requests: &[Request],
    ) -> Option<Vec<RequestOutcome>> {
        let taken = Cell::new(0);
        let mut outcomes = Vec::with_capacity(requests.len());
        // All requests before this one are done, so none is tested twice.
        let mut done = if blocking == Blocking::Yes {
            requests.len()
        } else {
            0
        };
        self.poll_or_wait(blocking, WaitTarget::All(requests, &taken), |state| {
            while done < requests.len() && state.is_done(requests[done]) {
                done += 1;
            }
            // A call that waits takes the outcomes that are there, while the NIC completes the
            // rest.
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

    /// Tests whether any of several requests is done, or waits until one is. Returns its index and
    /// its outcome, or `None` at once if there are no requests.
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
