//! Measures the cost of `--checked`: messages then carry their types, and buffers are compared with
//! those of pending operations.

use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};
use apps::bench::{BenchOperation, BenchRow, BufferMode};

use crate::contest::rows;
use crate::process;
use crate::rounds::{Bar, Rounds};
use crate::sweep3d::{Sweep3dReference, process_grid};
use crate::verdict::CheckOutcome;
use crate::workspace::Workspace;

use super::Check;

pub(super) const CHECK: Check = Check {
    name: "checked-cost",
    about: "half a round trip of 8 B with --checked takes at most 1.3 x the time without, within a node and between two, and SWEEP3D, 100 cubed, with 2 ranks at most 1.02 x",
    about_time: true,
    quick: true,
    run,
};

const LIMIT: Duration = Duration::from_secs(60);

fn run(workspace: &Workspace) -> Result<CheckOutcome> {
    let within = against(workspace, "1", "within a node")?;
    let between = against(workspace, "2", "between two nodes")?;
    let sweep3d = sweep3d(workspace)?;
    Ok(CheckOutcome::of_all(&[within, between, sweep3d]))
}

/// Compares the solver's time of SWEEP3D with non-blocking calls.
fn sweep3d(workspace: &Workspace) -> Result<CheckOutcome> {
    let dir = tempfile::tempdir().context("failed to make a directory for the deck")?;
    let deck_path = dir.path().join("input");
    let (npe_i, npe_j) = process_grid(2);
    let deck = format!("{npe_i} {npe_j} 10 3 1\n100 100 100 6 1\n.05 .05 .05 -4.0\n0 0 0\n0 1 0\n");
    fs::write(&deck_path, deck).context("failed to write a deck")?;
    let solver = Sweep3dReference::default();
    let checked = || solver_s(workspace, &solver, &deck_path, &["--checked"]);
    let unchecked = || solver_s(workspace, &solver, &deck_path, &[]);
    let measured = Rounds::default().ratio(Bar::AtMost(1.02), checked, unchecked)?;
    Ok(measured.outcome("SWEEP3D of 2 ranks on a node, checked against not", " x"))
}

fn solver_s(
    workspace: &Workspace,
    solver: &Sweep3dReference,
    deck: &Path,
    options: &[&str],
) -> Result<f64> {
    let mut command = workspace.bcs(["run", "-n", "2"])?;
    command
        .args(options)
        .args(["sweep3d", "--comm", "nonblocking", "--deck"]);
    solver.solve(command.arg(deck))
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
