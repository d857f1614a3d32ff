//! Between nodes we are at least as fast as the best of the other MPI implementations over TCP.
//!
//! The nodes are on one machine, and the peers use its loopback device as their network. Peers that
//! can be restricted to it are measured; each row is compared with the best of them.

use anyhow::Result;
use apps::bench::{BenchCase, BenchOperation, BenchOptions, BufferMode};

use crate::confinement::CoreConfinement;
use crate::contest::{Contest, Demand, RatioStatistic, rows};
use crate::verdict::CheckOutcome;
use crate::workspace::Workspace;

use super::Check;

pub(super) const CHECK: Check = Check {
    name: "beat-peers",
    about: "2 ranks on 2 nodes take at most the best peer's time over TCP in the mean, none above 1.6, at 1 MiB 0.9",
    about_time: true,
    quick: false,
    run,
};

pub(super) const RATE: Check = Check {
    name: "beat-rate",
    about: "64 messages at a time between 2 nodes: 5 times the best peer's rate at 8 B, 1.5 times its bandwidth",
    about_time: true,
    quick: false,
    run: rate,
};

pub(super) const OVERSUBSCRIBED: Check = Check {
    name: "beat-oversubscribed",
    about: "collectives of 8 ranks on 4 nodes and 2 cores take at most half the time of the best peer that yields",
    about_time: true,
    quick: false,
    run: oversubscribed,
};

/// The sizes of the rows.
pub(super) const SIZES: [usize; 4] = [8, 8 << 10, 64 << 10, MIB];

const MIB: usize = 1 << 20;

const CORES: usize = 2;

/// Lets roots take turns: a loop of broadcasts from one root is a stream without waits.
fn turns(ops: &[BenchOperation]) -> BenchOptions {
    rows(ops, &SIZES, BufferMode::Turns)
}

fn demand(
    what: &'static str,
    rows: fn(&BenchCase) -> bool,
    of: RatioStatistic,
    at_most: f64,
) -> Demand {
    Demand {
        what,
        rows,
        of,
        at_most,
    }
}

fn judge(workspace: &Workspace, contest: &Contest, demands: &[Demand]) -> Result<CheckOutcome> {
    let (outcome, table) = contest.judge_in_full(workspace, demands)?;
    println!("{table}\n");
    Ok(outcome)
}

fn run(workspace: &Workspace) -> Result<CheckOutcome> {
    let ops = [
        BenchOperation::Latency,
        BenchOperation::Barrier,
        BenchOperation::Bcast,
        BenchOperation::Allreduce,
        BenchOperation::Alltoall,
    ];
    let contest = Contest::between_nodes(2, 2, turns(&ops))?;
    let demands = [
        demand("all rows", |_| true, RatioStatistic::GeometricMean, 1.0),
        demand(
            "8 B and barrier",
            |case| case.bytes <= 8,
            RatioStatistic::EachRow,
            1.6,
        ),
        demand("all rows", |_| true, RatioStatistic::EachRow, 1.6),
        demand(
            "1 MiB",
            |case| case.bytes == MIB,
            RatioStatistic::EachRow,
            0.9,
        ),
    ];
    judge(workspace, &contest, &demands)
}

/// The bars are for messages and bytes per second. Times are their inverse.
fn rate(workspace: &Workspace) -> Result<CheckOutcome> {
    let contest = Contest::between_nodes(2, 2, turns(&[BenchOperation::Bandwidth]))?;
    let demands = [
        demand(
            "rate of 8 B",
            |case| case.bytes == 8,
            RatioStatistic::EachRow,
            1.0 / 5.0,
        ),
        demand(
            "bandwidth",
            |case| case.bytes > 8,
            RatioStatistic::EachRow,
            1.0 / 1.5,
        ),
    ];
    judge(workspace, &contest, &demands)
}

/// Measures only operations of all ranks: with only two active ranks, our first two would be on one
/// node.
fn oversubscribed(workspace: &Workspace) -> Result<CheckOutcome> {
    let _confined = CoreConfinement::to_cores(CORES)?;
    let ops = [
        BenchOperation::Barrier,
        BenchOperation::Bcast,
        BenchOperation::Allreduce,
        BenchOperation::Alltoall,
    ];
    let contest = Contest::between_nodes(8, 4, turns(&ops))?;
    let mean = demand(
        "8 ranks on 4 nodes",
        |_| true,
        RatioStatistic::GeometricMean,
        0.5,
    );
    judge(workspace, &contest, &[mean])
}
