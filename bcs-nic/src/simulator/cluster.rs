//! A simulated cluster of scripted ranks, and the loop that advances the time.

use super::checkers::{Checker, Objection};
use super::host::{Drawn, stores};
use super::nics::{Nics, NicsConfig};
use super::program::{CONTEXTS, May, Program};
use super::rank::{ScriptedRank, World};
use super::{Options, Report};
use crate::bounds::Bounds;
use bcs_core::job::{Placement, Settings, Strobe};
use bcs_core::limits::LONGEST_PUT_BYTES;
use bcs_core::memory::NicMemory;
use bcs_fabric::sim::Stores;
use rand::Rng;
use rand_chacha::ChaCha8Rng;

/// Virtual time by which every program must have ended: faults end at 20 ms, those of datagrams at 400 ms, and what
/// is left takes some hundred slices at most, or some ten thousand where datagrams are so late that each slice takes
/// twenty times as long as it should.
const DEADLINE_NS: u64 = 4_000_000_000;
/// Turns without time passing after which the cluster is in a livelock.
const MAX_TURNS: u32 = 100_000;

pub(super) struct Cluster {
    nics: Nics,
    ranks: Vec<ScriptedRank>,
    program: Program,
    placement: Placement,
    settings: Settings,
    stores: Stores,
    crashes: bool,
}

impl Cluster {
    pub(super) fn new(
        options: &Options,
        nodes: usize,
        strobe: Strobe,
        drawn: Drawn,
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
        let crashes = drawn.crashes();
        let may = May {
            wildcards: !crashes,
            missing: options.faults.memory,
            run_ahead: crashes || random.random_bool(0.5),
        };
        let bounds = draw_bounds(nodes, may, random);
        let program = Program::new(ranks, settings.time_slice_ns, may, random);
        let memories: Vec<NicMemory> = (0..ranks)
            .map(|_| NicMemory::private(settings.eager_limit).expect("memory"))
            .collect();
        let stores = stores(&drawn, &placement, &memories);
        let seed = random.random();
        let (oversleeps, oversleeping) = (random.random_bool(0.5), random.random());
        let nics = Nics::new(NicsConfig {
            settings: settings.clone(),
            bounds,
            memories: memories.clone(),
            fabric: drawn.make(&placement, &memories, &stores, seed),
            placement: placement.clone(),
            oversleeping: oversleeps.then_some(oversleeping),
            bug: options.bug,
            emds: None,
        });
        Self {
            nics,
            ranks: (0..ranks)
                .zip(memories)
                .map(|(rank, memory)| ScriptedRank::new(rank, memory))
                .collect(),
            program,
            placement,
            settings,
            stores,
            crashes,
        }
    }

    pub(super) fn run(mut self) -> Report {
        let objection = self.live().err();
        let fabric = self.nics.fabric();
        Report {
            nodes: self.placement.nodes(),
            ranks: self.placement.ranks(),
            strobe: self.settings.strobe,
            slices: self.nics.strobes(),
            memory_faults: self.ranks.iter().map(|rank| rank.memory_faults).sum(),
            operations: self.ranks.iter().map(|rank| rank.checked).sum(),
            virtual_ns: fabric.now_ns(),
            faults: fabric.fault_counts(),
            trace_hash: fabric.trace_hash(),
            objection,
        }
    }

    fn live(&mut self) -> Result<(), Objection> {
        loop {
            let mut turns = 0;
            while self.turn()? {
                turns += 1;
                if turns > MAX_TURNS {
                    return Err(self
                        .nics
                        .objection((Checker::Liveness, "livelock".to_owned())));
                }
            }
            if self.all_finished() && self.nics.is_idle() {
                self.check_rest()?;
                return self.check_leaks();
            }
            self.pass_time()?;
        }
    }

    fn all_finished(&self) -> bool {
        let alive = self.nics.fabric().alive();
        self.ranks.iter().all(|rank| {
            let node = self.placement.node_of(rank.rank).expect("placed");
            rank.is_finished() || !alive.contains(node)
        })
    }

    /// Advances the time to the next thing that happens.
    fn pass_time(&mut self) -> Result<(), Objection> {
        let now = self.nics.fabric().now_ns();
        let ranks = self
            .ranks
            .iter()
            .map(|rank| rank.busy_until_ns)
            .filter(|&at| at > now);
        let next = ranks.chain(self.nics.next_ns()).min();
        match next {
            Some(at) if at <= DEADLINE_NS => {
                self.nics.fabric_mut().advance(at.max(now));
                Ok(())
            }
            Some(_) => Err(self
                .nics
                .objection((Checker::Liveness, self.stuck("runs for ever")))),
            None => Err(self
                .nics
                .objection((Checker::Liveness, self.stuck("hangs")))),
        }
    }

    fn stuck(&self, how: &str) -> String {
        let unfinished: Vec<String> = self
            .ranks
            .iter()
            .filter(|rank| !rank.is_finished())
            .map(ScriptedRank::describe)
            .collect();
        let left = self.nics.left_over().into_iter();
        let left = left.map(|(node, thread, left)| {
            let thread = thread.name();
            format!("{thread} of node {node} has {left}")
        });
        let left: Vec<String> = left.collect();
        format!(
            "the job {how}: {:?}; {}; {}",
            self.nics,
            left.join(", "),
            unfinished.join("; ")
        )
    }

    /// Gives everything one chance at the present time; returns whether anything moved on.
    fn turn(&mut self) -> Result<bool, Objection> {
        let mut progress = self.nics.turn()?;
        let fabric = self.nics.fabric();
        let (now_ns, alive) = (fabric.now_ns(), fabric.alive());
        for at in 0..self.ranks.len() {
            let node = self.placement.node_of(self.ranks[at].rank).expect("placed");
            if alive.contains(node) {
                let acted = self.act(at, now_ns);
                progress |= acted.map_err(|what| self.nics.objection(what))?;
            }
        }
        Ok(progress)
    }

    fn act(&mut self, at: usize, now_ns: u64) -> Result<bool, (Checker, String)> {
        let node = self.placement.node_of(self.ranks[at].rank).expect("placed");
        let world = World {
            program: &self.program,
            placement: &self.placement,
            settings: &self.settings,
            page: self.nics.fabric().page(node),
            now_ns,
            cuts: self.nics.cuts(node),
            nobody_died: !self.crashes,
        };
        let acted = self.ranks[at].act(&world, &mut self.stores.borrow_mut()[at])?;
        if let Some(words) = acted {
            self.nics.fabric_mut().trace(&[now_ns, words]);
        }
        Ok(acted.is_some())
    }

    fn check_rest(&mut self) -> Result<(), Objection> {
        if self.nics.fabric_mut().comes_to_rest() {
            return Ok(());
        }
        let what = "what was said to the end of the job never comes".to_owned();
        Err(self.nics.objection((Checker::Liveness, what)))
    }

    fn check_leaks(&mut self) -> Result<(), Objection> {
        if self.crashes {
            return Ok(()); // the dead leave their messages behind
        }
        if let Some((node, thread, left)) = self.nics.left_over().into_iter().next() {
            let what = format!("{} of node {node} still has {left}", thread.name());
            return Err(self.nics.objection((Checker::Leak, what)));
        }
        match self
            .ranks
            .iter_mut()
            .find_map(|rank| rank.leaks().then_some(rank.rank))
        {
            Some(rank) => {
                let what = format!("rank {rank} left descriptors or messages behind");
                Err(self.nics.objection((Checker::Leak, what)))
            }
            None => Ok(()),
        }
    }
}

/// Half of the clusters have tables and blocks so small that their programs fill them.
fn draw_bounds(nodes: usize, may: May, random: &mut ChaCha8Rng) -> Bounds {
    let contexts = u32::try_from(CONTEXTS).expect("few");
    let mut bounds = Bounds {
        envelopes: nodes * random.random_range(1..=3),
        outgoing: random.random_range(1..20),
        descriptors: random.random_range(1..6),
        completions: random.random_range(1..6),
        credits: random.random_range(1..3),
        contexts: contexts + random.random_range(0..3),
        longest_put: [64, 4096, LONGEST_PUT_BYTES][random.random_range(0..3)],
        ..Bounds::default()
    };
    if may.run_ahead {
        bounds.envelopes = Bounds::default().envelopes;
    }
    if random.random_bool(0.5) {
        bounds
    } else {
        Bounds::default()
    }
}
