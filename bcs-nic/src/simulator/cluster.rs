//! A simulated cluster of scripted ranks, and the loop that advances the time.

use super::checkers::{Checker, CheckerViolation};
use super::nics::{SimulatedNics, SimulatedNicsConfig};
use super::options::{SimulatorOptions, SimulatorReport};
use super::program::{AllowedFeatures, CONTEXTS, ScriptedProgram};
use super::rank::{RankView, ScriptedRank};
use super::seeded_fabric::{SeededFabric, make_rank_stores};
use crate::bounds::Bounds;
use bcs_core::job::{Placement, Settings, StrobeMode};
use bcs_core::limits::LONGEST_PUT_BYTES;
use bcs_core::memory::NicMemory;
use bcs_fabric::sim::SharedRankStores;
use rand::Rng;
use rand_chacha::ChaCha8Rng;

/// The virtual time by which every program must have ended. Faults end at 20 ms, those of datagrams
/// at 400 ms. The rest takes some hundred slices at most, or some ten thousand where datagrams are
/// so late that each slice takes twenty times its normal length.
const DEADLINE_NS: u64 = 4_000_000_000;
/// Turns without time passing after which the cluster is in a livelock.
const MAX_TURNS: u32 = 100_000;

pub(super) struct SimulatedCluster {
    nics: SimulatedNics,
    ranks: Vec<ScriptedRank>,
    program: ScriptedProgram,
    placement: Placement,
    settings: Settings,
    stores: SharedRankStores,
    crashes: bool,
}

impl SimulatedCluster {
    pub(super) fn new(
        options: &SimulatorOptions,
        nodes: usize,
        strobe: StrobeMode,
        drawn: SeededFabric,
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
        let may = AllowedFeatures {
            wildcards: !crashes,
            missing: options.faults.memory,
            run_ahead: crashes || random.random_bool(0.5),
        };
        let bounds = draw_bounds(nodes, may, random);
        let program = ScriptedProgram::new(ranks, settings.time_slice_ns, may, random);
        let memories: Vec<NicMemory> = (0..ranks)
            .map(|_| NicMemory::private(settings.eager_limit).expect("memory"))
            .collect();
        let stores = make_rank_stores(&drawn, &placement, &memories);
        let seed = random.random();
        let (oversleeps, oversleeping) = (random.random_bool(0.5), random.random());
        let nics = SimulatedNics::new(SimulatedNicsConfig {
            settings: settings.clone(),
            bounds,
            memories: memories.clone(),
            fabric: drawn.build_fabric(&placement, &memories, &stores, seed),
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

    pub(super) fn run(mut self) -> SimulatorReport {
        let objection = self.run_to_end().err();
        let fabric = self.nics.fabric();
        SimulatorReport {
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

    fn run_to_end(&mut self) -> Result<(), CheckerViolation> {
        loop {
            let mut turns = 0;
            while self.turn()? {
                turns += 1;
                if turns > MAX_TURNS {
                    return Err(self
                        .nics
                        .violation((Checker::Liveness, "livelock".to_owned())));
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

    /// Advances the time to the next event.
    fn pass_time(&mut self) -> Result<(), CheckerViolation> {
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
                .violation((Checker::Liveness, self.describe_stuck("runs for ever")))),
            None => Err(self
                .nics
                .violation((Checker::Liveness, self.describe_stuck("hangs")))),
        }
    }

    fn describe_stuck(&self, how: &str) -> String {
        let unfinished: Vec<String> = self
            .ranks
            .iter()
            .filter(|rank| !rank.is_finished())
            .map(ScriptedRank::describe)
            .collect();
        let left = self.nics.table_leaks().into_iter();
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

    /// Gives everything one chance at the present time. Returns whether anything moved.
    fn turn(&mut self) -> Result<bool, CheckerViolation> {
        let mut progress = self.nics.turn()?;
        let fabric = self.nics.fabric();
        let (now_ns, alive) = (fabric.now_ns(), fabric.alive());
        for at in 0..self.ranks.len() {
            let node = self.placement.node_of(self.ranks[at].rank).expect("placed");
            if alive.contains(node) {
                let acted = self.act(at, now_ns);
                progress |= acted.map_err(|what| self.nics.violation(what))?;
            }
        }
        Ok(progress)
    }

    fn act(&mut self, at: usize, now_ns: u64) -> Result<bool, (Checker, String)> {
        let node = self.placement.node_of(self.ranks[at].rank).expect("placed");
        let world = RankView {
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

    fn check_rest(&mut self) -> Result<(), CheckerViolation> {
        if self.nics.fabric_mut().run_until_idle() {
            return Ok(());
        }
        let what = "what was said to the end of the job never comes".to_owned();
        Err(self.nics.violation((Checker::Liveness, what)))
    }

    fn check_leaks(&mut self) -> Result<(), CheckerViolation> {
        if self.crashes {
            return Ok(()); // dead ranks leave their messages behind
        }
        if let Some((node, thread, left)) = self.nics.table_leaks().into_iter().next() {
            let what = format!("{} of node {node} still has {left}", thread.name());
            return Err(self.nics.violation((Checker::Leak, what)));
        }
        match self
            .ranks
            .iter_mut()
            .find_map(|rank| rank.leaks().then_some(rank.rank))
        {
            Some(rank) => {
                let what = format!("rank {rank} left descriptors or messages behind");
                Err(self.nics.violation((Checker::Leak, what)))
            }
            None => Ok(()),
        }
    }
}

/// Draws the bounds. Half of the clusters have tables and blocks so small that their programs fill
/// them.
fn draw_bounds(nodes: usize, may: AllowedFeatures, random: &mut ChaCha8Rng) -> Bounds {
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
