//! The whole-cluster simulator: the very NIC state machines of [`crate::threads`], on the simulated
//! fabric or the links of several hosts, with scripted ranks, in virtual time (docs/simulator.md).
//!
//! One seed fixes everything: the [`program`] of the ranks, the faults and when they strike, and so
//! the trace. [`checkers`] watch the run; a violation ends it.

mod canary_buffer;
mod checkers;
mod cluster;
pub mod fabric;
mod nics;
mod options;
mod program;
mod rank;
mod seeded_fabric;
pub mod workbench;

pub use checkers::{Checker, CheckerViolation};
pub use nics::{SimulatedNics, SimulatedNicsConfig};
pub use options::{FaultKinds, SimulatorOptions, SimulatorReport};

use bcs_core::job::{NodeId, StrobeMode};
use bcs_fabric::sim::FaultPlan;
use bcs_fabric::udp::datagram_network::DatagramFaults;
use fabric::{DatagramFaultKinds, FabricKind, HostTopology};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use seeded_fabric::SeededFabric;

/// The virtual time after which no more faults are injected: the liveness phase.
const FAULTS_END_NS: u64 = 20_000_000;

/// Runs one seed.
#[must_use]
pub fn run(options: &SimulatorOptions) -> SimulatorReport {
    let mut random = ChaCha8Rng::seed_from_u64(options.seed);
    let nodes = options.nodes.unwrap_or_else(|| random.random_range(2..=16));
    let strobe =
        [StrobeMode::Elastic, StrobeMode::Fixed, StrobeMode::Auto][random.random_range(0..3)];
    let strobe = options.strobe.unwrap_or(strobe);
    let drawn = match options.fabric {
        FabricKind::Sim => SeededFabric::Sim(choose_faults(options.faults, nodes, &mut random)),
        FabricKind::Udp => {
            let faults = choose_wire_faults(options.faults, &mut random);
            SeededFabric::Udp(HostTopology::draw(nodes, &mut random), faults)
        }
    };
    let mut options = options.clone();
    options.faults.memory &= random.random_bool(0.5);
    let options = &options;
    cluster::SimulatedCluster::new(options, nodes, strobe, drawn, &mut random).run()
}

fn choose_faults(kinds: FaultKinds, nodes: usize, random: &mut ChaCha8Rng) -> FaultPlan {
    // Every choice is drawn, whether or not it is used, so the rest of a seed's run does not depend
    // on the allowed kinds.
    let mut yes = |kind: bool| random.random_bool(0.5) && kind;
    let (lose, delay, reorder, slow, crash) = (
        yes(kinds.lose),
        yes(kinds.delay),
        yes(kinds.reorder),
        yes(kinds.slow),
        yes(kinds.crash),
    );
    let slow_node = NodeId::from_index(random.random_range(0..nodes));
    let factor = random.random_range(2..20);
    let victim = NodeId::from_index(random.random_range(0..nodes));
    let crash_ns = random.random_range(1_000..FAULTS_END_NS / 4);
    FaultPlan {
        lose: if lose { 0.05 } else { 0.0 },
        delay: if delay { (0.2, 300_000) } else { (0.0, 0) },
        reorder_ns: if reorder { 40_000 } else { 0 },
        slow: if slow {
            vec![(slow_node, factor)]
        } else {
            Vec::new()
        },
        crash: if crash {
            vec![(victim, crash_ns)]
        } else {
            Vec::new()
        },
        until_ns: FAULTS_END_NS,
    }
}

fn choose_wire_faults(kinds: FaultKinds, random: &mut ChaCha8Rng) -> DatagramFaults {
    let mut yes = |kind: bool| random.random_bool(0.5) && kind;
    let kinds = DatagramFaultKinds {
        lose: yes(kinds.lose),
        repeat: yes(kinds.repeat),
        delay: yes(kinds.delay || kinds.reorder),
        cut: yes(kinds.cut),
    };
    kinds.draw(random)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quiet_cluster_computes_what_it_should() {
        for seed in 0..20 {
            let options = SimulatorOptions {
                faults: FaultKinds::NONE,
                ..SimulatorOptions::seed(seed)
            };
            let report = run(&options);
            assert_eq!(report.objection, None, "seed {seed}: {report:?}");
            assert!(report.operations > 0);
        }
    }

    #[test]
    fn the_same_seed_gives_the_same_trace() {
        for seed in 0..5 {
            let (first, second) = (
                run(&SimulatorOptions::seed(seed)),
                run(&SimulatorOptions::seed(seed)),
            );
            assert_eq!(first.trace_hash, second.trace_hash, "seed {seed}");
            assert_ne!(
                first.trace_hash,
                run(&SimulatorOptions::seed(seed + 100)).trace_hash
            );
        }
    }
}
