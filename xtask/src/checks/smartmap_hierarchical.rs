//! Compares collectives of several nodes in which the ranks of a node do their part themselves with
//! collectives by the NICs alone.

use anyhow::{Result, ensure};
use apps::bench::{BenchOperation, BenchOptions, BufferMode};
use std::time::Duration;

use crate::contest::{Contest, Contestant, Demand, RatioStatistic, rows};
use crate::process;
use crate::verdict::CheckOutcome;
use crate::workspace::Workspace;

use super::Check;

pub(super) const CHECK: Check = Check {
    name: "smartmap-hierarchical",
    about: "collectives on 2 to 4 nodes with 2 to 4 ranks each are faster than with --intranode nic, and equal to the bit",
    about_time: true,
    quick: false,
    run,
};

/// Nodes, ranks of each node, and the name of the layout.
const LAYOUTS: [(usize, usize, &str); 5] = [
    (2, 2, "2 nodes x 2 ranks"),
    (2, 4, "2 nodes x 4 ranks"),
    (3, 3, "3 nodes x 3 ranks"),
    (4, 2, "4 nodes x 2 ranks"),
    (4, 4, "4 nodes x 4 ranks"),
];

/// Random collectives of each layout, compared to the bit.
const CASES: &str = "300";

const LIMIT: Duration = Duration::from_secs(300);

fn run(workspace: &Workspace) -> Result<CheckOutcome> {
    let mut outcomes = Vec::new();
    for (nodes, ranks, what) in LAYOUTS {
        outcomes.push(faster(workspace, nodes, nodes * ranks, what)?);
        outcomes.push(equal(workspace, nodes, nodes * ranks, what)?);
    }
    Ok(CheckOutcome::of_all(&outcomes))
}

fn faster(
    workspace: &Workspace,
    nodes: usize,
    ranks: usize,
    what: &'static str,
) -> Result<CheckOutcome> {
    let words = |line: String| line.split_whitespace().map(str::to_owned).collect();
    let ops = [
        BenchOperation::Barrier,
        BenchOperation::Bcast,
        BenchOperation::Reduce,
        BenchOperation::Allreduce,
        BenchOperation::Alltoall,
    ];
    // The operations that take the NICs longest are representative.
    let sizes = [8, 1 << 10, 8 << 10, 64 << 10, 1 << 20];
    let options = BenchOptions {
        row_ms: 5,
        samples: 3,
        ..rows(&ops, &sizes, BufferMode::Untouched)
    };
    let contest = Contest {
        sides: vec![
            Contestant::Ours(words(format!("--nodes {nodes}"))),
            Contestant::Baseline(words(format!("--nodes {nodes} --intranode nic"))),
        ],
        ranks,
        options,
        hosts: None,
    };
    let demand = Demand {
        what,
        rows: |_| true,
        of: RatioStatistic::GeometricMean,
        at_most: 1.0,
    };
    let (outcome, table) = contest.judge_in_full(workspace, &[demand])?;
    println!("{what}\n{table}\n");
    Ok(outcome)
}

/// Runs the same collectives with both transports, each against an oracle that knows the order.
fn equal(workspace: &Workspace, nodes: usize, ranks: usize, what: &str) -> Result<CheckOutcome> {
    for road in ["smartmap", "nic"] {
        let layout = format!("-n {ranks} --nodes {nodes} --intranode {road}");
        let seed = (nodes * 100 + ranks).to_string();
        let words = [seed.as_str(), CASES];
        let mut command = workspace.fixture(&layout, "oracle", words)?;
        let said = process::run(&mut command, LIMIT)?.succeeded()?.stdout;
        ensure!(
            said.starts_with(CASES),
            "oracle {layout} did not say that it went through {CASES} cases: {said}"
        );
    }
    Ok(CheckOutcome::exact(
        true,
        format!(
            "{what}: {CASES} random collectives by both roads agree with the oracle to the bit"
        ),
        CASES,
    ))
}
