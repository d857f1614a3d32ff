//! The roads of bytes between ranks of a node against each other, and the two ways to fold a long reduction.

use anyhow::Result;
use apps::bench::{Case, Mode, Op, Options};

use crate::contest::{Contest, Demand, Figure, Side, rows};
use crate::verdict::Outcome;
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

fn run(workspace: &Workspace) -> Result<Outcome> {
    // Up to 1 KiB messages are copied into a queue, whatever the road.
    let sizes = [4, 8, 16, 32, 64, 256].map(|kib| kib * KIB);
    let messages = rows(
        &[Op::Latency],
        &[&sizes[..], &[MIB, 4 * MIB]].concat(),
        Mode::Untouched,
    );
    let reductions = rows(
        &[Op::Reduce, Op::Allreduce],
        &[8 * KIB, 64 * KIB, 256 * KIB, MIB, 4 * MIB],
        Mode::Untouched,
    );
    let never_slower = Demand {
        what: "never slower",
        rows: |_| true,
        of: Figure::EachRow,
        at_most: 1.0,
    };
    let clearly_faster = Demand {
        what: "8 to 64 KiB",
        rows: |case: &Case| (8 * KIB..=64 * KIB).contains(&case.bytes),
        of: Figure::EachRow,
        at_most: 1.0 / 1.5,
    };
    let on_the_whole = Demand {
        what: "threaded against serial",
        rows: |_| true,
        of: Figure::GeometricMean,
        at_most: 1.0,
    };
    let outcomes = [
        against(
            workspace,
            "--road kernel",
            &messages,
            &[never_slower, clearly_faster],
        )?,
        against(workspace, "--road queues", &messages, &[never_slower])?,
        against(workspace, "--folding serial", &reductions, &[on_the_whole])?,
    ];
    Ok(Outcome::of_all(&outcomes))
}

/// The default against another way.
fn against(
    workspace: &Workspace,
    way: &str,
    options: &Options,
    demands: &[Demand],
) -> Result<Outcome> {
    let words = way.split_whitespace().map(str::to_owned).collect();
    let contest = Contest {
        sides: vec![Side::Ours(Vec::new()), Side::Baseline(words)],
        ranks: RANKS,
        options: options.clone(),
        hosts: None,
    };
    let (outcome, table) = contest.judge_in_full(workspace, demands)?;
    println!("{table}\n");
    Ok(outcome)
}
