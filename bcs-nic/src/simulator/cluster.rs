//! A simulated cluster: NICs, Strobe Sender, ranks, and the loop that advances the time.

use super::checkers::{Checker, Objection};
use super::program::Program;
use super::rank::{MEMORY_BYTES, ScriptedRank, World};
use super::{Options, Report};
use crate::bug::PlantedBug;
use crate::driver::machine;
use crate::mail::Mail;
use crate::microphase::Quota;
use crate::threads::{Context, NicThread, NodeConfig, Outbox, StrobeSender};
use bcs_core::fabric::Variable;
use bcs_core::fabric::sim::{Faults, Latencies, Network, RankStore, SimMemory, SimPort};
use bcs_core::job::{Placement, Settings, Strobe};
use bcs_core::memory::{MachinePage, NicMemory};
use bcs_core::node::NodeId;
use bcs_core::phase::{Microphase, NicThreadId};
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;

/// Virtual time by which every program must have ended: faults end at 20 ms, and what is left
/// takes some hundred slices at most.
const DEADLINE_NS: u64 = 2_000_000_000;
/// Turns without time passing after which the cluster is in a livelock.
const MAX_TURNS: u32 = 100_000;

struct Seat {
    node: NodeId,
    thread: NicThreadId,
    machine: Box<dyn NicThread>,
    port: SimPort,
    memory: SimMemory,
    mail: VecDeque<Mail>,
}

pub(super) struct Cluster {
    network: Rc<RefCell<Network>>,
    seats: Vec<Seat>,
    strobe_sender: StrobeSender,
    strobe_port: SimPort,
    ranks: Vec<ScriptedRank>,
    program: Program,
    placement: Placement,
    settings: Settings,
    page: MachinePage,
    quota: Quota,
    strobes: u64,
    /// Cuts each node has taken.
    cuts: Vec<u64>,
    last_slice: u64,
    crashes: bool,
    out: Outbox,
}

impl Cluster {
    pub(super) fn new(
        options: &Options,
        nodes: usize,
        strobe: Strobe,
        faults: Faults,
        random: &mut ChaCha8Rng,
    ) -> Self {
        let ranks = nodes + random.random_range(0..=nodes);
        let placement = Placement::block(ranks, nodes).expect("a small job");
        let settings = Settings {
            strobe,
            time_slice_ns: [100_000, 500_000][random.random_range(0..2)],
            eager_limit: [0, 64, 4096][random.random_range(0..3)],
            // Small enough that messages are chunked.
            link_bandwidth: [40_000_000, 100_000_000, 1_000_000_000][random.random_range(0..3)],
            ..Settings::default()
        };
        let ranks = u32::try_from(ranks).expect("a small job");
        let crashes = !faults.crash.is_empty();
        let program = Program::new(ranks, settings.time_slice_ns, !crashes, random);
        let memories: Vec<NicMemory> = (0..ranks)
            .map(|_| NicMemory::private(settings.eager_limit).expect("memory"))
            .collect();
        let stores = (0..ranks)
            .map(|rank| RankStore {
                nic: memories[rank as usize].clone(),
                bytes: vec![0; MEMORY_BYTES],
                node: placement.node_of(rank).expect("placed"),
            })
            .collect();
        let seed = random.random();
        let mut network = Network::new(nodes, stores, Latencies::default(), faults, seed);
        if options.bug == Some(PlantedBug::LoseCompareAndWrite) {
            network.plant_lost_compare_and_write();
        }
        let network = Rc::new(RefCell::new(network));
        let page = MachinePage::private(nodes, 1).expect("memory");
        let seats = Self::seats(
            options.bug,
            &placement,
            &settings,
            &page,
            &memories,
            &network,
        );
        Self {
            strobe_sender: StrobeSender::new(Arc::new(settings.clone()), page.clone(), nodes, 0),
            strobe_port: SimPort::strobe_sender(network.clone()),
            ranks: (0..ranks)
                .zip(memories)
                .map(|(rank, memory)| ScriptedRank::new(rank, memory))
                .collect(),
            quota: Quota::new(&settings),
            seats,
            program,
            placement,
            settings,
            page,
            network,
            strobes: 0,
            cuts: vec![0; nodes],
            last_slice: 0,
            crashes,
            out: Outbox::default(),
        }
    }

    fn seats(
        bug: Option<PlantedBug>,
        placement: &Placement,
        settings: &Settings,
        page: &MachinePage,
        memories: &[NicMemory],
        network: &Rc<RefCell<Network>>,
    ) -> Vec<Seat> {
        let (placement, settings) = (Arc::new(placement.clone()), Arc::new(settings.clone()));
        let mut seats = Vec::new();
        for node in (0..placement.nodes()).map(NodeId::from_index) {
            let ranks = placement
                .ranks_of(node)
                .map(|rank| (rank, memories[rank as usize].clone()));
            let config = NodeConfig {
                node,
                placement: placement.clone(),
                settings: settings.clone(),
                page: page.clone(),
                ranks: Arc::new(ranks.collect()),
                bug,
            };
            seats.extend(NicThreadId::ALL.map(|thread| Seat {
                node,
                thread,
                machine: machine(thread, config.clone()),
                port: SimPort::new(network.clone(), node, thread),
                memory: SimMemory(network.clone()),
                mail: VecDeque::new(),
            }));
        }
        seats
    }

    pub(super) fn run(mut self) -> Report {
        let objection = self.live().err();
        let network = self.network.borrow();
        Report {
            nodes: self.placement.nodes(),
            ranks: self.placement.ranks(),
            strobe: self.settings.strobe,
            slices: self.strobes,
            operations: self.ranks.iter().map(|rank| rank.checked).sum(),
            virtual_ns: network.now_ns(),
            faults: network.fault_counts(),
            trace_hash: network.trace_hash(),
            objection,
        }
    }

    fn objection(&self, (checker, what): (Checker, String)) -> Objection {
        Objection {
            checker,
            what,
            slice: self.strobe_sender.slice(),
        }
    }

    fn live(&mut self) -> Result<(), Objection> {
        loop {
            let mut turns = 0;
            while self.turn()? {
                turns += 1;
                if turns > MAX_TURNS {
                    return Err(self.objection((Checker::Liveness, "livelock".to_owned())));
                }
            }
            if self.all_finished() && !self.strobe_sender.in_slice() && self.page_is_quiet() {
                return self.check_leaks();
            }
            self.pass_time()?;
        }
    }

    fn all_finished(&self) -> bool {
        let alive = self.network.borrow().alive();
        self.ranks.iter().all(|rank| {
            let node = self.placement.node_of(rank.rank).expect("placed");
            rank.is_finished() || !alive.contains(node)
        })
    }

    fn page_is_quiet(&self) -> bool {
        self.page.wanted() == (false, false)
    }

    /// Advances the time to the next thing that happens.
    fn pass_time(&mut self) -> Result<(), Objection> {
        let now = self.network.borrow().now_ns();
        let ranks = self
            .ranks
            .iter()
            .map(|rank| rank.busy_until_ns)
            .filter(|&at| at > now);
        let next = ranks
            .chain(self.network.borrow().next_event_ns())
            .chain(self.strobe_sender.deadline_ns())
            .min();
        match next {
            Some(at) if at <= DEADLINE_NS => {
                self.network.borrow_mut().advance(at.max(now));
                Ok(())
            }
            Some(_) => Err(self.objection((Checker::Liveness, self.stuck("runs for ever")))),
            None => Err(self.objection((Checker::Liveness, self.stuck("hangs")))),
        }
    }

    fn stuck(&self, how: &str) -> String {
        let unfinished: Vec<String> = self
            .ranks
            .iter()
            .filter(|rank| !rank.is_finished())
            .map(ScriptedRank::describe)
            .collect();
        let finished: Vec<u64> = (0..self.placement.nodes())
            .map(|node| {
                self.network
                    .borrow()
                    .load(NodeId::from_index(node), Variable::Finished)
            })
            .collect();
        format!(
            "the job {how}: {:?}, nodes finished {finished:?}; {}",
            self.strobe_sender,
            unfinished.join("; ")
        )
    }

    /// Gives everything one chance at the present time; returns whether anything moved on.
    fn turn(&mut self) -> Result<bool, Objection> {
        let now_ns = self.network.borrow().now_ns();
        let alive = self.network.borrow().alive();
        let (mut progress, over) = self
            .strobe_sender
            .poll(&|| now_ns, 0, &mut self.strobe_port);
        if self.strobe_sender.slice() != self.last_slice {
            self.last_slice = self.strobe_sender.slice();
            self.strobes += 1;
            self.network.borrow_mut().take_entered();
        }
        if over.is_some() {
            self.check_slice_end()
                .map_err(|what| self.objection(what))?;
        }
        for at in 0..self.seats.len() {
            if !alive.contains(self.seats[at].node) {
                continue;
            }
            progress |= self.work(at, now_ns);
        }
        if let Some(failure) = self.out.failures.pop() {
            let what = format!("node {}: {}", failure.node, failure.message);
            return Err(self.objection((Checker::Soundness, what)));
        }
        for at in 0..self.ranks.len() {
            let node = self.placement.node_of(self.ranks[at].rank).expect("placed");
            if alive.contains(node) {
                progress |= self.act(at, now_ns).map_err(|what| self.objection(what))?;
            }
        }
        Ok(progress)
    }

    /// One NIC thread takes its mail and looks at the fabric.
    fn work(&mut self, at: usize, now_ns: u64) -> bool {
        let seat = &mut self.seats[at];
        let clock = || now_ns;
        let mut context = Context {
            clock: &clock,
            port: &mut seat.port,
            memory: &mut seat.memory,
            out: &mut self.out,
        };
        let mut progress = seat.machine.poll(&mut context);
        while let Some(mail) = seat.mail.pop_front() {
            progress = true;
            seat.machine.handle(mail, &mut context);
        }
        self.out.to_ring.clear(); // these ranks never sleep
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

    fn act(&mut self, at: usize, now_ns: u64) -> Result<bool, (Checker, String)> {
        let node = self.placement.node_of(self.ranks[at].rank).expect("placed");
        let world = World {
            program: &self.program,
            placement: &self.placement,
            settings: &self.settings,
            page: &self.page,
            now_ns,
            cuts: self.cuts[node.index()],
            nobody_died: !self.crashes,
        };
        let mut network = self.network.borrow_mut();
        let acted = self.ranks[at].act(&world, &mut network.ranks_mut()[at])?;
        if let Some(words) = acted {
            network.trace(&[now_ns, words]);
        }
        Ok(acted.is_some())
    }

    fn check_slice_end(&self) -> Result<(), (Checker, String)> {
        let mut network = self.network.borrow_mut();
        if network.in_flight() > 0 && !self.crashes {
            let what = format!("{} transfers are in flight", network.in_flight());
            return Err((Checker::NetworkEmpty, what));
        }
        let alive = network.alive();
        let finished: Vec<u64> = alive
            .iter()
            .map(|node| network.load(node, Variable::Finished))
            .collect();
        if finished.windows(2).any(|pair| pair[0] != pair[1]) {
            return Err((Checker::Agreement, format!("nodes finished {finished:?}")));
        }
        for (node, bytes) in network.take_entered().into_iter().enumerate() {
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

    fn check_leaks(&mut self) -> Result<(), Objection> {
        if self.crashes {
            return Ok(()); // the dead leave their messages behind
        }
        match self
            .ranks
            .iter_mut()
            .find_map(|rank| rank.leaks().then_some(rank.rank))
        {
            Some(rank) => {
                let what = format!("rank {rank} left descriptors or messages behind");
                Err(self.objection((Checker::Leak, what)))
            }
            None => Ok(()),
        }
    }
}
