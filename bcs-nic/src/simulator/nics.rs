//! The NICs and the Strobe Sender of a simulated cluster, on a fabric in virtual time. The code
//! that runs the ranks, scripts or threads, gives them turns and advances the time.

use super::checkers::{Checker, CheckerViolation};
use super::fabric::VirtualFabric;
use crate::bounds::Bounds;
use crate::budget::Quota;
use crate::bug::PlantedBug;
use crate::driver::new_nic_thread;
use crate::failure::NicFailure;
use crate::mail::Mail;
use crate::threads::{NicThread, NicThreadContext, NodeConfig, Outbox, StrobeSender, TableLeak};
use bcs_core::job::{Microphase, NicThreadId, NodeId, Placement, Settings};
use bcs_core::memory::NicMemory;
use bcs_fabric::{Port, RankMemory, Variable};
use mds::dump::NodeDump;
use mds::emds::StrobeRecorder;
use mds::selection::SliceWindow;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::collections::VecDeque;
use std::sync::Arc;

/// The longest time that a NIC thread oversleeps: some Compare-And-Writes and transfers of the
/// others.
const MAX_OVERSLEEP_NS: u64 = 60_000;

/// A state machine and what it works with.
struct SimulatedNicThread {
    node: NodeId,
    thread: NicThreadId,
    machine: Box<dyn NicThread>,
    port: Box<dyn Port>,
    memory: Box<dyn RankMemory>,
    mail: VecDeque<Mail>,
    /// Its OS thread does not run before this time.
    wakes_ns: u64,
}

/// The configuration of a simulated cluster's NICs.
#[derive(Debug)]
pub struct SimulatedNicsConfig {
    /// Which ranks run where.
    pub placement: Placement,
    /// The settings of the runtime.
    pub settings: Settings,
    /// The capacities of their tables.
    pub bounds: Bounds,
    /// NIC memory of the ranks, by number.
    pub memories: Vec<NicMemory>,
    /// The fabric.
    pub fabric: Box<dyn VirtualFabric>,
    /// The seed that decides which NIC threads oversleep, and when: an OS thread may get no core
    /// for a while. `None`: all run whenever they can.
    pub oversleeping: Option<u64>,
    /// A planted bug, for the tests of the checkers.
    pub bug: Option<PlantedBug>,
    /// The slices whose rows are recorded, if any (EMDS).
    pub emds: Option<SliceWindow>,
}

/// The NICs and the Strobe Sender of a simulated cluster.
pub struct SimulatedNics {
    fabric: Box<dyn VirtualFabric>,
    seats: Vec<SimulatedNicThread>,
    strobe_sender: StrobeSender,
    recorder: Option<StrobeRecorder>,
    strobe_port: Box<dyn Port>,
    placement: Arc<Placement>,
    quota: Quota,
    /// Whether GETs from remote nodes may be in flight outside of the slice.
    goes_ahead: bool,
    strobes: u64,
    /// Cuts each node has taken.
    cuts: Vec<u64>,
    last_slice: u64,
    oversleeping: Option<ChaCha8Rng>,
    out: Outbox,
    memories: Vec<NicMemory>,
}

impl std::fmt::Debug for SimulatedNics {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let finished: Vec<u64> = (0..self.cuts.len())
            .map(|node| {
                self.fabric
                    .load(NodeId::from_index(node), Variable::Finished)
            })
            .collect();
        write!(out, "{:?}, nodes finished {finished:?}", self.strobe_sender)
    }
}

impl SimulatedNics {
    /// Creates the NICs of a cluster at rest.
    ///
    /// # Panics
    /// When there is not NIC memory for each rank.
    #[must_use]
    pub fn new(config: SimulatedNicsConfig) -> Self {
        let SimulatedNicsConfig {
            placement,
            settings,
            bounds,
            memories,
            fabric,
            oversleeping,
            bug,
            emds,
        } = config;
        let (placement, settings) = (Arc::new(placement), Arc::new(settings));
        let nodes = placement.nodes();
        let mut seats = Vec::new();
        for node in (0..nodes).map(NodeId::from_index) {
            let ranks = placement
                .ranks_of(node)
                .map(|rank| (rank, memories[rank as usize].clone()));
            let config = NodeConfig {
                node,
                placement: placement.clone(),
                settings: settings.clone(),
                page: fabric.page(node).clone(),
                ranks: Arc::new(ranks.collect()),
                bounds,
                emds,
            };
            seats.extend(NicThreadId::ALL.map(|thread| SimulatedNicThread {
                node,
                thread,
                machine: new_nic_thread(thread, config.clone(), bug),
                port: fabric.port(node, thread),
                memory: fabric.memory(node),
                mail: VecDeque::new(),
                wakes_ns: 0,
            }));
        }
        Self {
            strobe_sender: StrobeSender::new(
                settings.clone(),
                fabric.page(NodeId(0)).clone(),
                &placement,
                0,
            )
            .with_recording(emds.is_some()),
            recorder: emds.map(|window| StrobeRecorder::new(1, window)),
            strobe_port: fabric.strobe_sender(),
            quota: Quota::with_bounds(&settings, &bounds),
            goes_ahead: settings.strobe.is_elastic(),
            seats,
            placement,
            fabric,
            strobes: 0,
            cuts: vec![0; nodes],
            last_slice: 0,
            oversleeping: oversleeping.map(ChaCha8Rng::seed_from_u64),
            out: Outbox::default(),
            memories,
        }
    }

    /// Returns the fabric.
    #[must_use]
    pub fn fabric(&self) -> &dyn VirtualFabric {
        &*self.fabric
    }

    /// Returns the fabric, to let time pass.
    pub fn fabric_mut(&mut self) -> &mut dyn VirtualFabric {
        &mut *self.fabric
    }

    /// Returns the number of slices struck so far.
    #[must_use]
    pub fn strobes(&self) -> u64 {
        self.strobes
    }

    /// Returns the number of cuts that a node has taken.
    #[must_use]
    pub fn cuts(&self, node: NodeId) -> u64 {
        self.cuts[node.index()]
    }

    /// Whether no slice is under way and none is wanted.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        let mut nodes = (0..self.cuts.len()).map(NodeId::from_index);
        self.is_at_rest() && nodes.all(|node| self.fabric.page(node).wanted() == (false, false))
    }

    /// Whether no slice is under way, and no NIC thread of a living node has mail or oversleeps.
    pub(super) fn is_at_rest(&self) -> bool {
        let (now_ns, alive) = (self.fabric.now_ns(), self.fabric.alive());
        let is_at_rest =
            |seat: &SimulatedNicThread| seat.mail.is_empty() && seat.wakes_ns <= now_ns;
        let mut alive = self.seats.iter().filter(|seat| alive.contains(seat.node));
        !self.strobe_sender.in_slice() && alive.all(is_at_rest)
    }

    /// Returns the number of the slice under way, or of the last one.
    pub(super) fn slice(&self) -> u64 {
        self.strobe_sender.slice()
    }

    /// Returns the entries in the tables of living nodes, by node and NIC thread: at the end, none.
    /// Entries that a program has left ([`TableLeak::programs`]) are included.
    #[must_use]
    pub fn table_leaks(&self) -> Vec<(NodeId, NicThreadId, TableLeak)> {
        let alive = self.fabric.alive();
        let living = self.seats.iter().filter(|seat| alive.contains(seat.node));
        let of = |seat: &SimulatedNicThread| {
            let left = seat.machine.table_leaks(&*seat.port).into_iter();
            let (node, thread) = (seat.node, seat.thread);
            left.filter(|left| left.count > 0)
                .map(move |left| (node, thread, left))
        };
        living.flat_map(of).collect()
    }

    /// Returns the record of all nodes, the first of which has the figures of the Strobe Sender. It
    /// ends the recording.
    #[must_use]
    pub fn take_recorded(&mut self) -> Vec<NodeDump> {
        let seats = self.seats.iter_mut();
        let mut dumps: Vec<NodeDump> = seats
            .filter_map(|seat| seat.machine.take_recording(0))
            .collect();
        if let Some(first) = dumps.first_mut() {
            first.global = self.recorder.take().map(StrobeRecorder::finish);
        }
        dumps
    }

    /// Returns the time of the next event without a rank: on the fabric, or a strobe.
    #[must_use]
    pub fn next_ns(&self) -> Option<u64> {
        let now_ns = self.fabric.now_ns();
        let sleepers = self.seats.iter().map(|seat| seat.wakes_ns);
        sleepers
            .filter(|&at| at > now_ns)
            .chain(self.fabric.next_ns())
            .chain(self.strobe_sender.deadline_ns())
            .min()
    }

    /// Creates a violation that a checker found in this slice.
    #[must_use]
    pub fn violation(&self, (checker, what): (Checker, String)) -> CheckerViolation {
        CheckerViolation {
            checker,
            what,
            slice: self.strobe_sender.slice(),
        }
    }

    /// Gives every NIC thread one chance at the present time, and rings ranks. Returns whether
    /// anything moved.
    ///
    /// # Errors
    /// The violation that a checker finds, or the failure by which a NIC thread ends the job.
    pub fn turn(&mut self) -> Result<bool, CheckerViolation> {
        let progress = self.move_on()?;
        if let Some(failure) = self.take_failures().pop() {
            let what = format!("node {}: {failure}", failure.node);
            return Err(self.violation((Checker::Soundness, what)));
        }
        Ok(progress)
    }

    /// Returns the failures that end the job, since the last call.
    pub(super) fn take_failures(&mut self) -> Vec<NicFailure> {
        std::mem::take(&mut self.out.failures)
    }

    /// Does a turn, and leaves failures to [`take_failures`](Self::take_failures).
    pub(super) fn move_on(&mut self) -> Result<bool, CheckerViolation> {
        let (now_ns, alive) = (self.fabric.now_ns(), self.fabric.alive());
        let settled = self.fabric.settle();
        let retries = self.fabric.retries();
        let (moved, over) = self
            .strobe_sender
            .poll(&|| now_ns, retries, &mut *self.strobe_port);
        let mut progress = settled || moved;
        if self.strobe_sender.slice() != self.last_slice {
            self.last_slice = self.strobe_sender.slice();
            self.strobes += 1;
            self.fabric.take_inbound_bytes();
        }
        if let Some(times) = over {
            if let Some(recorder) = &mut self.recorder {
                recorder.slice(times.row());
            }
            self.check_slice_end()
                .map_err(|what| self.violation(what))?;
        }
        for at in 0..self.seats.len() {
            let seat = &self.seats[at];
            if !alive.contains(seat.node) || seat.wakes_ns > now_ns {
                continue;
            }
            let moved = self.work(at, now_ns);
            progress |= moved;
            if let (true, Some(random)) = (moved, &mut self.oversleeping)
                && random.random_bool(0.05)
            {
                self.seats[at].wakes_ns = now_ns + random.random_range(0..MAX_OVERSLEEP_NS);
            }
        }
        if !progress {
            self.check_demand().map_err(|what| self.violation(what))?;
        }
        Ok(progress)
    }

    /// Checks law 2, at a moment at which nothing moves and no slice is under way.
    fn check_demand(&self) -> Result<(), (Checker, String)> {
        if !self.is_at_rest() {
            return Ok(());
        }
        let alive = self.fabric.alive();
        for seat in self.seats.iter().filter(|seat| alive.contains(seat.node)) {
            let wanted = self.fabric.page(seat.node).wanted();
            if let Some(held) = seat.machine.waits_for_slice()
                && wanted == (false, false)
            {
                let (thread, node) = (seat.thread.name(), seat.node);
                let what =
                    format!("{thread} of node {node} holds {held}, and has asked for no slice");
                return Err((Checker::Demand, what));
            }
        }
        Ok(())
    }

    /// Lets one NIC thread take its mail and poll the fabric.
    fn work(&mut self, at: usize, now_ns: u64) -> bool {
        let seat = &mut self.seats[at];
        let clock = || now_ns;
        let mut context = NicThreadContext {
            clock: &clock,
            port: &mut *seat.port,
            memory: &mut *seat.memory,
            out: &mut self.out,
            worked_ns: 0, // no time passes in a routine
        };
        let mut progress = seat.machine.poll(&mut context);
        while let Some(mail) = seat.mail.pop_front() {
            progress = true;
            seat.machine.handle(mail, &mut context);
        }
        for rank in self.out.to_ring.drain(..) {
            let node = self.placement.node_of(rank).expect("a rank of the job");
            let bell = self.memories[rank as usize].bell();
            self.fabric.page(node).wake(bell);
        }
        let first = at - at % NicThreadId::COUNT;
        for (thread, mail) in self.out.mail.drain(..) {
            progress = true;
            let to = first + thread.index();
            let strobed = matches!(
                mail,
                Mail::Phase {
                    phase: Microphase::Dem,
                    ..
                }
            );
            if strobed && thread == NicThreadId::BufferSender {
                self.cuts[self.seats[at].node.index()] += 1;
            }
            debug_assert_eq!(self.seats[to].thread, thread);
            self.seats[to].mail.push_back(mail);
        }
        progress
    }

    fn check_slice_end(&mut self) -> Result<(), (Checker, String)> {
        let fabric = &mut self.fabric;
        let alive = fabric.alive();
        let crashed = alive.iter().count() < self.cuts.len();
        let in_flight = fabric.in_flight(!self.goes_ahead);
        if in_flight > 0 && !crashed {
            let what = format!("{in_flight} transfers are in flight");
            return Err((Checker::NetworkEmpty, what));
        }
        let finished: Vec<u64> = alive
            .iter()
            .map(|node| fabric.load(node, Variable::Finished))
            .collect();
        if finished.windows(2).any(|pair| pair[0] != pair[1]) {
            return Err((Checker::Agreement, format!("nodes finished {finished:?}")));
        }
        for (node, bytes) in fabric.take_inbound_bytes().into_iter().enumerate() {
            if bytes > self.quota.budget {
                let what = format!(
                    "{bytes} bytes entered node {node}, {} may",
                    self.quota.budget
                );
                return Err((Checker::Budget, what));
            }
        }
        Ok(())
    }
}
