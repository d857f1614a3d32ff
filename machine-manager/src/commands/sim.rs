//! `bcs sim`: runs the NIC's state machines in virtual time.

use crate::cli::{FaultName, SimArgs, SimulatedFabric};
use crate::exit_code;
use crate::standard_output::print;
use bcs_core::limits::MAX_NODES;
use bcs_nic::simulator::fabric::FabricKind;
use bcs_nic::simulator::{self, FaultKinds, SimulatorOptions, SimulatorReport};
use clap::ValueEnum as _;
use std::process::ExitCode;

pub(super) fn run(arguments: &SimArgs) -> ExitCode {
    let is_strange = |kind: &&FaultName| match arguments.fabric {
        SimulatedFabric::Sim => matches!(kind, FaultName::Repeat | FaultName::Cut),
        SimulatedFabric::Udp => matches!(kind, FaultName::Slow | FaultName::Crash),
    };
    if let Some(kind) = arguments.faults.iter().find(is_strange) {
        let kind = kind.to_possible_value().expect("a kind has a name");
        let fabric = arguments.fabric.to_possible_value();
        let fabric = fabric.expect("a fabric has a name");
        let (kind, fabric) = (kind.get_name(), fabric.get_name());
        eprintln!("bcs: --faults {kind} is none of --fabric {fabric}: give the other fabric");
        return ExitCode::from(exit_code::BAD_INPUT);
    }
    if arguments.mpi {
        return super::sim_mpi::run(arguments);
    }
    if let Some(kind) = arguments
        .faults
        .iter()
        .find(|kind| **kind > FaultName::Unwritable)
    {
        let kind = kind.to_possible_value().expect("a kind has a name");
        let kind = kind.get_name();
        eprintln!("bcs: --faults {kind} is about ranks: give --mpi, too");
        return ExitCode::from(exit_code::BAD_INPUT);
    }
    if let Some(nodes) = arguments.nodes
        && !(1..=MAX_NODES).contains(&nodes)
    {
        eprintln!("bcs: --nodes {nodes} is out of range: choose a number from 1 to {MAX_NODES}");
        return ExitCode::from(exit_code::BAD_INPUT);
    }
    let faults = kinds(&arguments.faults);
    let mut objections = 0u64;
    for seed in arguments.seed..arguments.seed.saturating_add(arguments.seeds) {
        let options = SimulatorOptions {
            fabric: arguments.fabric.into(),
            nodes: arguments.nodes,
            faults,
            ..SimulatorOptions::seed(seed)
        };
        let report = simulator::run(&options);
        if !print(line(seed, options.fabric, &report)) {
            break;
        }
        let again = arguments.twice.then(|| simulator::run(&options).trace_hash);
        if again.is_some_and(|hash| hash != report.trace_hash) {
            print(format_args!(
                "seed {seed}: the second run left another trace"
            ));
            objections += 1;
        }
        if let Some(objection) = &report.objection {
            let (checker, slice) = (objection.checker, objection.slice);
            print(format_args!(
                "seed {seed}: {checker:?} objects in slice {slice}: {}",
                objection.what
            ));
            objections += 1;
        }
    }
    if objections == 0 {
        return ExitCode::SUCCESS;
    }
    eprintln!("bcs: checkers objected {objections} times; a seed can be run again by --seed");
    ExitCode::FAILURE
}

impl From<SimulatedFabric> for FabricKind {
    fn from(name: SimulatedFabric) -> Self {
        match name {
            SimulatedFabric::Sim => Self::Sim,
            SimulatedFabric::Udp => Self::Udp,
        }
    }
}

fn kinds(names: &[FaultName]) -> FaultKinds {
    let has = |name| names.contains(&name) || names.contains(&FaultName::All);
    FaultKinds {
        lose: has(FaultName::Lose),
        delay: has(FaultName::Delay),
        reorder: has(FaultName::Reorder),
        slow: has(FaultName::Slow),
        crash: has(FaultName::Crash),
        memory: has(FaultName::Unreadable) || has(FaultName::Unwritable),
        repeat: has(FaultName::Repeat),
        cut: has(FaultName::Cut),
    }
}

fn line(seed: u64, fabric: FabricKind, report: &SimulatorReport) -> String {
    let faults = report.faults;
    let of_datagrams = match fabric {
        FabricKind::Sim => String::new(),
        FabricKind::Udp => format!(" repeated {} cut {}", faults.repeated, faults.cut),
    };
    format!(
        "seed {seed}: {} nodes, {} ranks, {:?}, {} slices in {} us, {} operations checked; \
         lost {} delayed {} reordered {} slowed {} crashed {} memory {}{}; trace {:016x}",
        report.nodes,
        report.ranks,
        report.strobe,
        report.slices,
        report.virtual_ns / 1000,
        report.operations,
        faults.lost,
        faults.delayed,
        faults.reordered,
        faults.slowed,
        faults.crashed,
        report.memory_faults,
        of_datagrams,
        report.trace_hash,
    )
}
