//! The default recording copes with a program of 1,000 ranks and many messages.

use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};

use crate::process;
use crate::rounds::{Bar, Rounds, all_sides};
use crate::sweep3d::Problem;
use crate::verdict::CheckOutcome;
use crate::workspace::Workspace;

use super::Check;

pub(super) const CHECK: Check = Check {
    name: "mds-scale",
    about: "1,000 talkative ranks: dumps within 2 s of the end, reported within 2 s, under 200 MB",
    about_time: true,
    quick: false,
    run,
};

/// 40 by 25 ranks with a column of ten cells each, and a plane and two angles in a message. Each
/// rank passes 960 messages in an iteration, more than it has rows for.
const DECK: &str = "40 25 1 2 1\n40 25 10 6 1\n.05 .05 .05 -1.0\n0 0 0\n0 1 0\n";

/// The limit in seconds.
const SOON: f64 = 2.0;

const BYTES: u64 = 200_000_000;

const LIMIT: Duration = Duration::from_secs(60);

fn run(workspace: &Workspace) -> Result<CheckOutcome> {
    workspace.release()?;
    let problem = Problem::new(DECK)?;
    let dump = problem.dir.path().join("dump");
    // Returns the time of the job without the solver. With dumps it includes making the recorders
    // and writing the dumps.
    let job = |into: Option<&Path>| {
        let mut command = workspace.bcs(["run", "-n", "1000", "--nodes", "8"])?;
        if let Some(dir) = into {
            command.arg("--mds").arg(dir);
        }
        let (solver_s, seconds) = problem.run(command.arg("sweep3d"))?;
        Ok(seconds - solver_s)
    };
    let report = || -> Result<f64> {
        let mut command = workspace.bcs(["mds", "report"])?;
        let reported = process::run(command.arg(&dump), LIMIT)?.succeeded()?;
        Ok(reported.wall.as_secs_f64())
    };
    // A job of 1,000 ranks takes some seconds.
    let rounds = Rounds {
        most: 15,
        ..Rounds::default()
    };
    let measured = rounds.figures([Bar::AtMost(SOON); 2], |round| {
        let [without, with] = all_sides(round, |side| match side {
            0 => job(None),
            _ => job(Some(&dump)),
        })?;
        Ok([with - without, report()?])
    })?;
    let what = [
        "1,000 ranks on 8 nodes, seconds more with dumps, but for the solver's",
        "seconds to report them",
    ];
    let all = measured.iter().zip(what);
    let mut outcomes: Vec<CheckOutcome> = all.map(|(one, what)| one.outcome(what, " s")).collect();
    let bytes = bytes_of(&dump)?;
    outcomes.push(CheckOutcome::exact(
        bytes < BYTES,
        format!("the dump has {:.1} MB", bytes as f64 / 1e6),
        format!("less than {} MB", BYTES / 1_000_000),
    ));
    Ok(CheckOutcome::of_all(&outcomes))
}

fn bytes_of(dir: &Path) -> Result<u64> {
    let files = fs::read_dir(dir).with_context(|| format!("failed to read {}", dir.display()))?;
    files.map(|file| Ok(file?.metadata()?.len())).sum()
}
