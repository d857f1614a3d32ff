//! Runs the whole stack under one seed: `bcs sim --mpi`, every seed twice.

use std::time::Duration;

use anyhow::{Context, Result};

use crate::process;
use crate::verdict::CheckOutcome;
use crate::workspace::Workspace;

use super::Check;

pub(super) const CHECK: Check = Check {
    name: "simulator-mpi",
    about: "5,000 simulated jobs of bcs-mpi under every fault: no hang, no wrong value, nobody untold, the same trace twice (BCS_SIM_MPI_SEEDS: fewer)",
    about_time: false,
    quick: false,
    run,
};

/// The default number of seeds.
const SEEDS: u64 = 5_000;

/// Each kind of fault must strike in at least one of this many seeds: in 300 of 5,000.
const SEEDS_PER_STRIKE: u64 = 5_000 / 300 + 1;

const LIMIT: Duration = Duration::from_secs(3600);

fn run(workspace: &Workspace) -> Result<CheckOutcome> {
    jobs(workspace, &[], seeds("BCS_SIM_MPI_SEEDS", SEEDS)?)
}

/// Returns the number of seeds: that of the variable, if it is set.
pub(super) fn seeds(variable: &str, otherwise: u64) -> Result<u64> {
    std::env::var(variable).map_or(Ok(otherwise), |seeds| {
        seeds
            .parse()
            .with_context(|| format!("{variable} is `{seeds}`, which is no number"))
    })
}

/// Runs jobs of `seeds` seeds, each twice, with these options.
pub(super) fn jobs(workspace: &Workspace, options: &[&str], seeds: u64) -> Result<CheckOutcome> {
    let seeds_given = seeds.to_string();
    let always = ["sim", "--mpi", "--twice", "--seeds", &seeds_given];
    let mut command = workspace.bcs(always.iter().chain(options).copied())?;
    let finished = process::run(&mut command, LIMIT)?;
    let sum = finished
        .stdout
        .lines()
        .last()
        .unwrap_or_default()
        .to_owned();
    let kinds = sum.split("struck in so many seeds: ").nth(1);
    let kinds = kinds.context("the simulator did not sum up what struck")?;
    let strikes = kinds.split(", ").map(|kind| {
        let number = kind
            .split_whitespace()
            .last()
            .and_then(|word| word.parse().ok());
        number.with_context(|| format!("`{kind}` is no count"))
    });
    let strikes: Vec<u64> = strikes.collect::<Result<_>>()?;
    let least = strikes.iter().copied().min().unwrap_or(0);
    let held =
        finished.status.success() && !finished.timed_out && least >= seeds / SEEDS_PER_STRIKE;
    let objections = finished
        .stdout
        .lines()
        .filter(|line| line.contains(": objection: "));
    let mut figure = sum;
    for objection in objections.take(3) {
        figure.push_str("; ");
        figure.push_str(objection);
    }
    let bar = format!(
        "no objection; each kind in {} seeds",
        seeds / SEEDS_PER_STRIKE
    );
    Ok(CheckOutcome::exact(held, figure, bar))
}
