//! Measures the cost of `--checked`: messages then carry their types.

use std::time::Duration;

use anyhow::{Context, Result};
use apps::bench::{BenchOperation, BenchRow, BufferMode};

use crate::contest::rows;
use crate::process;
use crate::rounds::{Bar, Rounds};
use crate::verdict::CheckOutcome;
use crate::workspace::Workspace;

use super::Check;

pub(super) const CHECK: Check = Check {
    name: "checked-cost",
    about: "half a round trip of 8 B with --checked takes at most 1.3 x the time without, within a node and between two",
    about_time: true,
    quick: true,
    run,
};

const LIMIT: Duration = Duration::from_secs(60);

fn run(workspace: &Workspace) -> Result<CheckOutcome> {
    let within = against(workspace, "1", "within a node")?;
    let between = against(workspace, "2", "between two nodes")?;
    Ok(CheckOutcome::of_all(&[within, between]))
}

fn against(workspace: &Workspace, nodes: &str, what: &str) -> Result<CheckOutcome> {
    let checked = || half_round_trip_us(workspace, nodes, &["--checked"]);
    let unchecked = || half_round_trip_us(workspace, nodes, &[]);
    let measured = Rounds::default().ratio(Bar::AtMost(1.3), checked, unchecked)?;
    let text = format!("half a round trip of 8 B {what}, checked against not");
    Ok(measured.outcome(&text, " x"))
}

fn half_round_trip_us(workspace: &Workspace, nodes: &str, options: &[&str]) -> Result<f64> {
    let mut command = workspace.bcs(["run", "-n", "2", "--nodes", nodes])?;
    command.args(options).arg("bench");
    command.args(rows(&[BenchOperation::Latency], &[8], BufferMode::Untouched).words());
    let output = process::run(&mut command, LIMIT)?.succeeded()?.stdout;
    let found = BenchRow::of_output(&output).context("it wrote a broken row")?;
    let [row] = &found[..] else {
        anyhow::bail!("one row was asked for, and {} came", found.len());
    };
    Ok(row.us)
}
