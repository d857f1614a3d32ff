//! SWEEP3D over two nodes gives its published answers.

use std::time::Duration;

use anyhow::{Context, Result};

use crate::process;
use crate::rounds::Bar;
use crate::sweep3d::{Answers, PUBLISHED_50};
use crate::verdict::CheckOutcome;
use crate::workspace::Workspace;

use super::Check;

pub(super) const CHECK: Check = Check {
    name: "sweep3d-published",
    about: "SWEEP3D on 4 ranks and 2 nodes prints the published answers of the 50-cubed deck",
    about_time: false,
    quick: true,
    run,
};

/// The relative tolerance. The answers are of 1995, and rounding differs by some 1e-11 with the
/// order of operations.
const TOLERANCE: f64 = 1e-9;

fn run(workspace: &Workspace) -> Result<CheckOutcome> {
    let published: Answers = PUBLISHED_50
        .parse()
        .context("the published answers are damaged")?;
    let mut command = workspace.bcs(["run", "--nodes", "2", "-n", "4", "sweep3d"])?;
    let finished = process::run(&mut command, Duration::from_secs(300))?.succeeded()?;
    let answers: Answers = finished.stdout.parse()?;
    let (deviation, place) = answers.deviation(&published)?;
    Ok(CheckOutcome {
        verdict: Bar::AtMost(TOLERANCE).judge(deviation),
        figure: format!("largest relative deviation {deviation:.2e} ({place}); fix-ups exact"),
        bar: format!("at most {TOLERANCE:e}, fix-ups exact"),
    })
}
