//! `bcs tune` finds a good slice in a quarter of the runs of a full sweep, and names no slice if
//! there is no difference. `--strobe auto` finds one while the program runs.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::bootstrap::median;
use crate::process;
use crate::rounds::turns;
use crate::verdict::CheckOutcome;
use crate::workspace::Workspace;

use super::Check;

pub(super) const CHECK: Check = Check {
    name: "tune",
    about: "bcs tune: within 2 % of a full sweep of 12 slices x 20 runs in a quarter of them; no difference where none is; \
            --strobe auto: within 5 % of the best",
    about_time: true,
    quick: false,
    run,
};

/// Computation between two exchanges in microseconds, and the number of exchanges: some tenths of a
/// second with short slices.
const GRAINS: [(&str, &str); 3] = [("300", "400"), ("3000", "100"), ("30000", "20")];

/// The arguments of the second case, without exchanges.
const ALONE: [&str; 3] = ["30000", "20", "alone"];

const LAYOUT: &str = "-n 2 --nodes 2";

const FIXED: [&str; 2] = ["--strobe", "fixed"];

const LENGTHS: usize = 12;
const SWEEP_ROUNDS: usize = 20;

/// A run takes seconds, and `bcs tune` some dozens of runs.
const LIMIT: Duration = Duration::from_secs(1200);

fn run(workspace: &Workspace) -> Result<CheckOutcome> {
    let mut outcomes = Vec::new();
    for (grain, count) in GRAINS {
        outcomes.extend(swept(workspace, grain, count)?);
    }
    outcomes.push(alone(workspace)?);
    Ok(CheckOutcome::of_all(&outcomes))
}

/// Returns the result of `bcs tune` for the program.
fn tuned(workspace: &Workspace, words: &[&str]) -> Result<Value> {
    let program = workspace.fixture_program("grains")?;
    let dir = tempfile::tempdir().context("failed to make a directory for results")?;
    let json = dir.path().join("tune.json");
    let mut command = workspace.bcs(["tune"])?;
    command.args(LAYOUT.split_whitespace()).args(FIXED);
    command.arg("--json").arg(&json).arg(program).args(words);
    process::run(&mut command, LIMIT)?.succeeded()?;
    let text = std::fs::read_to_string(&json).context("bcs tune wrote no results")?;
    Ok(serde_json::from_str(&text)?)
}

/// Compares the proposed slice, and auto strobes, with a full sweep.
fn swept(workspace: &Workspace, grain: &str, count: &str) -> Result<[CheckOutcome; 2]> {
    let found = tuned(workspace, &[grain, count])?;
    let rows = found["rows"].as_array().context("results without rows")?;
    let slice = |row: &Value| {
        let ns = row["setting"]["time_slice_ns"].as_u64();
        ns.context("a row without a slice")
    };
    let slices = rows.iter().map(slice).collect::<Result<Vec<u64>>>()?;
    ensure!(slices.len() == LENGTHS, "{} slices", slices.len());
    let best = found["best"].as_u64().context("no slice is named")?;
    let best = usize::try_from(best)?;
    let runs = found["runs"].as_u64().unwrap_or(u64::MAX);
    let mut settings: Vec<String> = slices
        .iter()
        .map(|slice| format!("{} --time-slice {slice}ns", FIXED.join(" ")))
        .collect();
    settings.push("--strobe auto".to_owned());
    let mut medians = sweep(workspace, &settings, grain, count)?;
    let auto = medians.pop().context("nothing was swept")?;
    let least = medians.iter().copied().fold(f64::INFINITY, f64::min);
    let ratio = medians[best] / least;
    let quarter = LENGTHS * SWEEP_ROUNDS / 4;
    let differ = found["differ"].as_bool() == Some(true);
    let named = CheckOutcome::exact(
        differ && ratio <= 1.02 && runs <= quarter as u64,
        format!(
            "grains of {grain} us: {} us is named in {runs} runs, {ratio:.4} x the best of the sweep",
            slices[best] / 1000
        ),
        format!("a slice is named, at most 1.02 x, at most {quarter} runs"),
    );
    let ratio = auto / least;
    let auto = CheckOutcome::exact(
        ratio <= 1.05,
        format!("grains of {grain} us: with auto strobes {ratio:.4} x the best of the sweep"),
        "at most 1.05 x",
    );
    Ok([named, auto])
}

/// Returns the median run time with each setting.
fn sweep(workspace: &Workspace, settings: &[String], grain: &str, count: &str) -> Result<Vec<f64>> {
    let mut seconds = vec![Vec::new(); settings.len()];
    for round in 0..SWEEP_ROUNDS {
        for at in turns(settings.len(), round) {
            let setting = format!("{LAYOUT} {}", settings[at]);
            let mut command = workspace.fixture(&setting, "grains", [grain, count])?;
            let finished = process::run(&mut command, LIMIT)?.succeeded()?;
            seconds[at].push(finished.wall.as_secs_f64());
        }
    }
    Ok(seconds.iter().map(|seconds| median(seconds)).collect())
}

fn alone(workspace: &Workspace) -> Result<CheckOutcome> {
    let found = tuned(workspace, &ALONE)?;
    let differ = found["differ"].as_bool();
    Ok(CheckOutcome::exact(
        differ == Some(false),
        format!("a program that only computes: differ is {differ:?}"),
        "no difference",
    ))
}
