//! The checkers of the cluster simulator hold for all its seeds, and detect planted bugs.

use std::time::Duration;

use anyhow::Result;

use crate::process;
use crate::verdict::CheckOutcome;
use crate::workspace::Workspace;

use super::Check;

pub(super) const CHECK: Check = Check {
    name: "simulator",
    about: "500 seeds with every fault trip no checker, and every planted bug trips the one meant for it",
    about_time: false,
    quick: false,
    run,
};

/// The time limit, which includes a build.
const LIMIT: Duration = Duration::from_secs(1800);

fn run(workspace: &Workspace) -> Result<CheckOutcome> {
    let mut command = workspace.cargo(["test", "--release", "--package", "bcs-nic"]);
    command.args(["--test", "simulator"]);
    let finished = process::run(&mut command, LIMIT)?;
    let said = finished.stdout.lines().filter(|line| {
        line.starts_with("test result:") || line.contains("... FAILED") || line.contains("panicked")
    });
    let said: Vec<&str> = said.collect();
    let figure = match said[..] {
        [] => finished.clone().succeeded()?.stdout,
        _ => said.join("; "),
    };
    let held = finished.status.success() && !finished.timed_out;
    Ok(CheckOutcome::exact(held, figure, "all tests pass"))
}
