//! The cost of waiting is measured on each machine, and the decisions that follow from it are
//! robust: a profile with one figure wrong by a factor of four changes the times of short messages
//! only slightly.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use bcs_core::wake::profile::{self, Profile};

use crate::bootstrap::median;
use crate::process;
use crate::verdict::CheckOutcome;
use crate::workspace::Workspace;

use super::Check;

pub(super) const CHECK: Check = Check {
    name: "portable",
    about: "half round trips and collectives of 8 B and 1 KiB take at most 1.15 times as long with each figure of the machine's profile 4 times as large or as small, and 8 B no longer than 1 KiB",
    about_time: true,
    quick: false,
    run,
};

const ROUNDS: usize = 7;

const FACTOR: u32 = 4;

const MOST: f64 = 1.15;

/// The allowed apparent excess of 8 B over 1 KiB: the rows are too short to resolve less.
const NOISE: f64 = 1.02;

const LIMIT: Duration = Duration::from_secs(60);

const FIGURES: [&str; 4] = ["yield", "shared yield", "wake", "switch"];

/// Microseconds by operation and size.
type OperationTimes = BTreeMap<(String, u64), f64>;

fn run(workspace: &Workspace) -> Result<CheckOutcome> {
    let folder = tempfile::tempdir().context("failed to make a folder for profiles")?;
    let measured = profile::measure().profile;
    let fakes: Vec<(String, Profile)> = fakes(measured).collect();
    let mut ratios: BTreeMap<(&str, &(String, u64)), Vec<f64>> = BTreeMap::new();
    let mut wholes: BTreeMap<(String, u64), Vec<f64>> = BTreeMap::new();
    let mut rounds = Vec::new();
    for _ in 0..ROUNDS {
        let as_it_is = timed(workspace, folder.path(), measured)?;
        let others = fakes
            .iter()
            .map(|(_, fake)| timed(workspace, folder.path(), *fake));
        rounds.push((as_it_is, others.collect::<Result<Vec<OperationTimes>>>()?));
    }
    for (as_it_is, others) in &rounds {
        for (row, us) in as_it_is {
            wholes.entry(row.clone()).or_default().push(*us);
            for ((name, _), times) in fakes.iter().zip(others) {
                let other = times.get(row).context("all profiles have the same rows")?;
                ratios.entry((name, row)).or_default().push(other / us);
            }
        }
    }
    let worst = ratios
        .iter()
        .map(|(what, ratios)| (median(ratios), what))
        .max_by(|(one, _), (other, _)| one.total_cmp(other));
    let (worst, (name, (op, bytes))) = worst.context("there are rows")?;
    let latency = |bytes| {
        wholes
            .get(&("latency".to_owned(), bytes))
            .map(|times| median(times))
    };
    let (short, long) = latency(8).zip(latency(1024)).context("both are timed")?;
    let figure = format!(
        "the worst is {op} of {bytes} B, {worst:.3} x with the {name}; half a round trip of 8 B takes {short:.2} us, of 1 KiB {long:.2} us"
    );
    let bar = format!(
        "at most {MOST} x in each of {} rows; 8 B at most 1 KiB",
        ratios.len()
    );
    Ok(CheckOutcome::exact(
        worst <= MOST && short <= long * NOISE,
        figure,
        bar,
    ))
}

/// Returns profiles with one figure larger or smaller.
fn fakes(measured: Profile) -> impl Iterator<Item = (String, Profile)> {
    let figures = measured.figures();
    let each = FIGURES.iter().enumerate();
    each.flat_map(move |(at, name)| {
        [(FACTOR, 1), (1, FACTOR)].map(|(times, part)| {
            let mut fake = figures;
            fake[at] = fake[at].saturating_mul(times) / part;
            let profile = Profile::from_figures(fake).within_bounds();
            (format!("{name} at {times}/{part} x"), profile)
        })
    })
}

fn timed(workspace: &Workspace, folder: &Path, profile: Profile) -> Result<OperationTimes> {
    let [yield_ns, shared_yield_ns, wake_ns, switch_ns] = profile.figures();
    let said = serde_json::json!({
        "format": "bcs-waiting",
        "version": 1,
        "machine": "",
        "kernel": "",
        "processor": "",
        "yield_ns": yield_ns,
        "shared_yield_ns": shared_yield_ns,
        "wake_ns": wake_ns,
        "switch_ns": switch_ns,
        "undisturbed": true,
        "measured_unix_s": 0,
    });
    let (given, told) = (folder.join("profile.json"), folder.join("rows.json"));
    std::fs::write(&given, said.to_string())?;
    let ops = "latency,barrier,bcast,allreduce,alltoall";
    let mut command = workspace.bcs(["bench", "--ops", ops, "--sizes", "8,1K"])?;
    command.args(["--row-ms", "20", "--samples", "5", "--json"]);
    command.arg(&told).env("BCS_MACHINE_PROFILE", &given);
    process::run(&mut command, LIMIT)?.succeeded()?;
    let rows: Vec<serde_json::Value> = serde_json::from_slice(&std::fs::read(&told)?)?;
    let row = |row: &serde_json::Value| {
        let op = row.get("op")?.as_str()?.to_owned();
        Some(((op, row.get("bytes")?.as_u64()?), row.get("us")?.as_f64()?))
    };
    let rows: Option<OperationTimes> = rows.iter().map(row).collect();
    let rows = rows.context("the rows have op, bytes and us")?;
    ensure!(!rows.is_empty(), "nothing was timed");
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_figure_is_made_larger_and_smaller_and_the_others_stay() {
        let fakes: Vec<_> = fakes(Profile::UNKNOWN).collect();
        assert_eq!(fakes.len(), 8);
        for (name, fake) in fakes {
            let pairs = fake.figures().into_iter().zip(Profile::UNKNOWN.figures());
            assert_eq!(
                pairs.filter(|(one, other)| one != other).count(),
                1,
                "{name}"
            );
        }
    }
}
