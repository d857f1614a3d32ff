//! Several ranks as threads of one process, over the NICs of all their nodes: the state machines,
//! the drivers and the shared-memory fabric of a job, whose OS threads run in this process, too.
//! Only node managers, and borders between processes, are absent.

mod arguments;
mod async_operations;
mod blocks_by_leaders;
mod collectives;
mod communicators;
mod concurrent_progress;
mod create_group;
mod datatypes;
mod demand;
mod drivers;
mod exchange;
mod groups;
mod hierarchical;
mod immediate;
mod intercommunicators;
mod invalid_calls;
mod leaks;
mod manual;
mod matched;
mod messages;
mod modes;
mod near_collectives;
mod neighborhoods;
mod neighbors;
mod one_sided;
mod operations;
mod peers;
mod persistent;
mod persistent_collectives;
mod probes;
mod properties;
mod recorded;
mod safe;
mod side_by_side;
mod single_values;
mod spread_operations;
mod started;
mod statistics;
mod structures;
mod topologies;
mod unchecked_memory;
mod untyped;
mod views;
mod waiting;
mod window_races;
mod windows;
mod world_of_one;
mod wraps;

use crate::bcs::{Endpoint, LeakCounts};
use crate::mpi::Process;
use crate::mpi::process::place;
use crate::recording::{RecorderSetup, Recording};
use crate::rust::universe::Universe;
use crate::shared_memory::SharedMemory;
use bcs_core::clock::now_ns;
use bcs_core::job::{Cores, IntranodeTransport, NodeId, Placement, Settings, StrobeMode};
use bcs_core::memory::{NicMemory, RecorderFile, RecorderMemory};
use bcs_core::smartmap::{NodeMemory, RankArea};
use bcs_core::wake::MachinePage;
use bcs_fabric::shm::Segment;
use bcs_nic::bounds::Bounds;
use bcs_nic::driver::{NicHost, NicHostConfig};
use mds::dump::RankDump;
use mds::mmds::{RecorderLayout, UncheckedWords};
use mds::selection::{NodeSelection, RankSelection, SliceWindow};
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// A job that takes longer is taken to hang. The longest takes some seconds on two cores.
const HANGS: Duration = Duration::from_secs(120);

/// A job of threads.
pub(crate) struct Machine {
    pub(crate) memories: Vec<SharedMemory>,
    page: MachinePage,
    pub(crate) placement: Placement,
    pub(crate) settings: Settings,
    /// Whether the program may leave requests and messages behind.
    may_leave: bool,
}

impl Machine {
    pub(crate) fn new(ranks: usize, nodes: usize, settings: Settings) -> Self {
        let placement = Placement::block(ranks, nodes).unwrap();
        let page = MachinePage::private(nodes, 2).unwrap();
        let memories = (0..nodes).flat_map(|node| {
            let places = placement
                .ranks_of(NodeId(u16::try_from(node).unwrap()))
                .count();
            let node = NodeMemory::private(places).unwrap();
            let memory = |place| {
                node.process_id(place)
                    .store(std::process::id(), Ordering::Release);
                let nic = NicMemory::private(settings.eager_limit).unwrap();
                let node = node.clone();
                let desk = match settings.intranode {
                    IntranodeTransport::Smartmap => Some(RankArea { node, place }),
                    IntranodeTransport::Nic => None,
                };
                SharedMemory::new(nic, desk, page.clone())
            };
            (0..places).map(memory).collect::<Vec<_>>()
        });
        Self {
            memories: memories.collect(),
            page,
            placement,
            settings,
            may_leave: false,
        }
    }

    fn process(&self, rank: usize, recorder: Option<&RecorderFile>) -> Arc<Process> {
        let number = u32::try_from(rank).unwrap();
        let place = place(&self.placement, number);
        let memory = self.memories[rank].clone();
        let record = recorder.map(|file| RecorderSetup {
            memory: RecorderMemory::map(file.fd(), self.layout().words()).unwrap(),
            layout: self.layout(),
            selection: RankSelection::default(),
            window: SliceWindow::default(),
        });
        let recording = Recording::new(record, memory.page.clone());
        let endpoint = Endpoint::new(memory, place, self.settings.clone());
        Process::with_endpoint(endpoint, self.placement.clone(), None, recording)
    }

    /// Returns the layout of a rank's recorder.
    fn layout(&self) -> RecorderLayout {
        let (what, ranks) = (RankSelection::default(), self.memories.len());
        RecorderLayout::new(&what, SliceWindow::default(), ranks)
    }

    /// Returns the configuration of all nodes' NICs, whose ranks are this process.
    pub(crate) fn nics(&self) -> NicHostConfig {
        let nodes = self.placement.nodes();
        let segment = Segment::private(nodes, self.memories.len()).unwrap();
        for rank in (0u32..).take(self.memories.len()) {
            let pid = segment.pid(rank).unwrap();
            pid.store(std::process::id(), Ordering::Release);
        }
        NicHostConfig {
            placement: self.placement.clone(),
            settings: self.settings.clone(),
            bounds: Bounds::default(),
            bug: None,
            nodes: (0..nodes).map(NodeId::from_index).collect(),
            strobe_sender: true,
            segment,
            page: self.page.clone(),
            nic_memory: Arc::new(
                self.memories
                    .iter()
                    .map(|memory| Some(memory.nic.clone()))
                    .collect(),
            ),
            cores: Cores::default(),
            emds: Some(NodeSelection::default()),
            far: None,
        }
    }

    /// Checks what a rank leaves behind when it has finalised.
    fn look_at_the_end(&self, process: &Process) {
        let left = process.endpoint().bcs_leak_counts();
        let nothing = self.may_leave || left == LeakCounts::default();
        assert!(nothing, "it has left {left}");
    }

    /// Runs `body` in every rank, and finalises. Returns the number of slices.
    fn run(&self, body: impl Fn(&Universe) + Sync) -> u64 {
        self.run_with(&[], body)
    }

    /// Does the same with recording, and returns the records of each rank.
    fn run_recorded(&self, body: impl Fn(&Universe) + Sync) -> Vec<RankDump> {
        let words = self.layout().words();
        let recorder = |_| RecorderFile::create(words).unwrap();
        let recorders: Vec<_> = (0..self.memories.len()).map(recorder).collect();
        self.run_with(&recorders, body);
        let dump = |file| mds::mmds::read(&RecordedRank(file), &self.layout(), now_ns()).unwrap();
        recorders.into_iter().map(dump).collect()
    }

    fn run_with(&self, recorders: &[RecorderFile], body: impl Fn(&Universe) + Sync) -> u64 {
        let test = name_of_test();
        let report = move |news| end_of_all(&test, &format!("a NIC gave up: {news:?}"));
        let nics = NicHost::start(self.nics(), report).unwrap();
        let test = name_of_test();
        std::thread::scope(|threads| {
            let (over, is_over) = channel::<()>();
            let watched = test.clone();
            threads.spawn(move || {
                if is_over.recv_timeout(HANGS) == Err(RecvTimeoutError::Timeout) {
                    end_of_all(&watched, "the job hangs");
                }
            });
            let body = &body;
            let ranks: Vec<_> = (0..self.memories.len())
                .map(|rank| {
                    threads.spawn(move || {
                        let universe = Universe::over(self.process(rank, recorders.get(rank)));
                        let process = universe.process().clone();
                        body(&universe);
                        universe.finalize().unwrap();
                        self.look_at_the_end(&process);
                    })
                })
                .collect();
            for (rank, thread) in ranks.into_iter().enumerate() {
                // The other ranks may wait for this one for ever.
                if let Err(panic) = thread.join() {
                    let said = panic
                        .downcast_ref::<String>()
                        .map(String::as_str)
                        .or_else(|| panic.downcast_ref::<&str>().copied());
                    let said = said.unwrap_or("?");
                    end_of_all(&test, &format!("rank {rank} failed: {said}"));
                }
            }
            drop(over);
        });
        let recordings = nics.stop();
        assert_eq!(recordings.left_over, [], "the tables of the NICs");
        let strobes = recordings.global.expect("the Strobe Sender ran here");
        strobes.gtts_ns.count
    }
}

/// The recorder of a rank after its end.
struct RecordedRank(RecorderFile);

impl UncheckedWords for RecordedRank {
    fn read(&self, first: usize, words: &mut [u64]) -> std::io::Result<()> {
        Ok(self.0.read(first, words)?)
    }
}

fn name_of_test() -> String {
    let test = std::thread::current();
    test.name().unwrap_or("a test").to_owned()
}

/// Ends the test process, because ranks are left that cannot be joined. Prints the reason past the
/// harness, which holds back the output of tests until they end.
fn end_of_all(test: &str, why: &str) -> ! {
    let _ = writeln!(std::io::stderr(), "{test}: {why}");
    std::process::abort()
}

/// Runs `body` in this number of ranks and nodes, with both strobes and both transports within a
/// node.
fn run(ranks: usize, nodes: usize, body: impl Fn(&Universe) + Sync) {
    run_with(ranks, nodes, &Settings::default(), body);
}

/// Does the same with other settings.
fn run_with(ranks: usize, nodes: usize, settings: &Settings, body: impl Fn(&Universe) + Sync) {
    for intranode in [IntranodeTransport::Smartmap, IntranodeTransport::Nic] {
        for strobe in [StrobeMode::Elastic, StrobeMode::Fixed] {
            let settings = Settings {
                strobe,
                intranode,
                ..settings.clone()
            };
            Machine::new(ranks, nodes, settings).run(&body);
        }
    }
}
