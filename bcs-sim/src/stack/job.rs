//! A simulated job: ranks, NICs and fabric, and the loop that advances the time.

use super::fabric::{FabricChoice, JobFabric, JobMemory};
use super::fault::{FaultKind, FaultSet, StruckFaults, struck_faults};
use super::injection::InjectionState;
use super::memory::VanishSchedule;
use super::options::{SimulatedJobOptions, SimulatedProgram};
use super::plan::Plan;
use super::report::{JobEnd, SimulatedJobReport};
use bcs_core::job::{
    CollectiveMode, CopyMethod, FoldingMode, IntranodeTransport, NodeId, Placement, Settings,
    StrobeMode,
};
use bcs_core::lockstep::{self, Lockstep, ThreadNumber, ThreadStatus};
use bcs_core::memory::NicMemory;
use bcs_core::smartmap::NodeMemory;
use bcs_fabric::shm::Segment;
use bcs_mpi::mpi::Process;
use bcs_mpi::shared_memory::SharedMemory;
use bcs_nic::bounds::Bounds;
use bcs_nic::simulator::fabric::FabricKind;
use bcs_nic::simulator::{SimulatedNics, SimulatedNicsConfig};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, Once};

/// The virtual time by which every job must have ended.
const DEADLINE_NS: u64 = 20_000_000_000;
/// Turns without time passing after which the job is in a livelock.
const MAX_TURNS: u32 = 1_000_000;
/// The longest time from a death to the end of all other ranks.
const MAX_ENDING_NS: u64 = 10_000_000;

/// The part of a NIC's failure that shows the end of a job by law 4.
const NO_MATCHING_RECEIVE: &str = "that no receive matches";

/// A rank: a thread, and its outcome.
struct SimulatedRank {
    thread: ThreadNumber,
    node: NodeId,
    /// The result of the rank's program.
    outcome: Arc<Mutex<Option<Result<(), String>>>>,
    memory: NicMemory,
    /// Whether its end was noticed.
    ended: bool,
}

pub(super) struct SimulatedJob {
    lockstep: Lockstep,
    nics: SimulatedNics,
    ranks: Vec<SimulatedRank>,
    placement: Placement,
    settings: Settings,
    /// The segment of each node's host.
    segments: Vec<Segment>,
    nodes: Vec<NodeMemory>,
    plan: Arc<Plan>,
    shared: InjectionState,
    random: ChaCha8Rng,
    /// The rank that dies, and its step then.
    planned_death: Option<(usize, u64)>,
    /// The reason if the job is being ended, and the time when all ranks will be gone.
    ending: Option<(String, u64)>,
}

impl SimulatedJob {
    pub(super) fn new(options: &SimulatedJobOptions) -> Self {
        die_of_bad_memory();
        let mut random = ChaCha8Rng::seed_from_u64(options.seed);
        let mut turns = ChaCha8Rng::seed_from_u64(random.random());
        // A choice takes 32 bits and a time 64, so that old seeds still show what they have shown.
        let lockstep = Lockstep::drive(move |most| match u32::try_from(most) {
            Ok(choices @ ..1_000) => turns.random_range(0..choices).into(),
            _ => turns.random_range(0..most),
        });
        let least = match options.fabric {
            FabricKind::Sim => 1,
            FabricKind::Udp => 2,
        };
        let nodes = random.random_range(least..=4);
        let ranks = nodes * random.random_range(1..=4) - random.random_range(0..nodes);
        let ranks = ranks.max(nodes);
        let placement = Placement::block(ranks, nodes).expect("a small job");
        let kinds = FaultKind::possible_on(options.fabric);
        let faults = options.faults.choose(kinds, 0.35, &mut random);
        let settings = draw_settings(faults, &mut random);
        let dies = (random.random_range(0..ranks), random.random_range(0..4_000));
        let plan = match options.program {
            SimulatedProgram::Drawn => Plan::draw(ranks, faults, &mut random),
            SimulatedProgram::Rules => Plan::rules(),
        };
        let plan = Arc::new(plan);
        let fabric = FabricChoice::draw(options.fabric, faults, nodes, &mut random);
        let small = draw_bounds(nodes, &mut random);
        let bounds = if faults.contains(FaultKind::SmallTables) {
            small
        } else {
            Bounds::default()
        };
        let mut memories = JobMemory::new(&placement, &settings);
        let host = JobFabric::new(fabric, &placement, &memories.nics, &mut random);
        let of_ranks = memories.take_rank_memories(&placement, &*host.fabric);
        let nics = SimulatedNics::new(SimulatedNicsConfig {
            placement: placement.clone(),
            settings: settings.clone(),
            bounds,
            memories: memories.nics,
            fabric: host.fabric,
            oversleeping: None,
            bug: None,
            emds: None,
        });
        let shared = InjectionState {
            vanishing: VanishSchedule::default(),
            struck: Arc::new(Mutex::new(StruckFaults::NONE)),
        };
        if faults.contains(FaultKind::SmallTables) {
            shared.record_fault(FaultKind::SmallTables);
        }
        if settings.road == CopyMethod::Queues && faults.contains(FaultKind::Refused) {
            shared.record_fault(FaultKind::Refused);
        }
        let mut job = Self {
            lockstep,
            nics,
            ranks: Vec::new(),
            placement,
            settings,
            segments: host.segments,
            nodes: memories.nodes,
            plan,
            shared,
            random,
            planned_death: faults.contains(FaultKind::Died).then_some(dies),
            ending: None,
        };
        for (rank, memory) in of_ranks.into_iter().enumerate() {
            let rank = job.start(rank, memory);
            job.ranks.push(rank);
        }
        job
    }

    fn start(&self, rank: usize, memory: SharedMemory) -> SimulatedRank {
        let said = Arc::new(Mutex::new(None));
        let (says, plan, shared) = (said.clone(), self.plan.clone(), self.shared.clone());
        let (placement, settings) = (self.placement.clone(), self.settings.clone());
        let nic = memory.nic().clone();
        let body = move || {
            let process = Process::hosted(memory, placement, number(rank), settings);
            let outcome = plan
                .run(&process, &shared)
                .and_then(|()| process.finalize());
            *lockstep::lock(&says) = Some(outcome.map_err(|error| error.to_string()));
        };
        let thread = self.lockstep.spawn(&format!("rank {rank}"), body);
        SimulatedRank {
            thread: thread.expect("the kernel starts a thread"),
            node: node_of(&self.placement, rank),
            outcome: said,
            memory: nic,
            ended: false,
        }
    }

    pub(super) fn run(mut self) -> SimulatedJobReport {
        let outcome = self.run_to_end();
        let fabric = self.nics.fabric();
        let mut struck = *lockstep::lock(&self.shared.struck);
        struck_faults(&fabric.fault_counts())
            .iter()
            .for_each(|kind| struck.insert(kind));
        SimulatedJobReport {
            nodes: self.placement.nodes(),
            ranks: self.placement.ranks(),
            strobe: self.settings.strobe,
            intranode: self.settings.intranode,
            slices: self.nics.strobes(),
            steps: self.lockstep.steps(),
            virtual_ns: self.lockstep.now_ns(),
            plan: self.plan.describe(),
            struck,
            trace_hash: self.lockstep.trace_hash() ^ fabric.trace_hash().rotate_left(1),
            end: outcome.clone().unwrap_or(JobEnd::Finalized),
            objection: outcome.err(),
        }
    }

    fn run_to_end(&mut self) -> Result<JobEnd, String> {
        let mut turns = 0;
        loop {
            let mut moved = false;
            // Sometimes the NICs are not as quick as the ranks.
            if self.random.random_range(0..4) > 0 {
                moved |= self.turn_nics()?;
            }
            moved |= self.lockstep.step();
            self.inject_due_faults();
            self.check_ranks()?;
            if let Some(end) = self.take_end() {
                return Ok(end);
            }
            if moved {
                turns += 1;
                if turns > MAX_TURNS {
                    return Err(self.describe_hang("does not end"));
                }
                continue;
            }
            if self.turn_nics()? {
                continue;
            }
            if self.ranks.iter().all(|rank| rank.ended) && self.nics.is_idle() {
                return self.check_end().map(|()| JobEnd::Finalized);
            }
            turns = 0;
            self.pass_time()?;
        }
    }

    /// Gives the NICs a turn. They may end the job because a receiver takes none of the messages
    /// that fill its pool (law 4), where the pool was made small.
    fn turn_nics(&mut self) -> Result<bool, String> {
        let objection = match self.nics.turn() {
            Ok(moved) => return Ok(moved),
            Err(objection) => objection,
        };
        let small = lockstep::lock(&self.shared.struck).contains(FaultKind::SmallTables);
        if small && objection.what.contains(NO_MATCHING_RECEIVE) {
            self.ending.get_or_insert((objection.what, 0));
            return Ok(false);
        }
        Err(format!("{:?}: {}", objection.checker, objection.what))
    }

    /// Injects the drawn faults that are due: deaths of ranks and of whole nodes, memory that
    /// vanishes.
    fn inject_due_faults(&mut self) {
        let now = self.lockstep.now_ns();
        self.shared.vanishing.remove_due(now);
        if let Some((rank, step)) = self.planned_death
            && self.lockstep.steps() >= step
        {
            self.planned_death = None;
            if !self.ranks[rank].ended && self.ending.is_none() {
                self.shared.record_fault(FaultKind::Died);
                self.lockstep.kill(self.ranks[rank].thread);
            }
        }
        let alive = self.nics.fabric().alive();
        for rank in 0..self.ranks.len() {
            let SimulatedRank {
                thread,
                node,
                ended: over,
                ..
            } = self.ranks[rank];
            if !over && !alive.contains(node) {
                self.lockstep.kill(thread);
            }
        }
    }

    fn check_ranks(&mut self) -> Result<(), String> {
        // Handle deaths first, because they make others fail.
        for rank in 0..self.ranks.len() {
            let SimulatedRank {
                thread,
                ended: over,
                ..
            } = self.ranks[rank];
            if !over && self.lockstep.thread_status(thread) == ThreadStatus::Dead {
                self.ranks[rank].ended = true;
                self.mark_dead(rank);
                self.end(format!("rank {rank} died"));
            }
        }
        for rank in 0..self.ranks.len() {
            let SimulatedRank {
                thread,
                ended: over,
                ..
            } = self.ranks[rank];
            if over {
                continue;
            }
            match self.lockstep.thread_status(thread) {
                ThreadStatus::Alive | ThreadStatus::Dead => continue,
                ThreadStatus::Panicked(words) => {
                    return Err(format!("rank {rank} panicked: {words}"));
                }
                ThreadStatus::Ended => self.ranks[rank].ended = true,
            }
            let said = lockstep::lock(&self.ranks[rank].outcome).take();
            if let Some(Err(error)) = said {
                if self.ending.is_none() {
                    return Err(format!(
                        "rank {rank} failed, though nobody has died: {error}"
                    ));
                }
                // An error that a program does not handle ends the job. The program has given up
                // its buffers, which others may still be about to read.
                let now = self.lockstep.now_ns();
                self.ending = Some((format!("rank {rank} failed: {error}"), now));
            }
        }
        Ok(())
    }

    /// Does what a node manager does when it sees that a rank has died.
    fn mark_dead(&self, rank: usize) {
        let node = self.ranks[rank].node;
        let pid = self.segments[node.index()].pid(number(rank));
        pid.expect("a rank").store(0, Ordering::Release);
        let place = self
            .placement
            .ranks_of(node)
            .position(|of| of == number(rank));
        let place = place.expect("a rank is on its node");
        self.nodes[node.index()]
            .process_id(place)
            .store(0, Ordering::Release);
    }

    /// Ends the job, if it is not ending already.
    fn end(&mut self, why: String) {
        let at = self.lockstep.now_ns() + self.random.random_range(0..MAX_ENDING_NS);
        self.ending.get_or_insert((why, at));
    }

    /// Returns the end of a job that is being ended, once all ranks are gone.
    fn take_end(&mut self) -> Option<JobEnd> {
        let (why, at) = self.ending.as_ref()?;
        if self.lockstep.now_ns() < *at {
            return None;
        }
        Some(JobEnd::Aborted(why.clone()))
    }

    fn pass_time(&mut self) -> Result<(), String> {
        let now = self.lockstep.now_ns();
        let ending = self.ending.as_ref().map(|(_, at)| *at);
        let next = [
            self.lockstep.next_ns(),
            self.nics.next_ns(),
            self.shared.vanishing.next_ns(),
            ending,
        ];
        match next.into_iter().flatten().min() {
            Some(at) if at <= DEADLINE_NS => {
                self.lockstep.advance(at.max(now));
                self.nics.fabric_mut().advance(at.max(now));
                Ok(())
            }
            Some(_) => Err(self.describe_hang("runs for ever")),
            None => Err(self.describe_hang("hangs")),
        }
    }

    fn describe_hang(&self, how: &str) -> String {
        let place = |(rank, of): (usize, &SimulatedRank)| match of.memory.wait_state() {
            Some((_, place)) if !of.ended => Some(format!("rank {rank} {place:?}")),
            _ => None,
        };
        let places: Vec<String> = self.ranks.iter().enumerate().filter_map(place).collect();
        let left = self.nics.table_leaks().into_iter();
        let left =
            left.map(|(node, thread, left)| format!("{} of node {node} has {left}", thread.name()));
        let left: Vec<String> = left.collect();
        format!(
            "the job {how} ({}): {:?}; {}; {}; {}",
            self.plan.describe(),
            self.nics,
            left.join(", "),
            self.lockstep.describe(),
            places.join("; ")
        )
    }

    /// Checks that the NICs' tables hold nothing except what the program has left behind, and that
    /// nothing is under way.
    fn check_end(&mut self) -> Result<(), String> {
        if !self.nics.fabric_mut().run_until_idle() {
            return Err("the job has ended, and what was said to its end never comes".to_owned());
        }
        let left = self.nics.table_leaks().into_iter();
        let mut forgotten = left.filter(|(_, _, left)| !left.programs);
        match forgotten.next() {
            Some((node, thread, left)) => {
                Err(format!("{} of node {node} still has {left}", thread.name()))
            }
            None => Ok(()),
        }
    }
}

fn number(rank: usize) -> u32 {
    u32::try_from(rank).expect("few ranks")
}

fn node_of(placement: &Placement, rank: usize) -> NodeId {
    placement.node_of(number(rank)).expect("placed")
}

/// Draws bounds so small that programs fill the tables.
fn draw_bounds(nodes: usize, random: &mut ChaCha8Rng) -> Bounds {
    Bounds {
        envelopes: random.random_range(nodes * 8..=64),
        outgoing: random.random_range(1..20),
        held: random.random_range(1..20),
        descriptors: random.random_range(1..8),
        completions: random.random_range(1..8),
        credits: random.random_range(1..3),
        contexts: random.random_range(24..40),
        ..Bounds::default()
    }
}

fn draw_settings(faults: FaultSet, random: &mut ChaCha8Rng) -> Settings {
    let either = |random: &mut ChaCha8Rng| random.random_bool(0.5);
    Settings {
        strobe: [StrobeMode::Elastic, StrobeMode::Fixed, StrobeMode::Auto]
            [random.random_range(0..3)],
        time_slice_ns: [100_000, 500_000][random.random_range(0..2)],
        eager_limit: [0, 64, 4096, 4096, 65_536][random.random_range(0..5)],
        // Small enough that messages are chunked.
        link_bandwidth: [100_000_000, 1_000_000_000, 4_000_000_000][random.random_range(0..3)],
        intranode: if random.random_range(0..4) > 0 {
            IntranodeTransport::Smartmap
        } else {
            IntranodeTransport::Nic
        },
        collectives: if random.random_range(0..4) > 0 {
            CollectiveMode::Hierarchical
        } else {
            CollectiveMode::Nic
        },
        road: if faults.contains(FaultKind::Refused) {
            CopyMethod::Queues
        } else {
            CopyMethod::Slots
        },
        folding: if either(random) {
            FoldingMode::Threaded
        } else {
            FoldingMode::Serial
        },
        soft_reduce_elements: [0, 3, 1 << 20][random.random_range(0..3)],
        ..Settings::default()
    }
}

/// Makes a rank that touches memory that it does not have die, instead of the simulator.
#[expect(unsafe_code, reason = "SIGSEGV of a rank is its death")]
fn die_of_bad_memory() {
    extern "C" fn handler(signal: libc::c_int) {
        // This never returns in a thread of a rank. It interrupted that thread's own access to
        // memory, and so no code of the lockstep.
        lockstep::kill_this_process();
        // SAFETY: the access is tried again, and ends the process.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: all zero is a valid value of this type.
        let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
        action.sa_sigaction = handler as extern "C" fn(libc::c_int) as usize;
        action.sa_flags = libc::SA_NODEFER;
        // SAFETY: the handler calls only what a handler may call.
        let installed =
            unsafe { libc::sigaction(libc::SIGSEGV, &raw const action, std::ptr::null_mut()) };
        assert_eq!(installed, 0, "a handler of SIGSEGV can be installed");
    });
}
