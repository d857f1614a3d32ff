//! Within a node, with a buffer for each message: rows in which a peer has been faster than ours.

use anyhow::Result;
use apps::bench::{BenchOperation, BenchOptions, BufferMode};

use crate::confinement::CoreConfinement;
use crate::contest::{Contest, Demand, RatioStatistic, rows};
use crate::verdict::CheckOutcome;
use crate::workspace::Workspace;

use super::Check;

pub(super) const CHECK: Check = Check {
    name: "smartmap-fresh",
    about: "fresh buffers: allreduce of 1 MiB with 8 ranks on 2 cores at most 0.95 of the best peer, 1 KiB of 2 at most 1",
    about_time: true,
    quick: false,
    run,
};

const CORES: usize = 2;

const KIB: usize = 1 << 10;

fn run(workspace: &Workspace) -> Result<CheckOutcome> {
    let _confined = CoreConfinement::to_cores(CORES)?;
    // An allreduce of this size takes some ms.
    let large = BenchOptions {
        row_ms: 100,
        ..rows(
            &[BenchOperation::Allreduce],
            &[KIB * KIB],
            BufferMode::Fresh,
        )
    };
    let small = rows(
        &[BenchOperation::Latency, BenchOperation::Allreduce],
        &[KIB],
        BufferMode::Fresh,
    );
    Ok(CheckOutcome::of_all(&[
        contest(workspace, 8, large, "8 ranks", 0.95)?,
        contest(workspace, 2, small, "2 ranks", 1.0)?,
    ]))
}

fn contest(
    workspace: &Workspace,
    ranks: usize,
    options: BenchOptions,
    what: &'static str,
    at_most: f64,
) -> Result<CheckOutcome> {
    let demand = Demand {
        what,
        rows: |_| true,
        of: RatioStatistic::EachRow,
        at_most,
    };
    let contest = Contest::with_all(ranks, options)?;
    let (outcome, table) = contest.judge_in_full(workspace, &[demand])?;
    println!("{table}\n");
    Ok(outcome)
}
