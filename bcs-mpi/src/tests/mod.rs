//! Several ranks as threads of one process, with a model of the machine: one OS thread is the
//! Strobe Sender and the NIC of all nodes.

mod alone;
mod collectives;
mod communicators;
mod create_group;
mod datatypes;
mod demand;
mod exchange;
mod groups;
mod hierarchical;
mod intercommunicators;
mod kept;
mod manual;
mod matched;
mod messages;
mod modes;
mod near_collectives;
mod neighborhoods;
mod operations;
mod persistent;
mod persistent_collectives;
mod probes;
mod safe;
mod spread_operations;
mod started;
mod topologies;
mod untyped;

use crate::bcs::Endpoint;
use crate::loopback::LoopbackNic;
use crate::mpi::Process;
use crate::mpi::process::place;
use crate::recording::{Destination, Recording};
use crate::rust::universe::Universe;
use bcs_core::clock::now_ns;
use bcs_core::job::{Intranode, Placement, Settings, Strobe};
use bcs_core::limits::DEFAULT_TIME_SLICE_NS;
use bcs_core::memory::machine_page::BellId;
use bcs_core::memory::{MachinePage, NicMemory, NodeMemory};
use bcs_core::node::NodeId;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A job of threads.
struct Machine {
    memories: Vec<NicMemory>,
    page: MachinePage,
    stop: AtomicBool,
    placement: Placement,
    settings: Settings,
}

impl Machine {
    fn new(ranks: usize, nodes: usize, settings: Settings) -> Self {
        let placement = Placement::block(ranks, nodes).unwrap();
        let memories = (0..nodes).flat_map(|node| {
            let places = placement
                .ranks_of(NodeId(u16::try_from(node).unwrap()))
                .count();
            let node = NodeMemory::private(places).unwrap();
            let memory = |place| {
                node.process(place)
                    .store(std::process::id(), Ordering::Release);
                let memory = NicMemory::private(settings.eager_limit).unwrap();
                match settings.intranode {
                    Intranode::Smartmap => memory.at_desk(node.clone(), place),
                    Intranode::Nic => memory,
                }
            };
            (0..places).map(memory).collect::<Vec<_>>()
        });
        Self {
            memories: memories.collect(),
            page: MachinePage::private(nodes, 2).unwrap(),
            stop: AtomicBool::new(false),
            placement,
            settings,
        }
    }

    fn process(&self, rank: usize, mds: Option<&Path>) -> Arc<Process> {
        let number = u32::try_from(rank).unwrap();
        let place = place(&self.placement, number);
        let memory = self.memories[rank].clone();
        let endpoint = Endpoint::new(memory, self.page.clone(), place, self.settings.clone());
        let destination = mds.map(|directory| Destination {
            directory: directory.to_owned(),
            job: "a test".to_owned(),
        });
        Process::over(
            endpoint,
            self.placement.clone(),
            None,
            Recording::new(number, destination),
        )
    }

    fn nic(&self) -> LoopbackNic {
        LoopbackNic::new(self.memories.clone(), self.page.clone())
    }

    /// Strikes slices as law 2 says, until the job stops. Returns how many.
    fn strobe(&self) -> u64 {
        let mut nic = self.nic();
        let slice_ns = DEFAULT_TIME_SLICE_NS;
        let mut slices = 0;
        let start = now_ns();
        while !self.stop.load(Ordering::Acquire) {
            let (armed, demanded) = self.page.wanted();
            let now = now_ns();
            if now - start > 120_000_000_000 {
                end_of_all("the job hangs");
            }
            let regular = armed && now % slice_ns + slice_ns / 10 > slice_ns;
            if demanded || regular {
                self.page.begin_slice(false);
                nic.slice();
                slices += 1;
                if nic.has_work() {
                    self.page.arm();
                    if self.settings.strobe == Strobe::Elastic && self.page.hungry() {
                        self.page.demand();
                    }
                }
                continue;
            }
            let next = if armed {
                now + slice_ns / 20
            } else {
                now + 1_000_000_000
            };
            bcs_core::bell::sleep(
                self.page.bell(BellId::STROBE_SENDER),
                &bcs_core::bell::KernelFutex,
                Some(next),
                || self.page.wanted() != (armed, demanded) || self.stop.load(Ordering::Acquire),
            );
        }
        slices
    }

    /// Runs `body` in every rank, and finalises. Returns how many slices were struck.
    fn run(&self, body: impl Fn(&Universe) + Sync) -> u64 {
        self.run_recorded(None, body)
    }

    fn run_recorded(&self, mds: Option<&Path>, body: impl Fn(&Universe) + Sync) -> u64 {
        std::thread::scope(|threads| {
            let strobe = threads.spawn(|| self.strobe());
            let body = &body;
            let ranks: Vec<_> = (0..self.memories.len())
                .map(|rank| {
                    threads.spawn(move || {
                        let universe = Universe::over(self.process(rank, mds));
                        body(&universe);
                        universe.finalize().unwrap();
                    })
                })
                .collect();
            for (rank, thread) in ranks.into_iter().enumerate() {
                // The others may wait for it for ever.
                if let Err(panic) = thread.join() {
                    let said = panic
                        .downcast_ref::<String>()
                        .map(String::as_str)
                        .or_else(|| panic.downcast_ref::<&str>().copied());
                    end_of_all(&format!("rank {rank} failed: {}", said.unwrap_or("?")));
                }
            }
            self.stop.store(true, Ordering::Release);
            self.page.ring(BellId::STROBE_SENDER);
            strobe.join().unwrap()
        })
    }
}

/// Ends the test process, because ranks are left that nobody can join. Says so past the harness,
/// which keeps what tests print for their ends.
fn end_of_all(why: &str) -> ! {
    let test = std::thread::current();
    let test = test.name().unwrap_or("a thread of a test");
    let _ = writeln!(std::io::stderr(), "{test}: {why}");
    std::process::abort()
}

/// Runs `body` in so many ranks on so many nodes, with both strobes.
fn run(ranks: usize, nodes: usize, body: impl Fn(&Universe) + Sync) {
    for strobe in [Strobe::Elastic, Strobe::Fixed] {
        let settings = Settings {
            strobe,
            ..Settings::default()
        };
        Machine::new(ranks, nodes, settings).run(&body);
    }
}
