//! The simulator over many seeds, and its checkers against planted bugs.

use bcs_core::job::StrobeMode;
use bcs_fabric::sim::FaultCounts;
use bcs_nic::bug::PlantedBug;
use bcs_nic::simulator::fabric::FabricKind;
use bcs_nic::simulator::{Checker, FaultKinds, SimulatorOptions, run};

/// Returns the number of seeds in the normal test run; `BCS_SIM_SEEDS` sets more.
fn seeds() -> u64 {
    std::env::var("BCS_SIM_SEEDS")
        .ok()
        .and_then(|seeds| seeds.parse().ok())
        .unwrap_or(500)
}

#[test]
fn no_seed_with_faults_trips_a_checker_and_every_fault_strikes_often() {
    let mut struck = [0u64; 6];
    let mut total = FaultCounts::default();
    for seed in 0..seeds() {
        let report = run(&SimulatorOptions::seed(seed));
        assert_eq!(report.objection, None, "seed {seed}: {report:#?}");
        let faults = report.faults;
        total.add(&faults);
        let kinds = [
            faults.lost,
            faults.delayed,
            faults.reordered,
            faults.slowed,
            faults.crashed,
            report.memory_faults,
        ];
        for (count, injected) in struck.iter_mut().zip(kinds) {
            *count += u64::from(injected > 0);
        }
    }
    let kinds = [
        "lost",
        "delayed",
        "reordered",
        "slowed",
        "crashed",
        "memory",
    ];
    println!("seeds with {kinds:?}: {struck:?}; {total:?}");
    for (kind, count) in kinds.iter().zip(struck) {
        assert!(
            count >= seeds() / 5,
            "{kind} struck only {count} of {} seeds",
            seeds()
        );
    }
}

/// A root or a contribution that cannot be read, a result that cannot be written, a message with a
/// missing part: on a fabric without faults all ranks that need it get the error, once, and nothing
/// hangs.
#[test]
fn memory_that_is_not_there_is_told_to_all_who_need_it() {
    let faults = FaultKinds {
        memory: true,
        ..FaultKinds::NONE
    };
    let mut told = 0;
    for seed in 0..seeds() / 5 {
        let options = SimulatorOptions::seed(seed);
        let report = run(&SimulatorOptions { faults, ..options });
        assert_eq!(report.objection, None, "seed {seed}: {report:#?}");
        told += report.memory_faults;
    }
    assert!(told > seeds() / 5, "ranks were told only {told} times");
}

#[test]
fn the_same_seed_twice_gives_the_same_trace() {
    for seed in 0..seeds() / 10 {
        assert_eq!(
            run(&SimulatorOptions::seed(seed)).trace_hash,
            run(&SimulatorOptions::seed(seed)).trace_hash
        );
    }
}

/// The links of several hosts: messages come once and in order, and all of them once no datagram is
/// lost.
#[test]
fn no_seed_that_loses_datagrams_trips_a_checker() {
    let mut total = FaultCounts::default();
    for seed in 0..seeds() / 10 {
        // Messages go outside of the slice only under elastic strobes.
        let options = SimulatorOptions {
            fabric: FabricKind::Udp,
            strobe: (seed % 2 == 0).then_some(StrobeMode::Elastic),
            ..SimulatorOptions::seed(seed)
        };
        let report = run(&options);
        assert_eq!(report.objection, None, "seed {seed}: {report:#?}");
        if seed % 10 == 0 {
            assert_eq!(report.trace_hash, run(&options).trace_hash, "seed {seed}");
        }
        total.add(&report.faults);
    }
    let struck = [
        total.lost,
        total.delayed,
        total.reordered,
        total.repeated,
        total.cut,
    ];
    assert!(struck.iter().all(|&count| count > 0), "{total:?}");
}

/// Each planted bug is noticed by the checkers meant for it, and by no other.
#[test]
fn every_planted_bug_trips_its_checker() {
    for bug in PlantedBug::ALL {
        let meant: &[Checker] = match bug {
            PlantedBug::DropDescriptor => &[Checker::Liveness],
            PlantedBug::ReorderMatch => &[Checker::Order, Checker::ExactlyOnce],
            PlantedBug::LoseCompareAndWrite => &[Checker::Liveness],
            PlantedBug::ExceedBudget => &[Checker::Budget],
            PlantedBug::ReleaseEarly => &[Checker::Release],
            PlantedBug::SkipChunk => &[Checker::ExactlyOnce],
            PlantedBug::EmptyFetch | PlantedBug::ZeroContribution => &[Checker::Collective],
            PlantedBug::ReorderOutsideSlice => &[Checker::Order, Checker::ExactlyOnce],
            // A returned credit is in no table: only the hang shows that nobody demanded its slice.
            PlantedBug::LoseDemand => &[Checker::Demand, Checker::Liveness],
            PlantedBug::Panic(_) => unreachable!("no checker is meant for it"),
        };
        let ahead = (FabricKind::Udp, Some(StrobeMode::Elastic));
        match bug {
            PlantedBug::ReleaseEarly => {
                trips(bug, meant, (FabricKind::Sim, Some(StrobeMode::Fixed)))
            }
            bug if bug.is_outside_slice() => trips(bug, meant, ahead),
            // DH moves data in slices and outside of them; BR demands slices in both cases.
            PlantedBug::ExceedBudget | PlantedBug::SkipChunk | PlantedBug::LoseDemand => {
                trips(bug, meant, (FabricKind::Sim, None));
                trips(bug, meant, ahead);
            }
            _ => trips(bug, meant, (FabricKind::Sim, None)),
        }
    }
}

/// Checks that some seed shows the bug to a checker that is meant for it, and none to another one.
fn trips(bug: PlantedBug, meant: &[Checker], (fabric, strobe): (FabricKind, Option<StrobeMode>)) {
    let mut tripped = 0;
    for seed in 0..30 {
        let faults = FaultKinds::NONE;
        let report = run(&SimulatorOptions {
            bug: Some(bug),
            faults,
            strobe,
            fabric,
            ..SimulatorOptions::seed(seed)
        });
        if let Some(objection) = report.objection {
            assert!(
                meant.contains(&objection.checker),
                "{bug:?}, seed {seed}: {objection:?}"
            );
            tripped += 1;
        }
    }
    println!("{bug:?}, {fabric:?}: {tripped} of 30 seeds");
    assert!(tripped > 0, "no seed shows {bug:?} on {fabric:?}");
}
