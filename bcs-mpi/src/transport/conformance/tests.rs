//! The rules over the bare transports, in virtual time; and planted bugs, each of which breaks the
//! expected rules.

use super::buggy_transport::{Bug, BuggyTransport, SlotNumber};
use super::in_process::{self, InProcessTransport};
use super::{ConformanceRank, Rule, RuleViolation, rules};
use crate::shared_memory::SharedMemory;
use crate::tests::Machine;
use crate::transport::nic::NicTransport;
use crate::transport::smartmap::{PeerMemory, SmartMap};
use crate::transport::{Mux, RequestOutcome, Transport, TransportHandle};
use bcs_core::job::{IntranodeTransport, NodeRanks, Settings};
use bcs_core::lockstep::{self, Lockstep, ThreadStatus};
use bcs_core::smartmap::RankArea;
use bcs_nic::driver::ManualNics;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// A world hangs when each of its ranks has made this many steps and no request has ended.
const HANGS: u64 = 2_000;

/// The ends of a transport at all ranks, and the NICs that serve them.
struct World<R> {
    roads: Vec<R>,
    nics: Option<ManualNics>,
}

/// A rank of it.
struct Member<R> {
    road: R,
    rank: u32,
    ranks: u32,
    came: Arc<AtomicU64>,
}

impl<R: Transport + Send> ConformanceRank for Member<R> {
    type ConformanceTransport = R;

    fn transport(&mut self) -> &mut R {
        &mut self.road
    }

    fn first(&self) -> u32 {
        0
    }

    fn rank(&self) -> u32 {
        self.rank
    }

    fn ranks(&self) -> u32 {
        self.ranks
    }

    fn pause(&mut self) {
        lockstep::pause();
    }

    fn wait(&mut self, request: R::Request) -> RequestOutcome {
        loop {
            self.road.progress();
            if let Some(outcome) = self.road.take(request) {
                self.came.fetch_add(1, Ordering::Relaxed);
                return outcome;
            }
            self.pause();
        }
    }

    fn in_thread(&self) -> Option<Self> {
        None
    }
}

/// Checks whether a rule is kept in a world. Returns how it is broken, if not.
fn check<R>(world: World<R>, rule: &Rule<Member<R>>, seed: u64) -> Result<(), String>
where
    R: Transport + Send + 'static,
{
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    // A choice takes 32 bits and a time 64: bugs are planted where these seeds show them.
    let lockstep = Lockstep::drive(move |most| match u32::try_from(most) {
        Ok(choices @ ..1_000) => random.random_range(0..choices).into(),
        _ => random.random_range(0..most),
    });
    let came = Arc::new(AtomicU64::new(0));
    let verdict = Arc::new(Mutex::new(Ok(())));
    let ended = Arc::new(AtomicU32::new(0));
    let ranks = u32::try_from(world.roads.len()).unwrap();
    let threads = (0..).zip(world.roads).map(|(rank, road)| {
        let (came, verdict, keep) = (came.clone(), verdict.clone(), rule.keep);
        let ended = ended.clone();
        let mut member = Member {
            road,
            rank,
            ranks,
            came,
        };
        let body = move || {
            if let Err(RuleViolation(how)) = keep(&mut member) {
                *lockstep::lock(&verdict) = Err(format!("rank {rank}: {how}"));
            }
            // Others may still need the messages of this rank. It goes on like a rank that
            // finalizes.
            ended.fetch_add(1, Ordering::Relaxed);
            while ended.load(Ordering::Relaxed) < ranks {
                member.road.progress();
                member.pause();
            }
        };
        lockstep.spawn(&format!("rank {rank}"), body).unwrap()
    });
    let threads: Vec<_> = threads.collect();
    let mut nics = world.nics;
    let (mut idle, mut seen) = (0, 0);
    let broken = || lockstep::lock(&verdict).clone();
    let outcome = loop {
        let standing = threads.iter().map(|&thread| lockstep.thread_status(thread));
        let panic = standing.clone().find_map(|standing| match standing {
            ThreadStatus::Panicked(words) => Some(words),
            _ => None,
        });
        if let Some(words) = panic {
            break Err(words);
        }
        if broken().is_err()
            || standing
                .clone()
                .all(|standing| standing == ThreadStatus::Ended)
        {
            break broken();
        }
        if !lockstep.step() {
            let next = lockstep.next_ns().expect("ranks look again and again");
            lockstep.advance(next);
            if let Some(nics) = &mut nics {
                assert_eq!(nics.slice(), []);
            }
        }
        let now = came.load(Ordering::Relaxed);
        idle = if now == seen { idle + 1 } else { 0 };
        seen = now;
        if idle > HANGS * u64::from(ranks) {
            break Err("it hangs".to_owned());
        }
    };
    threads.iter().for_each(|&thread| lockstep.kill(thread));
    outcome
}

fn near(memory: &SharedMemory, first: u32, peer_memory: PeerMemory) -> SmartMap {
    let SharedMemory {
        nic,
        rank_area: desk,
        page,
    } = memory.clone();
    let RankArea { node, place } = desk.expect("it is at a desk");
    let ranks = u32::try_from(node.ranks()).unwrap();
    let here = (place, NodeRanks::consecutive(first, ranks));
    SmartMap::new(node, nic, page, here, peer_memory)
}

fn smartmap(peer_memory: &PeerMemory) -> World<SmartMap> {
    let machine = Machine::new(3, 1, Settings::default());
    let ends = machine.memories.iter();
    World {
        roads: ends
            .map(|memory| near(memory, 0, peer_memory.clone()))
            .collect(),
        nics: None,
    }
}

/// Makes three ranks on two nodes, which communicate only by their NICs.
fn nic() -> World<NicTransport> {
    let intranode = IntranodeTransport::Nic;
    let machine = Machine::new(
        3,
        2,
        Settings {
            intranode,
            ..Settings::default()
        },
    );
    let ends = (0..3)
        .zip(&machine.memories)
        .map(|(rank, SharedMemory { nic, page, .. })| {
            let node = machine.placement.node_of(rank).unwrap();
            NicTransport::new(node, nic.clone(), page.clone(), &machine.settings, true)
        });
    World {
        roads: ends.collect(),
        nics: Some(ManualNics::new(&machine.nics())),
    }
}

/// Makes four ranks on two nodes, with both transports.
fn both() -> World<Mux> {
    let machine = Machine::new(4, 2, Settings::default());
    let ends = (0..)
        .zip(&machine.memories)
        .map(|(rank, memory): (u32, _)| Mux {
            nic: NicTransport::new(
                machine.placement.node_of(rank).unwrap(),
                memory.nic.clone(),
                memory.page.clone(),
                &machine.settings,
                true,
            ),
            local: Some(near(memory, rank / 2 * 2, PeerMemory::open())),
        });
    World {
        roads: ends.collect(),
        nics: Some(ManualNics::new(&machine.nics())),
    }
}

fn third() -> World<InProcessTransport> {
    World {
        roads: in_process::ends(3, Settings::default().eager_limit),
        nics: None,
    }
}

/// Checks that every rule is kept, except those that the transport cannot keep.
fn conforms<R: Transport + Send + 'static>(world: impl Fn() -> World<R>, without: &[&str]) {
    for rule in rules().iter().filter(|rule| !without.contains(&rule.name)) {
        for seed in 0..3 {
            let outcome = check(world(), rule, seed);
            assert_eq!(outcome, Ok(()), "{}, seed {seed}", rule.name);
        }
    }
}

#[test]
fn smartmap_keeps_the_rules() {
    conforms(|| smartmap(&PeerMemory::open()), &[]);
}

#[test]
fn smartmap_by_queues_alone_keeps_the_rules() {
    // A rank that copies unmapped memory ends.
    conforms(
        || smartmap(&PeerMemory::CLOSED),
        &["unreadable", "unwritable"],
    );
}

#[test]
fn the_nic_keeps_the_rules() {
    conforms(nic, &[]);
}

#[test]
fn both_roads_at_once_keep_the_rules() {
    conforms(both, &[]);
}

#[test]
fn a_third_road_keeps_the_rules() {
    conforms(third, &[]);
}

impl SlotNumber for TransportHandle {
    fn slot(self) -> u32 {
        match self {
            Self::Complete(_) => u32::MAX,
            Self::Nic(id) => id.slot,
            Self::Local(id) => id.slot | 1 << 31,
        }
    }
}

/// Each bug, and all rules that it breaks.
const PLANTED: [(Bug, &[&str]); 17] = [
    (Bug::Overtakes, &["order"]),
    (Bug::ClaimsTwice, &["wildcards"]),
    (Bug::CancelsWhatIsMatched, &["cancels"]),
    (Bug::HidesTruncation, &["truncation"]),
    (
        Bug::LosesWakeUps,
        &[
            "order",
            "cancelled_sends",
            "lengths",
            "unreadable",
            "synchronous",
        ],
    ),
    (Bug::DropsWhatIsHeld, &["held"]),
    (Bug::FreesPieces, &["pieces"]),
    (Bug::IgnoresLayouts, &["pieces"]),
    (
        Bug::TakesTheWrongWay,
        &[
            "order",
            "probes",
            "lengths",
            "truncation",
            "pieces",
            "unreadable",
            "unwritable",
        ],
    ),
    (
        Bug::KeepsStaleRequests,
        &[
            "order",
            "tags",
            "wildcards",
            "probes",
            "lengths",
            "synchronous",
            "requests",
            "credits",
        ],
    ),
    (Bug::ReleasesEarly, &["cancelled_sends", "synchronous"]),
    (Bug::TellsNoErrors, &["unreadable", "unwritable"]),
    (Bug::LosesCredits, &["credits"]),
    (
        Bug::IgnoresTags,
        &[
            "tags",
            "wildcards",
            "cancels",
            "cancelled_sends",
            "lengths",
            "synchronous",
            "requests",
            "held",
        ],
    ),
    (Bug::IgnoresContexts, &["contexts"]),
    (Bug::FindsWhatIsGone, &["probes"]),
    (
        Bug::CopiesTooLittle,
        &[
            "order",
            "lengths",
            "pieces",
            "unreadable",
            "unwritable",
            "synchronous",
        ],
    ),
];

/// Plants every bug in a transport, and checks which rules find it.
fn are_found<R>(world: impl Fn() -> World<R>)
where
    R: Transport<Request: SlotNumber> + Send + 'static,
    R::Request: Send,
{
    let mut wrong = Vec::new();
    for (bug, breaks) in PLANTED {
        let broken = rules()
            .into_iter()
            .filter(|rule: &Rule<Member<BuggyTransport<R>>>| {
                let World { roads, nics } = world();
                let roads = roads.into_iter().map(|road| BuggyTransport::new(road, bug));
                let roads = roads.collect();
                check(World { roads, nics }, rule, 1).is_err()
            });
        let broken: Vec<&str> = broken.map(|rule| rule.name).collect();
        if broken != breaks {
            wrong.push(format!("{bug:?} breaks {broken:?}, and not {breaks:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn bugs_planted_in_smartmap_break_the_rules_that_they_should() {
    are_found(|| smartmap(&PeerMemory::open()));
}

#[test]
fn bugs_planted_in_the_nic_break_the_rules_that_they_should() {
    are_found(nic);
}

#[test]
fn bugs_planted_in_both_roads_break_the_rules_that_they_should() {
    are_found(both);
}

#[test]
fn bugs_planted_in_a_third_road_break_the_rules_that_they_should() {
    are_found(third);
}
