//! The time to start a job grows with the depth of its launch tree, and not with its nodes.

use std::time::Duration;

use anyhow::{Context, Result};

use crate::process;
use crate::verdict::CheckOutcome;
use crate::workspace::Workspace;

use super::Check;

pub(super) const CHECK: Check = Check {
    name: "launch-tree",
    about: "`hello` on 256 emulated nodes, each start taking 100 ms, takes at most 3 times as long as on 16",
    about_time: true,
    quick: true,
    run,
};

/// The nodes, each with a node manager and a rank. The last is compared with 16.
const NODES: [usize; 5] = [1, 4, 16, 64, 256];

/// The time that a start is made to take. A login takes this long. The processes of 256 nodes need
/// a second of two cores, whoever starts them. That must not hide the tree.
const COST: &str = "100ms";

/// The cost that the paper has measured (section 2.1). It is less than what the processes of a node
/// cost a core here, so its figures are printed and not judged.
const COST_OF_THE_PAPER: &str = "5ms";

/// The most that the time may grow from 16 nodes to the largest number.
const BAR: f64 = 3.0;

const LIMIT: Duration = Duration::from_secs(120);

fn run(workspace: &Workspace) -> Result<CheckOutcome> {
    workspace.release()?;
    let times = |cost: &str| -> Result<Vec<f64>> {
        let times = NODES
            .iter()
            .map(|&nodes| wall_s(workspace, nodes, cost, &[]));
        times.collect()
    };
    let judged = times(COST)?;
    let of_paper = times(COST_OF_THE_PAPER)?;
    let star = wall_s(workspace, 64, COST, &["--launch-degree", "64"])?;
    let ratio = |times: &[f64]| times[NODES.len() - 1] / times[2];
    let listed = |times: &[f64]| {
        let each = NODES.iter().zip(times);
        let each = each.map(|(nodes, time)| format!("{nodes}: {time:.2} s"));
        each.collect::<Vec<_>>().join(", ")
    };
    Ok(CheckOutcome::exact(
        ratio(&judged) <= BAR,
        format!(
            "{:.2} x ({}; 64 without a tree {star:.2} s); with a cost of {COST_OF_THE_PAPER} {:.2} x ({})",
            ratio(&judged),
            listed(&judged),
            ratio(&of_paper),
            listed(&of_paper),
        ),
        format!("at most {BAR} x with a cost of {COST}"),
    ))
}

fn wall_s(workspace: &Workspace, nodes: usize, cost: &str, more: &[&str]) -> Result<f64> {
    let count = nodes.to_string();
    let words = ["run", "-n", &count, "--nodes", &count];
    // One process for all nodes would need no tree.
    let tree = ["--nic-threads", "coprocessor", "--launch-cost", cost];
    let words = words.iter().chain(&tree).chain(more).chain(&["hello"]);
    let mut command = workspace.bcs(words.copied())?;
    let finished = process::run(&mut command, LIMIT)?;
    let finished = finished
        .succeeded()
        .with_context(|| format!("{nodes} nodes"))?;
    Ok(finished.wall.as_secs_f64())
}
