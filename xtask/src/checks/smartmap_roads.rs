//! Compares the paths of bytes between ranks of a node, and the two algorithms that fold a long
//! reduction.

use anyhow::Result;
use apps::bench::{BenchCase, BenchOperation, BenchOptions, BufferMode};

use crate::contest::{Contest, Contestant, Demand, RatioStatistic, rows};
use crate::verdict::CheckOutcome;
use crate::workspace::Workspace;

use super::Check;

pub(super) const CHECK: Check = Check {
    name: "smartmap-roads",
    about: "slots are at least 1.5 times as fast as process_vm_readv at 8 to 64 KiB and never slower than any road; tables",
    about_time: true,
    quick: false,
    run,
};

const RANKS: usize = 2;

const KIB: usize = 1 << 10;
const MIB: usize = 1 << 20;

fn run(workspace: &Workspace) -> Result<CheckOutcome> {
    // Messages up to 1 KiB are copied into a queue on every path.
    let sizes = [4, 8, 16, 32, 64, 256].map(|kib| kib * KIB);
    let messages = rows(
        &[BenchOperation::Latency],
        &[&sizes[..], &[MIB, 4 * MIB]].concat(),
        BufferMode::Untouched,
    );
    let reductions = rows(
        &[BenchOperation::Reduce, BenchOperation::Allreduce],
        &[8 * KIB, 64 * KIB, 256 * KIB, MIB, 4 * MIB],
        BufferMode::Untouched,
    );
    let never_slower = Demand {
        what: "never slower",
        rows: |_| true,
        of: RatioStatistic::EachRow,
        at_most: 1.0,
    };
    let clearly_faster = Demand {
        what: "8 to 64 KiB",
        rows: |case: &BenchCase| (8 * KIB..=64 * KIB).contains(&case.bytes),
        of: RatioStatistic::EachRow,
        at_most: 1.0 / 1.5,
    };
    let on_the_whole = Demand {
        what: "threaded against serial",
        rows: |_| true,
        of: RatioStatistic::GeometricMean,
        at_most: 1.0,
    };
    let outcomes = [
        against(
            workspace,
            "--copy-method kernel",
            &messages,
            &[never_slower, clearly_faster],
        )?,
        against(
            workspace,
            "--copy-method queues",
            &messages,
            &[never_slower],
        )?,
        against(workspace, "--folding serial", &reductions, &[on_the_whole])?,
    ];
    Ok(CheckOutcome::of_all(&outcomes))
}

/// Compares the default with another path.
fn against(
    workspace: &Workspace,
    way: &str,
    options: &BenchOptions,
    demands: &[Demand],
) -> Result<CheckOutcome> {
    let words = way.split_whitespace().map(str::to_owned).collect();
    let contest = Contest {
        sides: vec![Contestant::Ours(Vec::new()), Contestant::Baseline(words)],
        ranks: RANKS,
        options: options.clone(),
        hosts: None,
    };
    let (outcome, table) = contest.judge_in_full(workspace, demands)?;
    println!("{table}\n");
    Ok(outcome)
}
