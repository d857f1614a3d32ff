//! A job that only waits uses no CPU time.

use std::time::Duration;

use anyhow::Result;

use crate::process;
use crate::rounds::Bar;
use crate::verdict::CheckOutcome;
use crate::workspace::Workspace;

use super::Check;

pub(super) const CHECK: Check = Check {
    name: "blocked-cpu",
    about: "4 nodes x 2 ranks, half asleep, half blocked in a receive, take 0.1 s of processor time in 10 s",
    about_time: true,
    quick: true,
    run,
};

/// Measures one run: other load on the machine can only lengthen it a little, and ten seconds are
/// long.
fn run(workspace: &Workspace) -> Result<CheckOutcome> {
    let bar = Bar::AtMost(0.1);
    let mut command =
        workspace.bcs(["run", "-n", "8", "--nodes", "4", "doze", "--seconds", "10"])?;
    let finished = process::run(&mut command, Duration::from_secs(60))?.succeeded()?;
    let cpu_s = finished.cpu.as_secs_f64();
    Ok(CheckOutcome {
        verdict: bar.judge(cpu_s),
        figure: format!(
            "processor time of all processes, start included: {cpu_s:.3} s in {:.1?}",
            finished.wall
        ),
        bar: format!("{bar} s"),
    })
}
