//! Measures the cost of MPICH's ABI: `apps/c/bench.c` built by MPICH's own `mpicc` against the same
//! program built by ours, both over our library, in turns.

use anyhow::{Context, Result, ensure};
use apps::bench::{BenchOperation, BenchOptions, BenchRow, BufferMode};

use crate::c_bench::CBench;
use crate::contest::rows;
use crate::peers::MPICH;
use crate::process;
use crate::rounds::{Bar, Rounds, turns};
use crate::verdict::CheckOutcome;
use crate::workspace::Workspace;
use std::process::Command;
use std::time::Duration;

use super::Check;

pub(super) const CHECK: Check = Check {
    name: "mpich-abi-cost",
    about: "a program of MPICH's ABI takes at most 10 ns more for half a round trip of 8 B than one of the standard's",
    about_time: true,
    quick: false,
    run,
};

const RANKS: usize = 2;

const LIMIT: Duration = Duration::from_secs(60);

/// The allowed additional time, in microseconds.
const MORE_US: f64 = 0.010;

fn run(workspace: &Workspace) -> Result<CheckOutcome> {
    let theirs = MPICH.program(workspace)?;
    let bench = CBench::shared(workspace)?;
    let options = rows(&[BenchOperation::Latency], &[8], BufferMode::Untouched);
    let bound = ["--bind".to_owned(), "core".to_owned()];
    let with_mpich = |options: &[String]| {
        let mut command = Command::new(bench.launcher());
        command.args(["run", "-n", &RANKS.to_string()]);
        command.args(options).arg(&theirs);
        command
    };
    uses_our_library(
        with_mpich(&["--env".to_owned(), "LD_DEBUG=files".to_owned()]),
        &options,
    )?;
    let mut both_us = Vec::new();
    let [more] = Rounds::default().figures([Bar::AtMost(MORE_US)], |round| {
        let mut times = [0.0; 2];
        for side in turns(times.len(), round) {
            let command = match side {
                0 => bench.command(RANKS, &bound),
                _ => with_mpich(&bound),
            };
            times[side] = measure(command, &options)?;
        }
        both_us.push(times);
        Ok([times[1] - times[0]])
    })?;
    let middle = |side: usize| {
        let times: Vec<f64> = both_us.iter().map(|times| times[side]).collect();
        crate::bootstrap::median(&times)
    };
    let mut more = more.outcome("8 B by MPICH's ABI takes more by", " us");
    more.figure.push_str(&format!(
        "; {:.3} us against {:.3} us",
        middle(1),
        middle(0)
    ));
    Ok(more)
}

/// Checks that the program finds our library, and not that of MPICH.
fn uses_our_library(mut command: Command, options: &BenchOptions) -> Result<()> {
    command.args(options.words());
    let said = process::run(&mut command, LIMIT)?.succeeded()?.stderr;
    let ours = "lib/mpich/libmpi.so.12";
    ensure!(
        said.lines()
            .any(|line| line.contains("calling init") && line.contains(ours)),
        "the program of MPICH's ABI did not load {ours}: its mpicc records its own folder"
    );
    Ok(())
}

/// Returns the time of half a round trip.
fn measure(mut command: Command, options: &BenchOptions) -> Result<f64> {
    command.args(options.words());
    let output = process::run(&mut command, LIMIT)?.succeeded()?.stdout;
    let rows = BenchRow::of_output(&output).context("it wrote a broken row")?;
    ensure!(rows.len() == 1, "it wrote {} rows", rows.len());
    Ok(rows[0].us)
}
