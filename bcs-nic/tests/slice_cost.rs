//! The cost of a slice for the shared driver's OS thread on an idle machine: figures to tune by,
//! not a promise (`cargo xtask check slice-cpu` has those).
//!
//! `cargo test --release -p bcs-nic --test slice_cost -- --ignored --nocapture`; `BCS_EMDS=1`
//! records the slices.

use bcs_core::check_bits::CheckBits;
use bcs_core::descriptor::{
    CollectiveDescriptor, CollectiveKind, Payload, ReceiveDescriptor, ReceiveKind, SendDescriptor,
};
use bcs_core::job::{Cores, NicThreading, NodeId, Placement, Settings};
use bcs_core::layout::Location;
use bcs_core::memory::ring::Producer;
use bcs_core::memory::{MappedWords, NicMemory};
use bcs_core::request::RequestId;
use bcs_core::wake::MachinePage;
use bcs_fabric::shm::Segment;
use bcs_nic::bounds::Bounds;
use bcs_nic::driver::{ManualNics, NicHostConfig};
use mds::selection::NodeSelection;
use std::sync::Arc;
use std::time::Instant;

const ROUNDS: u32 = 20_000;

/// One rank on each of some nodes, which posts without waiting.
struct Job {
    nics: ManualNics,
    memories: Vec<NicMemory>,
    sends: Vec<Producer<MappedWords>>,
    receives: Vec<Producer<MappedWords>>,
    collectives: Vec<Producer<MappedWords>>,
    posted: u32,
    sequence: u64,
}

impl Job {
    fn new(nodes: usize, all_phases: bool) -> Self {
        let settings = Settings {
            driver: NicThreading::Shared,
            all_phases,
            ..Settings::default()
        };
        let memories: Vec<_> = (0..nodes)
            .map(|_| NicMemory::private(settings.eager_limit).unwrap())
            .collect();
        let ring = |layout| {
            let of = |memory: &NicMemory| Producer::new(memory.words(), layout);
            memories.iter().map(of).collect()
        };
        let (sends, receives, collectives) = (
            ring(NicMemory::send_ring()),
            ring(NicMemory::receive_ring()),
            ring(NicMemory::collective_ring()),
        );
        let nics = ManualNics::new(&NicHostConfig {
            placement: Placement::block(nodes, nodes).unwrap(),
            settings,
            bounds: Bounds::default(),
            bug: None,
            nodes: (0..nodes).map(NodeId::from_index).collect(),
            strobe_sender: true,
            segment: Segment::private(nodes, nodes).unwrap(),
            page: MachinePage::private(nodes, 64).unwrap(),
            nic_memory: Arc::new(memories.iter().cloned().map(Some).collect()),
            cores: Cores::default(),
            emds: std::env::var_os("BCS_EMDS").map(|_| NodeSelection::default()),
            far: None,
        });
        Self {
            nics,
            memories,
            sends,
            receives,
            collectives,
            posted: 0,
            sequence: 0,
        }
    }

    fn request(&mut self) -> RequestId {
        self.posted += 1;
        RequestId {
            slot: 1 + self.posted % 1000,
            generation: self.posted,
        }
    }

    fn message(&mut self, from: u32, to: u32) {
        let request = self.request();
        let receive = ReceiveDescriptor {
            request,
            context: 0,
            source: Some(from),
            tag: Some(3),
            kind: ReceiveKind::Receive {
                into: Location::contiguous(4096),
                capacity: 8,
                shared: false,
            },
        };
        self.receives[to as usize].push(&receive.encode()).unwrap();
        let send = SendDescriptor {
            request: RequestId::default(),
            needs_completion: false,
            context: 0,
            destination: to,
            tag: 3,
            len: 8,
            check_bits: CheckBits::NONE,
            payload: Payload::Inline([7; 64]),
            one_sided: None,
        };
        self.sends[from as usize].push(&send.encode()).unwrap();
    }

    fn collective(&mut self, kind: CollectiveKind, bytes: u64) {
        for rank in 0..self.memories.len() {
            let descriptor = CollectiveDescriptor {
                request: self.request(),
                context: 0,
                sequence: self.sequence,
                kind,
                bytes,
                input: 0,
                output: 0,
                inline: Some([0; 64]),
                for_node: false,
                unreadable_member: None,
            };
            self.collectives[rank].push(&descriptor.encode()).unwrap();
        }
        self.sequence += 1;
    }

    fn completions(&self) -> u64 {
        let of = |memory: &NicMemory| {
            memory
                .completions()
                .load(std::sync::atomic::Ordering::Relaxed)
        };
        self.memories.iter().map(of).sum()
    }

    /// Returns the nanoseconds of a slice, including its posts.
    fn time(&mut self, what: &str, completions: u64, mut post: impl FnMut(&mut Self)) {
        if std::env::var("BCS_OPS").is_ok_and(|ops| !ops.split(',').any(|op| op == what)) {
            return;
        }
        for warm in [true, false] {
            let (before, began) = (self.completions(), Instant::now());
            for _ in 0..ROUNDS {
                post(self);
                assert_eq!(self.nics.slice(), []);
            }
            let ns = began.elapsed().as_nanos() / u128::from(ROUNDS);
            assert_eq!(self.completions() - before, completions * u64::from(ROUNDS));
            if !warm {
                println!("{what}, {} nodes: {ns} ns", self.memories.len());
            }
        }
    }
}

/// Returns the numbers of nodes. `BCS_NODES=2,16` sets them, `BCS_OPS=empty,barrier` the
/// operations.
fn nodes() -> Vec<usize> {
    let asked = std::env::var("BCS_NODES").unwrap_or_else(|_| "2,4,16".to_owned());
    asked
        .split(',')
        .map(|nodes| nodes.parse().unwrap())
        .collect()
}

#[test]
#[ignore = "prints figures"]
fn a_slice_costs() {
    use bcs_core::reduction::{Datatype, Op};
    for nodes in nodes() {
        let all = nodes as u64;
        let mut job = Job::new(nodes, false);
        job.time("empty", 0, |_| ());
        job.time("8 bytes", 1, |job| job.message(0, 1));
        job.time("64 times 8 bytes", 64, |job| {
            (0..64).for_each(|_| job.message(0, 1));
        });
        job.time("barrier", all, |job| {
            job.collective(CollectiveKind::Barrier, 0)
        });
        let bcast = CollectiveKind::Broadcast { root: 0 };
        job.time("broadcast 8 bytes", all, |job| job.collective(bcast, 8));
        let sum = CollectiveKind::Reduce {
            root: None,
            op: Op::Sum,
            datatype: Datatype::Double,
        };
        job.time("allreduce 8 bytes", all, |job| job.collective(sum, 8));
        Job::new(nodes, true).time("all phases, empty", 0, |_| ());
    }
}
