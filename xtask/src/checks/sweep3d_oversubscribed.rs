//! Many more ranks than cores solve a problem in little more time than few ranks.

use std::cell::RefCell;
use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};

use crate::bootstrap::median;
use crate::job::WatchedJob;
use crate::rounds::{Bar, Rounds};
use crate::sweep3d::process_grid;
use crate::verdict::{CheckOutcome, Verdict};
use crate::workspace::Workspace;

use super::Check;
use super::fixed_time::number_after;

pub(super) const CHECK: Check = Check {
    name: "sweep3d-oversubscribed",
    about: "32 ranks on 8 nodes solve a 100-cubed deck within 1.8 times the time of 2 ranks on 1",
    about_time: true,
    quick: false,
    run,
};

/// The largest share of the total CPU time that the runtime's processes may take, in per cent.
const RUNTIME_BAR: Bar = Bar::AtMost(20.0);

/// Two seconds and more on an idle machine of two cores.
const LIMIT: Duration = Duration::from_secs(600);

/// Returns the 50-cubed deck's problem on a grid of 100 cubed, in blocks of 10 planes and 3 angles.
/// Four iterations are enough: all cost the same but for fix-ups.
fn deck(ranks: u32) -> String {
    let (npe_i, npe_j) = process_grid(ranks);
    format!("{npe_i} {npe_j} 10 3 1\n100 100 100 6 1\n.05 .05 .05 -4.0\n0 0 0\n0 1 0\n")
}

/// The cost of a run.
struct SolveCost {
    elapsed_s: f64,
    runtime_percent: f64,
}

fn run(workspace: &Workspace) -> Result<CheckOutcome> {
    workspace.release()?;
    let dir = tempfile::tempdir().context("failed to make a directory for the decks")?;
    let many_costs = RefCell::new(Vec::new());
    let many = || {
        let cost = solve(workspace, dir.path(), 32, 8)?;
        let elapsed_s = cost.elapsed_s;
        many_costs.borrow_mut().push(cost);
        Ok(elapsed_s)
    };
    let mut few_s = Vec::new();
    let few = || {
        few_s.push(solve(workspace, dir.path(), 2, 1)?.elapsed_s);
        Ok(few_s[few_s.len() - 1])
    };
    let measured = Rounds::default().ratio(Bar::AtMost(1.8), many, few)?;
    let mut outcome = measured.outcome("solver time of 32 ranks against 2", " x");
    let costs = many_costs.into_inner();
    let of_all =
        |figure: fn(&SolveCost) -> f64| median(&costs.iter().map(figure).collect::<Vec<_>>());
    let runtime_percent = of_all(|cost| cost.runtime_percent);
    outcome.figure.push_str(&format!(
        "; of the rounds' medians: {:.2} s against {:.2} s; the runtime takes {runtime_percent:.1} % of the \
         processor time",
        of_all(|cost| cost.elapsed_s),
        median(&few_s)
    ));
    outcome
        .bar
        .push_str(&format!("; runtime {RUNTIME_BAR} % of the processor time"));
    if RUNTIME_BAR.judge(runtime_percent) == Verdict::Missed {
        outcome.verdict = Verdict::Missed;
    }
    Ok(outcome)
}

/// Measures a run. The runtime's processes are `bcs run` and the managers, which host the NICs.
/// Their clocks are read at the last line of the report and include their start, like the total.
fn solve(workspace: &Workspace, dir: &Path, ranks: u32, nodes: u32) -> Result<SolveCost> {
    let path = dir.join(format!("input.{ranks}"));
    fs::write(&path, deck(ranks)).context("failed to write a deck")?;
    let (ranks, nodes) = (ranks.to_string(), nodes.to_string());
    let mut command = workspace.bcs(["run", "-v", "-n", &ranks, "--nodes", &nodes])?;
    command
        .args(["sweep3d", "--comm", "nonblocking", "--deck"])
        .arg(path);
    let mut job = WatchedJob::start(command, LIMIT)?;
    let (line, runtime) = job.runtime_cpu_at(" Elapsed time was:")?;
    let (_, whole) = job.finish()?;
    Ok(SolveCost {
        elapsed_s: number_after(&line, "Elapsed time was:")?,
        runtime_percent: 100.0 * runtime.as_secs_f64() / whole.as_secs_f64(),
    })
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_deck_has_the_process_grid_of_its_ranks() {
        assert!(super::deck(32).starts_with("4 8 10 3 1\n100 100 100 6 1\n"));
        assert!(super::deck(2).starts_with("1 2 10 3 1\n"));
    }
}
