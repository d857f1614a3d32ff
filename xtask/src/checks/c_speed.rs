//! Measures the cost of the C interface: `apps/c/bench.c` on our library against our bench in Rust,
//! in turns.

use anyhow::{Context, Result};
use apps::bench::{BenchOperation, BenchOptions, BenchRow, BufferMode};

use crate::c_bench::CBench;
use crate::contest::rows;
use crate::process;
use crate::rounds::{Bar, Rounds, turns};
use crate::verdict::CheckOutcome;
use crate::workspace::Workspace;
use std::process::Command;
use std::time::Duration;

use super::Check;

pub(super) const CHECK: Check = Check {
    name: "c-speed",
    about: "through C half a round trip of 8 B takes at most 30 ns more; of 64 KiB at most 1.1 times as long with the preloaded heap, 2.2 times without",
    about_time: true,
    quick: false,
    run,
};

const RANKS: usize = 2;

const LIMIT: Duration = Duration::from_secs(60);

/// The allowed additional time, in microseconds.
const MORE_US: f64 = 0.030;

fn run(workspace: &Workspace) -> Result<CheckOutcome> {
    let bench = CBench::shared(workspace)?;
    let options = rows(
        &[BenchOperation::Latency],
        &[8, 64 << 10],
        BufferMode::Untouched,
    );
    let bound = ["--bind".to_owned(), "core".to_owned()];
    let own_heap = [&bound[..], &["--heap".to_owned(), "own".to_owned()]].concat();
    let mut short_us = Vec::new();
    let bars = [Bar::AtMost(MORE_US), Bar::AtMost(1.1), Bar::AtMost(2.2)];
    let [more, preloaded, own] = Rounds::default().figures(bars, |round| {
        let mut times = [[0.0; 2]; 3];
        for side in turns(times.len(), round) {
            let command = match side {
                0 => {
                    let mut command = workspace.bcs(["run", "-n", &RANKS.to_string()])?;
                    command.args(&bound).arg("bench");
                    command
                }
                1 => bench.command(RANKS, &bound),
                _ => bench.command(RANKS, &own_heap),
            };
            times[side] = measure(command, &options)?;
        }
        let [rust, c, own] = times;
        short_us.push((rust[0], c[0]));
        Ok([c[0] - rust[0], c[1] / rust[1], own[1] / rust[1]])
    })?;
    let (rust, c): (Vec<f64>, Vec<f64>) = short_us.into_iter().unzip();
    let mut more = more.outcome("8 B through C takes more by", " us");
    more.figure.push_str(&format!(
        "; {:.3} us against {:.3} us",
        crate::bootstrap::median(&c),
        crate::bootstrap::median(&rust)
    ));
    Ok(CheckOutcome::of_all(&[
        more,
        preloaded.outcome("64 KiB, preloaded heap", " x"),
        own.outcome("64 KiB, the program's own heap", " x"),
    ]))
}

/// Returns both rows.
fn measure(mut command: Command, options: &BenchOptions) -> Result<[f64; 2]> {
    command.args(options.words());
    let output = process::run(&mut command, LIMIT)?.succeeded()?.stdout;
    let rows = BenchRow::of_output(&output).context("it wrote a broken row")?;
    let times: Vec<f64> = rows.iter().map(|row| row.us).collect();
    <[f64; 2]>::try_from(times).map_err(|times| anyhow::anyhow!("it wrote {} rows", times.len()))
}
