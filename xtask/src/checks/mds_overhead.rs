//! Measures the cost of recording SWEEP3D in two ways: by the number and the cost of recorded
//! events, and by the clock, in pairs of runs.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use mds::dump::{RankDump, RunDumps, read_dir};

use crate::bootstrap::median;
use crate::rounds::{Bar, Rounds, RoundsResult, all_sides};
use crate::sweep3d::Problem;
use crate::test_output::TestOutput;
use crate::verdict::{CheckOutcome, Verdict};
use crate::workspace::Workspace;

use super::Check;

pub(super) const CHECK: Check = Check {
    name: "mds-overhead",
    about: "recording costs SWEEP3D at most 0.4 % (ranks) and 1.3 % (NICs) by events, and 1.5 % in 400 pairs of runs",
    about_time: true,
    quick: false,
    run,
};

/// Two ranks in a row, blocks of 10 planes and 2 angles, two iterations. A run takes about half a
/// second, and 400 pairs on both layouts take twenty minutes.
const DECK: &str = "2 1 10 2 1\n100 100 100 6 1\n.05 .05 .05 -2.0\n0 0 0\n0 1 0\n";

/// One layout in which only ranks record, and one in which NICs do, too.
const LAYOUTS: [&str; 2] = ["--nodes 1 --intranode smartmap", "--nodes 2"];

/// The limit by events, as a share of the run time.
const RANKS: f64 = 0.004;
const NICS: f64 = 0.013;

/// The limit of the ratio of the times with and without recording: the whole interval must be
/// below.
const PAIRS: f64 = 1.015;

const ROUNDS: Rounds = Rounds {
    warm_ups: 1,
    least: 400,
    most: 400,
    step: 1,
    seed: 0x00BC_500D,
};

/// How often the cost of an event is measured.
const TIMES: usize = 5;

/// The problem, and the folder for dumps.
struct RecordedProblem<'a> {
    workspace: &'a Workspace,
    problem: Problem,
}

impl<'a> RecordedProblem<'a> {
    fn new(workspace: &'a Workspace) -> Result<Self> {
        workspace.release()?;
        let problem = Problem::new(DECK)?;
        Ok(Self { workspace, problem })
    }

    /// Returns the solver's time, in seconds.
    fn solve(&self, layout: &str, record_into: Option<&Path>) -> Result<f64> {
        let mut command = self.workspace.bcs(["run", "-n", "2"])?;
        command.args(layout.split_whitespace());
        if let Some(dir) = record_into {
            command.arg("--mds").arg(dir);
        }
        self.problem.solve(command.arg("sweep3d"))
    }

    fn recorded(&self, layout: &str) -> Result<f64> {
        self.solve(layout, Some(&self.dump()))
    }

    /// Returns the path of the dumps, which each run overwrites.
    fn dump(&self) -> PathBuf {
        self.problem.dir.path().join("dump")
    }
}

fn run(workspace: &Workspace) -> Result<CheckOutcome> {
    let problem = RecordedProblem::new(workspace)?;
    let mut outcomes = by_events(workspace, &problem)?;
    outcomes.extend(by_pairs(&problem)?);
    Ok(CheckOutcome::of_all(&outcomes))
}

fn by_events(workspace: &Workspace, problem: &RecordedProblem<'_>) -> Result<Vec<CheckOutcome>> {
    let call_ns = call_ns(workspace)?;
    let slice_ns = slice_ns(workspace)?;
    problem.recorded(LAYOUTS[1])?;
    let dumps = read_dir(&problem.dump())?.require_complete()?;
    let (ranks, nics) = shares(&dumps, call_ns, slice_ns)?;
    let outcome = |who: &str, event: &str, ns: f64, share: f64, bar: f64| {
        let held = Bar::AtMost(bar).judge(share) == Verdict::Held;
        let (share, bar) = (share * 100.0, bar * 100.0);
        CheckOutcome::exact(
            held,
            format!("{who}, by events: {share:.4} % of the run time ({ns:.0} ns {event})"),
            format!("at most {bar} %"),
        )
    };
    Ok(vec![
        outcome("ranks", "a call with its message", call_ns, ranks, RANKS),
        outcome("NICs", "a slice of both nodes", slice_ns, nics, NICS),
    ])
}

/// Returns two shares of the run time that the events take: that of the rank with most events, and
/// that of the NICs, which run on one OS thread.
fn shares(dumps: &RunDumps, call_ns: f64, slice_ns: f64) -> Result<(f64, f64)> {
    let calls = |rank: &RankDump| (rank.calls.len() as u64 + rank.calls_dropped) as f64;
    let of_ranks = dumps
        .ranks
        .iter()
        .map(|rank| calls(rank) * call_ns / rank.run_ns as f64);
    let global = dumps.nodes.iter().find_map(|node| node.global.as_ref());
    let global = global.context("no node has dumped the global figures")?;
    let slices = global.getts_ns.count as f64 + 1.0;
    let run_ns = dumps.ranks.iter().map(|rank| rank.run_ns).max();
    let run_ns = run_ns.context("no rank has left a dump")? as f64;
    Ok((of_ranks.fold(0.0, f64::max), slices * slice_ns / run_ns))
}

/// Returns the cost of a rank's recorder for a call that sends or receives, with its clock reads.
fn call_ns(workspace: &Workspace) -> Result<f64> {
    let mut command = workspace.cargo(["test", "--release", "-p", "bcs-mpi", "--lib"]);
    command.args(["recording_costs", "--", "--ignored", "--nocapture"]);
    let said = TestOutput::run(&mut command)?;
    Ok(said.figure("a send:")?.max(said.figure("a receive:")?))
}

/// Returns the additional time of a slice with a message when two NICs record.
fn slice_ns(workspace: &Workspace) -> Result<f64> {
    let slice = |recorded: bool| {
        let mut command = workspace.cargo(["test", "--release", "-p", "bcs-nic"]);
        command.args(["--test", "slice_cost", "--", "--ignored", "--nocapture"]);
        command.env("BCS_NODES", "2").env("BCS_OPS", "8 bytes");
        match recorded {
            true => command.env("BCS_EMDS", "1"),
            false => command.env_remove("BCS_EMDS"),
        };
        TestOutput::run(&mut command)?.figure("8 bytes, 2 nodes:")
    };
    let mut more = Vec::new();
    for round in 0..TIMES {
        let [with, without] = all_sides(round, |side| slice(side == 0))?;
        more.push(with - without);
    }
    Ok(median(&more).max(0.0))
}

fn by_pairs(problem: &RecordedProblem<'_>) -> Result<Vec<CheckOutcome>> {
    let measured = ROUNDS.figures([Bar::AtMost(PAIRS); 2], |round| {
        let [near, near_recorded, far, far_recorded] = all_sides(round, |side| match side {
            0 => problem.solve(LAYOUTS[0], None),
            1 => problem.recorded(LAYOUTS[0]),
            2 => problem.solve(LAYOUTS[1], None),
            _ => problem.recorded(LAYOUTS[1]),
        })?;
        Ok([near_recorded / near, far_recorded / far])
    })?;
    let what = ["1 node", "2 nodes"].map(|layout| format!("the solver on {layout}, recorded"));
    let outcomes = measured.iter().zip(what);
    Ok(outcomes.map(|(one, what)| certain(one, &what)).collect())
}

/// Judges the whole interval of the pairs, not their median.
fn certain(measured: &RoundsResult, what: &str) -> CheckOutcome {
    CheckOutcome {
        verdict: Bar::AtMost(PAIRS).judge(measured.interval.high),
        bar: format!("at most {PAIRS} x, the upper end of the interval"),
        ..measured.outcome(what, " x")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bootstrap::Interval;
    use mds::dump::{CallRow, DistributionDump, NodeDump, StrobeDump};

    #[test]
    fn events_that_are_no_longer_kept_cost_as_much() {
        let rank = |kept: usize, dropped| RankDump {
            run_ns: 1_000_000,
            calls: vec![CallRow::default(); kept],
            calls_dropped: dropped,
            ..RankDump::default()
        };
        let global = StrobeDump {
            getts_ns: DistributionDump {
                count: 19,
                ..DistributionDump::default()
            },
            ..StrobeDump::default()
        };
        let mut dumps = RunDumps {
            ranks: vec![rank(10, 0), rank(10, 30)],
            nodes: vec![NodeDump {
                global: Some(global),
                ..NodeDump::default()
            }],
            ..RunDumps::default()
        };
        assert_eq!(shares(&dumps, 100.0, 500.0).unwrap(), (0.004, 0.01));
        dumps.nodes.clear();
        assert!(shares(&dumps, 100.0, 500.0).is_err());
    }

    #[test]
    fn the_upper_end_of_the_interval_has_to_hold() {
        let measured = |high| RoundsResult {
            samples: vec![1.0; 400],
            median: 1.0,
            interval: Interval { low: 0.99, high },
            bar: Bar::AtMost(PAIRS),
            verdict: Verdict::Held,
        };
        assert_eq!(certain(&measured(1.014), "it").verdict, Verdict::Held);
        let missed = certain(&measured(1.016), "it");
        assert_eq!(missed.verdict, Verdict::Missed);
        assert!(missed.figure.contains("400 rounds"), "{}", missed.figure);
    }
}
