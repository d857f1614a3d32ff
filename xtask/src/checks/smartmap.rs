//! Between the ranks of one node we are at least as fast as the best of the other MPI
//! implementations.

use anyhow::Result;
use apps::bench::{BenchOperation, BufferMode};

use crate::contest::{Contest, Demand, RatioStatistic, rows};
use crate::verdict::CheckOutcome;
use crate::workspace::Workspace;

use super::Check;

pub(super) const LATENCY: Check = Check {
    name: "smartmap-latency",
    about: "half round trips of 0 B to 256 KiB take at most 0.95 times the best peer's in the mean, none above 1.15",
    about_time: true,
    quick: false,
    run: |workspace| latency(workspace, |contest| contest),
};

pub(super) const LARGE: Check = Check {
    name: "smartmap-large",
    about: "half round trips of 1 and 4 MiB take at most 0.7 and 0.6 times the best peer's, 0.9 with buffers in use",
    about_time: true,
    quick: false,
    run: |workspace| large(workspace, |contest| contest),
};

pub(super) const RATE: Check = Check {
    name: "smartmap-rate",
    about: "8 B messages and bandwidth are at least the best peer's in the mean, none under 0.87",
    about_time: true,
    quick: false,
    run: |workspace| rate(workspace, |contest| contest),
};

pub(super) const COLLECTIVES: Check = Check {
    name: "smartmap-collectives",
    about: "collectives of two ranks take at most 0.85 times the best peer's in the mean, at 1 MiB 0.7, none above 1.15",
    about_time: true,
    quick: false,
    run: |workspace| collectives(workspace, |contest| contest),
};

pub(super) const LATENCY_IN_C: Check = Check {
    name: "c-latency",
    about: "the same as smartmap-latency of programs in C",
    run: |workspace| latency(workspace, Contest::in_c),
    ..LATENCY
};

pub(super) const LARGE_IN_C: Check = Check {
    name: "c-large",
    about: "the same as smartmap-large of programs in C",
    run: |workspace| large(workspace, Contest::in_c),
    ..LARGE
};

pub(super) const RATE_IN_C: Check = Check {
    name: "c-rate",
    about: "the same as smartmap-rate of programs in C",
    run: |workspace| rate(workspace, Contest::in_c),
    ..RATE
};

pub(super) const COLLECTIVES_IN_C: Check = Check {
    name: "c-collectives",
    about: "the same as smartmap-collectives of programs in C",
    run: |workspace| collectives(workspace, Contest::in_c),
    ..COLLECTIVES
};

/// Our default, or our programs in C.
type ContestVariant = fn(Contest) -> Contest;

/// The ranks of all checks but the oversubscribed ones.
const RANKS: usize = 2;

const MIB: usize = 1 << 20;

fn latency(workspace: &Workspace, of: ContestVariant) -> Result<CheckOutcome> {
    let sizes = [
        0,
        8,
        1 << 10,
        4 << 10,
        8 << 10,
        32 << 10,
        64 << 10,
        256 << 10,
    ];
    let contest = Contest::with_all(
        RANKS,
        rows(&[BenchOperation::Latency], &sizes, BufferMode::Untouched),
    )?;
    of(contest).judge(workspace, &all_rows(0.95, 1.15))
}

fn large(workspace: &Workspace, of: ContestVariant) -> Result<CheckOutcome> {
    let mut options = rows(
        &[BenchOperation::Latency],
        &[MIB, 4 * MIB],
        BufferMode::Untouched,
    );
    options.mode.push(BufferMode::Touched);
    let demand = |what, rows, at_most| Demand {
        what,
        rows,
        of: RatioStatistic::EachRow,
        at_most,
    };
    of(Contest::with_all(RANKS, options)?).judge(
        workspace,
        &[
            demand(
                "1 MiB untouched",
                |case| case.bytes == MIB && case.mode == BufferMode::Untouched,
                0.7,
            ),
            demand(
                "4 MiB untouched",
                |case| case.bytes == 4 * MIB && case.mode == BufferMode::Untouched,
                0.6,
            ),
            demand("touched", |case| case.mode == BufferMode::Touched, 0.9),
        ],
    )
}

/// The bars are for messages and bytes per second. Times are their inverse.
fn rate(workspace: &Workspace, of: ContestVariant) -> Result<CheckOutcome> {
    let sizes = [
        1 << 10,
        4 << 10,
        8 << 10,
        32 << 10,
        64 << 10,
        256 << 10,
        MIB,
        4 * MIB,
    ];
    let options = rows(
        &[BenchOperation::Rate, BenchOperation::Bandwidth],
        &sizes,
        BufferMode::Untouched,
    );
    of(Contest::with_all(RANKS, options)?).judge(workspace, &all_rows(1.0, 1.0 / 0.87))
}

fn collectives(workspace: &Workspace, of: ContestVariant) -> Result<CheckOutcome> {
    let ops = [
        BenchOperation::Barrier,
        BenchOperation::Bcast,
        BenchOperation::Reduce,
        BenchOperation::Allreduce,
        BenchOperation::Alltoall,
    ];
    let sizes = [8, 1 << 10, 8 << 10, 64 << 10, MIB];
    let contest = Contest::with_all(RANKS, rows(&ops, &sizes, BufferMode::Untouched))?;
    let [mean, each] = all_rows(0.85, 1.15);
    let large = Demand {
        what: "1 MiB",
        rows: |case| case.bytes == MIB,
        of: RatioStatistic::EachRow,
        at_most: 0.7,
    };
    of(contest).judge(workspace, &[mean, each, large])
}

/// Returns the bars for the geometric mean of all rows, and for each row.
fn all_rows(mean: f64, each: f64) -> [Demand; 2] {
    let demand = |of, at_most| Demand {
        what: "all rows",
        rows: |_| true,
        of,
        at_most,
    };
    [
        demand(RatioStatistic::GeometricMean, mean),
        demand(RatioStatistic::EachRow, each),
    ]
}
