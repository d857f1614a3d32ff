//! Drivers: how OS threads run the NIC threads of a node (docs/nic.md).
//!
//! | driver | OS threads |
//! |---|---|
//! | shared | one, for the Strobe Sender, the sequencer and all NICs of the machine |
//! | coprocessor | one per NIC, and one for the Strobe Sender and the sequencer |
//! | dedicated | one per NIC thread, and one for the Strobe Sender and the sequencer |
//!
//! An OS thread ([`os_thread`]) runs any number of state machines, whatever the driver, and sleeps
//! on one bell. Mail between state machines of one OS thread goes through a queue; between OS
//! threads it goes through a channel, and the sender rings the bell. Tests may drive the shared
//! driver's machines by hand ([`ManualNics`]).

mod alarm;
mod configuration;
mod manual_nics;
mod os_thread;
mod os_thread_plan;
mod placement;
mod remote_hosts;
mod reports;
mod state_machines;
mod worker;

pub use configuration::NicHostConfig;
pub use manual_nics::ManualNics;
pub use placement::{ThreadPlacement, UnpinnedReason, place_os_threads};
pub use remote_hosts::RemoteHosts;
pub use reports::{NicHostEvent, Recordings};

use crate::bug::{BuggyThread, PlantedBug};
use crate::threads::{
    BufferReceiver, BufferSender, CollectiveHelper, DmaHelper, NicThread, NodeConfig, ReduceHelper,
    StalledWork, StrobeReceiver, StrobeSender, UnmatchedOperations,
};
use bcs_core::clock::now_ns;
use bcs_core::job::{NicThreadId, NicThreading, NodeId, StrobeMode};
use bcs_core::matching::{MessageEnvelope, Pattern};
use bcs_core::wake::machine_page::BellId;
use bcs_core::wake::waiting::WaitPolicy;
use bcs_core::wake::{MachinePage, bell, home_core, scheduling};
use bcs_fabric::shm::{ColocatedPorts, PendingBells, RankMemoryAccess, Sequencer, ShmPort};
use bcs_fabric::udp::{InboundBytes, RejectedDatagrams};
use crossbeam_channel::Receiver;
use mds::emds::StrobeRecorder;
use os_thread::OsThread;
use os_thread_plan::{Mailboxes, OsThreadPlan};
use remote_hosts::DatagramThread;
use reports::NicHostEventHandler;
use state_machines::{
    AddressedMail, HostedNicThread, Routes, StateMachines, StateMachinesConfig, StrobeParts,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use worker::MachineRegistry;

/// The running NICs of this process.
#[derive(Debug)]
pub struct NicHost {
    page: MachinePage,
    /// Not in the machine page, where a rank could write it.
    stop: Arc<AtomicBool>,
    stations: Arc<MachineRegistry>,
    threads: Vec<(BellId, JoinHandle<Recordings>)>,
    far: Option<DatagramThread>,
}

impl NicHost {
    /// Starts the OS threads.
    ///
    /// `report` is called from an OS thread of the NIC.
    ///
    /// # Errors
    /// When an OS thread cannot be started.
    pub fn start(
        config: NicHostConfig,
        report: impl Fn(NicHostEvent) + Send + Sync + 'static,
    ) -> std::io::Result<Self> {
        let plan = plan_os_threads(&config);
        let placed = place_os_threads(config.settings.driver, &config.placement, &config.cores);
        let Mailboxes { routes, inboxes } = Mailboxes::new(&plan, &config.page);
        let report: Arc<NicHostEventHandler> = Arc::new(report);
        let machines = |(crew, inbox): (OsThreadPlan, _)| {
            let machines =
                StateMachines::new(state_machines_config(&crew, &config, routes.clone(), inbox));
            (crew, machines)
        };
        let all = plan.iter().cloned().zip(inboxes).map(machines).collect();
        let stations = Arc::new(MachineRegistry::new(all));
        let mut host = Self {
            page: config.page.clone(),
            stop: Arc::new(AtomicBool::new(false)),
            stations: stations.clone(),
            threads: Vec::new(),
            far: None,
        };
        if let Some(far) = config.far.as_ref().filter(|_| !config.strobe_sender)
            && far.wires.hub().speaks_for_host()
        {
            // A thread that wants a strobe rings the OS thread that passes the request on.
            config.page.redirect(BellId::STROBE_SENDER, plan[0].bell);
        }
        for (place, crew) in plan.into_iter().enumerate() {
            let core = placement::core_of(&crew.name, &placed);
            let home = crew.node().filter(|_| core.is_none());
            let (page, far) = (config.page.clone(), config.far.clone());
            let thread = OsThread::new(stations.clone(), place, page, crew.patience, far);
            let (report, stop) = (report.clone(), host.stop.clone());
            let handle = std::thread::Builder::new().name(crew.name).spawn(move || {
                placement::pin(core);
                home.into_iter()
                    .for_each(|node| home_core::set_home_core(node, 1));
                scheduling::prefer_short_slices();
                scheduling::prefer_exact_timers();
                thread.run(&stop, &*report)
            })?;
            host.threads.push((crew.bell, handle));
        }
        if let Some(far) = config.far {
            host.far = Some(DatagramThread::start(
                far,
                stations,
                config.page,
                host.stop.clone(),
                report,
            )?);
        }
        Ok(host)
    }

    /// Returns how often these OS threads have slept so far, if all sleep until somebody rings
    /// ([`bell`]). Then nothing moves in these NICs, and none of them polls a clock. Data in flight
    /// to another machine still move, however long that takes. The number also grows when the
    /// thread that waits for datagrams has worked.
    #[must_use]
    pub fn sleep_count(&self) -> Option<u64> {
        let wakes = match &self.far {
            Some(far) => far.rest_count()?,
            None => 0,
        };
        let bells = self.threads.iter().map(|(bell, _)| self.page.bell(*bell));
        Some(bell::total_sleeps(bells)?.wrapping_add(wakes))
    }

    /// Returns the oldest message for this pattern that came for a rank and was not received, if
    /// the thread that holds it is at rest.
    #[must_use]
    pub fn oldest_unmatched_message(&self, rank: u32, pattern: Pattern) -> Option<MessageEnvelope> {
        self.stations.oldest_unmatched_message(rank, pattern)
    }

    /// Returns the operations that wait for their match at a rank, at most `most` of each kind, if
    /// their holder can be queried without delay.
    #[must_use]
    pub fn unmatched_operations(&self, rank: u32, most: usize) -> Option<UnmatchedOperations> {
        self.stations.unmatched_operations(rank, most)
    }

    /// Returns the work that these NICs hold and only a slice can advance, though no slice is
    /// wanted on this machine. If nothing moves in the job that is a bug of the runtime, since a
    /// NIC thread demands a slice for what it holds (law 2).
    #[must_use]
    pub fn stalled_work(&self) -> Option<StalledWork> {
        let held = self.stations.stalled_work()?;
        (self.page.wanted() == (false, false)).then_some(held)
    }

    /// Demands a slice at once.
    pub fn demand_slice(&self) {
        self.page.demand();
    }

    /// Tells the Strobe Sender, if it is here, that the job is over: it strikes the slices that are
    /// still wanted, then no more, and reports [`NicHostEvent::Quiesced`]. Only then have all NICs
    /// of the job got what ranks have posted.
    pub fn quiesce(&self) {
        self.stations.quiesce();
        self.page.ring(BellId::STROBE_SENDER);
    }

    /// Returns the number of datagrams from other machines that were rejected so far.
    #[must_use]
    pub fn rejected_datagrams(&self) -> RejectedDatagrams {
        let far = self.far.as_ref();
        far.map(DatagramThread::rejected_datagrams)
            .unwrap_or_default()
    }

    /// Returns by which paths the bytes of messages from other machines have come to ranks so far.
    #[must_use]
    pub fn inbound_bytes(&self) -> InboundBytes {
        let far = self.far.as_ref();
        far.map(DatagramThread::inbound_bytes).unwrap_or_default()
    }

    /// Stops the OS threads, waits for them, and returns what was recorded.
    #[must_use]
    pub fn stop(self) -> Recordings {
        self.stop.store(true, Ordering::Release);
        for (bell, _) in &self.threads {
            self.page.ring(*bell);
        }
        if let Some(far) = self.far {
            far.stop();
        }
        let mut all = Recordings::default();
        for (_, handle) in self.threads {
            match handle.join() {
                Ok(mut recordings) => {
                    all.nodes.append(&mut recordings.nodes);
                    all.global = all.global.or(recordings.global);
                    all.left_over.append(&mut recordings.left_over);
                    all.left_by_ranks.append(&mut recordings.left_by_ranks);
                }
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        all
    }
}

/// Returns the OS threads, with the NIC threads that each runs.
fn plan_os_threads(config: &NicHostConfig) -> Vec<OsThreadPlan> {
    let patience = |strobes| match config.settings.strobe {
        StrobeMode::Elastic => WaitPolicy::ELASTIC_NIC,
        StrobeMode::Fixed | StrobeMode::Auto if strobes => WaitPolicy::NIC,
        StrobeMode::Fixed | StrobeMode::Auto => WaitPolicy::BETWEEN_STROBES,
    };
    let strobe_sender = |name: &str, hosted: Vec<(NodeId, NicThreadId)>| OsThreadPlan {
        name: name.to_owned(),
        bell: BellId::STROBE_SENDER,
        strobes: config.strobe_sender,
        hosts_all: hosted.len() == config.placement.nodes() * NicThreadId::COUNT,
        patience: patience(config.strobe_sender),
        hosted,
    };
    let of = |node: NodeId| NicThreadId::ALL.map(|thread| (node, thread)).to_vec();
    let mut crews = Vec::new();
    match config.settings.driver {
        NicThreading::Shared => {
            let hosted = config.nodes.iter().flat_map(|&node| of(node)).collect();
            crews.push(strobe_sender("bcs-nic", hosted));
        }
        driver => {
            if config.strobe_sender {
                crews.push(strobe_sender("bcs-SS", Vec::new()));
            }
            for &node in &config.nodes {
                if driver == NicThreading::Coprocessor {
                    crews.push(OsThreadPlan {
                        name: format!("bcs-nic-{node}"),
                        bell: BellId::for_nic_thread(node, NicThreadId::StrobeReceiver),
                        strobes: false,
                        hosts_all: false,
                        patience: patience(false),
                        hosted: of(node),
                    });
                    continue;
                }
                crews.extend(of(node).into_iter().map(|(node, thread)| OsThreadPlan {
                    name: format!("bcs-{}-{node}", thread.name()),
                    bell: BellId::for_nic_thread(node, thread),
                    strobes: false,
                    hosts_all: false,
                    patience: patience(false),
                    hosted: vec![(node, thread)],
                }));
            }
        }
    }
    crews
}

fn memory(config: &NicHostConfig) -> RankMemoryAccess {
    let memory = RankMemoryAccess::new(config.segment.clone(), config.nic_memory.clone());
    memory.with_settings(&config.settings)
}

/// Returns the configuration of an OS thread's state machines.
fn state_machines_config(
    crew: &OsThreadPlan,
    config: &NicHostConfig,
    routes: Arc<Routes>,
    inbox: Receiver<AddressedMail>,
) -> StateMachinesConfig {
    let colocated = crew
        .hosts_all
        .then(|| ColocatedPorts::new(config.placement.nodes()));
    let bells = PendingBells::default();
    StateMachinesConfig {
        seats: hosted_threads(crew, config, &bells, colocated.as_ref()),
        strobing: strobe_parts(crew, config, &bells, colocated.as_ref()),
        colocated,
        bells,
        routes,
        inbox,
        page: config.page.clone(),
        memories: config.nic_memory.clone(),
        is_recorded: config.emds.is_some(),
    }
}

/// Creates the state machines of an OS thread.
fn hosted_threads(
    crew: &OsThreadPlan,
    config: &NicHostConfig,
    bells: &PendingBells,
    colocated: Option<&ColocatedPorts>,
) -> Vec<HostedNicThread> {
    let placement = Arc::new(config.placement.clone());
    let settings = Arc::new(config.settings.clone());
    let mut last: Option<NodeConfig> = None;
    crew.hosted
        .iter()
        .map(|&(node, thread)| {
            let node_config = match &last {
                Some(config) if config.node == node => config.clone(),
                _ => {
                    let ranks = placement
                        .ranks_of(node)
                        .map(|rank| {
                            let memory = config.nic_memory[rank as usize].clone();
                            (rank, memory.expect("a hosted rank has NIC memory"))
                        })
                        .collect();
                    NodeConfig {
                        node,
                        placement: placement.clone(),
                        settings: settings.clone(),
                        page: config.page.clone(),
                        ranks: Arc::new(ranks),
                        bounds: config.bounds,
                        emds: config.window(node),
                    }
                }
            };
            last = Some(node_config.clone());
            HostedNicThread {
                node,
                thread,
                machine: new_nic_thread(thread, node_config, config.bug),
                port: {
                    let near = ShmPort::new(
                        config.segment.clone(),
                        bells.clone(),
                        memory(config),
                        node,
                        thread,
                    );
                    let who = Some((node, thread));
                    remote_hosts::port(
                        config.far.as_ref(),
                        near.with_colocated(colocated.cloned()),
                        who,
                    )
                },
                memory: memory(config),
                looks: false,
                worked_ns: 0,
            }
        })
        .collect()
}

/// Creates the state machine of a NIC thread, in which tests may plant a bug.
pub(crate) fn new_nic_thread(
    thread: NicThreadId,
    config: NodeConfig,
    bug: Option<PlantedBug>,
) -> Box<dyn NicThread> {
    if let Some(bug) = bug.filter(|bug| bug.applies_to(config.node, thread)) {
        let sound = new_nic_thread(thread, config.clone(), None);
        return Box::new(BuggyThread::new(bug, config, sound));
    }
    match thread {
        NicThreadId::StrobeReceiver => Box::new(StrobeReceiver::new(config)),
        NicThreadId::BufferSender => Box::new(BufferSender::new(config)),
        NicThreadId::BufferReceiver => Box::new(BufferReceiver::new(config)),
        NicThreadId::DmaHelper => Box::new(DmaHelper::new(config)),
        NicThreadId::CollectiveHelper => Box::new(CollectiveHelper::new(config)),
        NicThreadId::ReduceHelper => Box::new(ReduceHelper::new(config)),
    }
}

fn strobe_parts(
    crew: &OsThreadPlan,
    config: &NicHostConfig,
    bells: &PendingBells,
    colocated: Option<&ColocatedPorts>,
) -> Option<StrobeParts> {
    let far = config.far.as_ref();
    let sequencer = || {
        let sequencer = Sequencer::new(config.segment.clone(), bells.clone());
        sequencer.with_ledger(far.and_then(|far| far.ledger.clone()))
    };
    let port = ShmPort::strobe_sender(config.segment.clone(), bells.clone(), memory(config));
    crew.strobes.then(|| StrobeParts {
        sender: StrobeSender::new(
            Arc::new(config.settings.clone()),
            config.page.clone(),
            &config.placement,
            now_ns(),
        )
        .with_recording(config.emds.is_some()),
        sequencer: colocated.is_none().then(sequencer),
        port: remote_hosts::port(far, port.with_colocated(colocated.cloned()), None),
        recorder: config
            .emds
            .as_ref()
            .map(|emds| StrobeRecorder::new(1, emds.window)),
        rest_is_said: false,
    })
}
