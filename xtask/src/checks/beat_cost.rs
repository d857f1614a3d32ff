//! Ranks that compute lose little time when two others communicate in every slice.
//!
//! The comparison is fair on a machine with few cores: the same job with the same ranks in the same
//! places, once with the two exchanging and once with them asleep. In both runs only the computing
//! ranks want a core all the time. There is a computing rank for every core (at least two). The NIC
//! and the exchanging ranks can therefore take their time only from the computing ranks, which then
//! do fewer units of work in the same wall time.

use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use crate::bootstrap::median;
use crate::process;
use crate::rounds::{Bar, Rounds};
use crate::verdict::{CheckOutcome, Verdict};
use crate::workspace::Workspace;

use super::Check;
use super::fixed_time::number_after;

pub(super) const CHECK: Check = Check {
    name: "beat-cost",
    about: "ranks that compute lose at most 4 % when two others exchange 8 bytes in every fixed slice",
    about_time: true,
    quick: true,
    run,
};

/// Wall time of a round, on each side.
const SECONDS: f64 = 1.0;

/// Fixed slices of 500 us in it.
const SLICES: f64 = SECONDS * 2_000.0;

/// The least exchanges for every slice. With fewer, the ranks were woken too late for a slice too
/// often, and the measurement is invalid.
const LEAST_EXCHANGES_PER_SLICE: f64 = 0.9;

fn run(workspace: &Workspace) -> Result<CheckOutcome> {
    workspace.release()?;
    let computing = thread::available_parallelism()
        .map_or(2, usize::from)
        .max(2);
    let ranks = (computing + 2).to_string();
    let mut exchanges = vec![];
    let units = |option: Option<&str>| {
        let mut command = workspace.bcs(["run", "-n", &ranks, "--nodes", "2"])?;
        command.args(["--strobe", "fixed", "--time-slice", "500us"]);
        command.args(["--intranode", "nic", "beat"]);
        command
            .args(["--seconds", &SECONDS.to_string()])
            .args(option);
        let output = process::run(&mut command, Duration::from_secs(60))?
            .succeeded()?
            .stdout;
        Ok::<_, anyhow::Error>((units_of_work(&output, computing)?, output))
    };
    let beating = || {
        let (units, output) = units(None)?;
        exchanges.push(number_after(&output, "exchanges:")? / SLICES);
        Ok(units)
    };
    let asleep = || Ok(units(Some("--asleep"))?.0);
    let measured = Rounds::default().ratio(Bar::AtLeast(0.96), beating, asleep)?;
    let mut outcome = measured.outcome("work done against the two others asleep", "");
    let per_slice = median(&exchanges);
    outcome.figure.push_str(&format!(
        "; {computing} ranks compute, {per_slice:.3} exchanges for every slice"
    ));
    outcome.bar.push_str(&format!(
        ", at {LEAST_EXCHANGES_PER_SLICE} exchanges for every slice or more"
    ));
    if per_slice < LEAST_EXCHANGES_PER_SLICE {
        outcome.verdict = Verdict::Missed;
    }
    Ok(outcome)
}

/// Adds up the work of all computing ranks.
fn units_of_work(output: &str, computing: usize) -> Result<f64> {
    let lines: Vec<&str> = output
        .lines()
        .filter(|line| line.starts_with("rank "))
        .collect();
    ensure!(
        lines.len() == computing,
        "{} ranks told what they have computed, not {computing}",
        lines.len()
    );
    lines
        .iter()
        .map(|line| {
            let number = line.split_whitespace().nth(2);
            let number = number.with_context(|| format!("`{line}` has no number"))?;
            Ok(number.parse::<f64>()?)
        })
        .sum()
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_work_of_all_ranks_is_added() {
        let output = "computing\nrank 1: 7 units of work in 0.25 s of processor time\n\
                      rank 2: 9 units of work in 0.5 s of processor time\nexchanges: 3\n";
        assert_eq!(super::units_of_work(output, 2).unwrap(), 16.0);
        assert!(super::units_of_work(output, 3).is_err());
    }
}
