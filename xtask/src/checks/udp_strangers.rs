//! Forged datagrams have no effect: millions of them in virtual time, and some from another host
//! while jobs run.

use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use test_network::TestNetwork;

use crate::live_stranger::{ForgeryCounts, run_under_attack};
use crate::network::{bcs_run, check_no_processes, make};
use crate::process;
use crate::rounds::{Bar, Rounds};
use crate::sage::SageReference;
use crate::verdict::CheckOutcome;
use crate::workspace::Workspace;

use super::Check;
use super::simulator_mpi::seeds;

pub(super) const CHECK: Check = Check {
    name: "udp-strangers",
    about: "10 million datagrams of strangers who see all and have no key (BCS_STRANGERS: fewer) change nothing in virtual time; 10,000 a second from another host change no answer, and a job takes at most 1.2 x its time",
    about_time: true,
    quick: false,
    run,
};

/// The number of datagrams in virtual time.
const DATAGRAMS: u64 = 10_000_000;

/// Datagrams per second from another host.
const A_SECOND: u32 = 10_000;

const LIMIT: Duration = Duration::from_secs(600);

/// A gas problem that takes a second or two.
const GAS: [&str; 7] = [
    "sage", "--deck", "timing_c", "--levels", "1", "--cycles", "60",
];

fn run(workspace: &Workspace) -> Result<CheckOutcome> {
    let network = make(3)?;
    let outcomes = [
        in_virtual_time(workspace)?,
        answers(workspace, &network)?,
        time(workspace, &network)?,
    ];
    check_no_processes(&network)?;
    Ok(CheckOutcome::of_all(&outcomes))
}

/// Runs the test of the primitives' laws under forged datagrams.
fn in_virtual_time(workspace: &Workspace) -> Result<CheckOutcome> {
    let datagrams = seeds("BCS_STRANGERS", DATAGRAMS)?;
    let test = "conformance::tests::siege::udp_keeps_the_laws_among_strangers";
    let mut command = workspace.cargo(["test", "--package", "bcs-fabric", "--lib", "--"]);
    command.args(["--exact", test, "--nocapture"]);
    command.env("BCS_STRANGERS", datagrams.to_string());
    let said = process::run(&mut command, 3 * LIMIT)?.succeeded()?.stdout;
    let is_count = |line: &&str| line.contains(" datagrams of strangers");
    let line = said.lines().find(is_count);
    let line = line.context("the test did not say how many there were")?;
    let figure = format!("in virtual time {line}: each but the replayed refused, all laws kept");
    Ok(CheckOutcome::exact(true, figure, "all laws kept"))
}

/// Runs programs that check their answers.
fn answers(workspace: &Workspace, network: &TestNetwork) -> Result<CheckOutcome> {
    let programs = [
        ("conformance", "-n 4", "unwritable", "16 rules"),
        (
            "oracle",
            "-n 4 --fabric-crypto aead",
            "1 2000",
            "2000 cases",
        ),
        ("traffic", "-n 5 --nodes 4", "1 100", "100 programs"),
    ];
    let mut figures = Vec::new();
    for (seed, (name, options, words, answer)) in (1..).zip(programs) {
        let program = workspace.fixture_program(name)?;
        let mut command = bcs_run(workspace, network, 2, options)?;
        command.arg(program).args(words.split_whitespace());
        let act = || process::run(&mut command, LIMIT)?.succeeded();
        let (finished, sent) = run_under_attack(network, A_SECOND, seed, act)?;
        ensure!(
            finished.stdout.starts_with(answer),
            "{name} was to say `{answer}`, and said `{}`",
            finished.stdout
        );
        let counts: Vec<&str> = finished
            .stderr
            .lines()
            .filter(|line| line.contains(" has dropped "))
            .collect();
        ensure!(
            !counts.is_empty(),
            "nobody has said that {sent:?} came:\n{}",
            finished.stderr
        );
        figures.push(format!("{name}: {} sent", sum(&sent)));
    }
    let figure = format!("right answers, and strangers named; {}", figures.join(", "));
    Ok(CheckOutcome::exact(true, figure, "right answers"))
}

fn sum(sent: &ForgeryCounts) -> u64 {
    sent.values().sum()
}

fn time(workspace: &Workspace, network: &TestNetwork) -> Result<CheckOutcome> {
    let command = || -> Result<Command> {
        let mut command = bcs_run(workspace, network, 2, "-n 2")?;
        command.args(GAS);
        Ok(command)
    };
    let gas = SageReference::default();
    let mut seed = 100;
    let mut pace = Vec::new();
    let measured = Rounds::default().ratio(
        Bar::AtMost(1.2),
        || {
            seed += 1;
            let act = || gas.solve(&mut command()?);
            let (seconds, sent) = run_under_attack(network, A_SECOND, seed, act)?;
            pace.push(sum(&sent) as f64 / seconds);
            Ok(seconds)
        },
        || gas.solve(&mut command()?),
    )?;
    let mut outcome =
        measured.outcome("time among strangers over time without them, one state", "");
    let pace = crate::bootstrap::median(&pace);
    outcome.figure.push_str(&format!(
        "; {pace:.0} datagrams sent in a second of the run"
    ));
    Ok(outcome)
}
