//! With more ranks than cores on one node we are faster than the other MPI implementations, and
//! waiting ranks use no CPU time.

use std::cell::RefCell;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};
use apps::bench::{BenchOperation, BenchOptions, BenchRow, BufferMode};

use crate::bare_pingpong::half_round_trip_on_one_core_us;
use crate::bootstrap::median;
use crate::confinement::CoreConfinement;
use crate::contest::{Contest, Contestant, Demand, RatioStatistic, rows};
use crate::process;
use crate::rounds::{Bar, Rounds};
use crate::verdict::{CheckOutcome, UnsuitableMachine};
use crate::workspace::Workspace;

use super::Check;

pub(super) const CHECK: Check = Check {
    name: "smartmap-oversubscribed",
    about: "4, 8 and 16 ranks on 2 cores against the best peer, 7 that wait for one, and 2 on one core",
    about_time: true,
    quick: false,
    run,
};

pub(super) const IN_C: Check = Check {
    name: "c-oversubscribed",
    about: "the collectives of smartmap-oversubscribed of programs in C",
    run: |workspace| {
        let _confined = CoreConfinement::to_cores(CORES)?;
        Ok(CheckOutcome::of_all(&all_collectives(
            workspace,
            Contest::in_c,
        )?))
    },
    ..CHECK
};

const CORES: usize = 2;

/// The round trips of both sides on one core, in a round.
const ROUND_TRIPS: u32 = 5_000;

/// The time limit for the start of a job and a second of measurements.
const LIMIT: Duration = Duration::from_secs(120);

fn run(workspace: &Workspace) -> Result<CheckOutcome> {
    let confined = CoreConfinement::to_cores(CORES)?;
    let [four, eight, sixteen] = all_collectives(workspace, |contest| contest)?;
    let outcomes = [
        four,
        eight,
        sixteen,
        laggard(workspace)?,
        waiting(workspace)?,
        one_core(workspace, confined.cores()[0])?,
    ];
    Ok(CheckOutcome::of_all(&outcomes))
}

/// Measures the collectives of 4, 8 and 16 ranks.
fn all_collectives(workspace: &Workspace, of: fn(Contest) -> Contest) -> Result<[CheckOutcome; 3]> {
    Ok([
        collectives(
            workspace,
            4,
            of,
            &[mean("4 ranks", 0.9), each("4 ranks", 1.2)],
        )?,
        collectives(workspace, 8, of, &[mean("8 ranks", 0.7)])?,
        collectives(workspace, 16, of, &[mean("16 ranks", 0.7)])?,
    ])
}

fn mean(what: &'static str, at_most: f64) -> Demand {
    Demand {
        what,
        rows: |_| true,
        of: RatioStatistic::GeometricMean,
        at_most,
    }
}

fn each(what: &'static str, at_most: f64) -> Demand {
    Demand {
        of: RatioStatistic::EachRow,
        ..mean(what, at_most)
    }
}

fn collectives(
    workspace: &Workspace,
    ranks: usize,
    of: fn(Contest) -> Contest,
    demands: &[Demand],
) -> Result<CheckOutcome> {
    let options = rows(
        &[BenchOperation::Barrier, BenchOperation::Allreduce],
        &[8, 1 << 20],
        BufferMode::Untouched,
    );
    of(Contest::with_all(ranks, options)?).judge(workspace, demands)
}

/// Eight ranks, one of which computes for 10 ms of its own CPU time between collectives.
const LAGGING_RANKS: usize = 8;

fn lag() -> BenchOptions {
    BenchOptions {
        row_ms: 100,
        samples: 1,
        ..rows(&[BenchOperation::Lag], &[8], BufferMode::Untouched)
    }
}

fn laggard(workspace: &Workspace) -> Result<CheckOutcome> {
    let wall = mean("wall time with a laggard", 1.02);
    Contest::with_all(LAGGING_RANKS, lag())?.judge(workspace, &[wall])
}

/// Measures the CPU time of the ranks that wait for it, in per cent of the wall time; the rank with
/// most counts.
fn waiting(workspace: &Workspace) -> Result<CheckOutcome> {
    let ours = Contestant::ours(LAGGING_RANKS, CORES);
    let measured = Rounds::default().figure(Bar::AtMost(5.0), || {
        let rows = ours.measure(workspace, LAGGING_RANKS, None, &lag())?;
        rows[0]
            .cpu_percent
            .context("a row of lag says what waiting costs")
    })?;
    Ok(measured.outcome("processor time of a rank that waits", " %"))
}

/// Compares two ranks that are confined to one core from outside with two processes that yield it
/// to each other.
fn one_core(workspace: &Workspace, core: usize) -> Result<CheckOutcome> {
    let bcs = workspace.release()?.join("bcs");
    let (ours_us, bare_us) = (RefCell::new(vec![]), RefCell::new(vec![]));
    let ours = || {
        let mut command = Command::new("taskset");
        command.args(["-c", &core.to_string()]).arg(&bcs);
        command.args(["run", "-n", "2", "bench"]);
        command.args(rows(&[BenchOperation::Latency], &[8], BufferMode::Untouched).words());
        let finished = process::run(&mut command, LIMIT)
            .map_err(|error| UnsuitableMachine(format!("no taskset (util-linux): {error:#}")))?;
        let rows = BenchRow::of_output(&finished.succeeded()?.stdout)?;
        let us = rows.first().context("there is no row")?.us;
        ours_us.borrow_mut().push(us);
        Ok(us)
    };
    let bare = || {
        let us = half_round_trip_on_one_core_us(core, ROUND_TRIPS)?;
        bare_us.borrow_mut().push(us);
        Ok(us)
    };
    let measured = Rounds::default().ratio(Bar::AtMost(1.5), ours, bare)?;
    let mut outcome = measured.outcome("half a round trip on one core against sched_yield", " x");
    outcome.figure.push_str(&format!(
        "; of the rounds' medians: {:.2} us against {:.2} us",
        median(&ours_us.borrow()),
        median(&bare_us.borrow())
    ));
    Ok(outcome)
}
