//! What a slice costs in which nothing has to be moved.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use mds::dump::read_dir;

use crate::bootstrap::median;
use crate::job::Job;
use crate::rounds::{Bar, Rounds};
use crate::verdict::Outcome;
use crate::workspace::Workspace;

use super::Check;

pub(super) const CHECK: Check = Check {
    name: "slice-cpu",
    about: "a slice forced through all five phases costs at most 25 us of processor time with `shared`",
    about_time: true,
    quick: false,
    run,
};

/// The other drivers are reported with fewer rounds: no bar is set for them.
const REPORTED_ROUNDS: usize = 5;

fn run(workspace: &Workspace) -> Result<Outcome> {
    let computing = ["spin", "--seconds", "1"];
    let dozing = ["doze", "--seconds", "1"];
    // Ranks that compute keep the NIC from spinning between its phases, so that what is counted is work and not
    // waiting; and only then does the time come from somebody.
    let measured = Rounds::default().figure(Bar::AtMost(25.0), || {
        slice_us(workspace, "shared", &computing)
    })?;
    let mut outcome = measured.outcome(
        "processor time of a slice, shared, beside computing ranks",
        " us",
    );
    for (driver, program, beside) in [
        ("shared", dozing, "ranks asleep"),
        ("coprocessor", computing, "computing ranks"),
        ("dedicated", computing, "computing ranks"),
    ] {
        let mut figures = Vec::new();
        for _ in 0..REPORTED_ROUNDS {
            figures.push(slice_us(workspace, driver, &program)?);
        }
        let figure = median(&figures);
        outcome
            .figure
            .push_str(&format!("; {driver}, beside {beside}: {figure:.1} us"));
    }
    Ok(outcome)
}

/// The runtime's processor time while the program's middle part lasts, divided by the slices struck in it. All
/// slices of a job are as long on average, so their number follows from the time and the mean gap.
fn slice_us(workspace: &Workspace, driver: &str, program: &[&str]) -> Result<f64> {
    let dir = tempfile::tempdir().context("failed to make a directory for the dump")?;
    let mut command = workspace.bcs(["run", "-v", "-n", "2", "--nodes", "2", "--all-phases"])?;
    command.args([
        "--strobe",
        "fixed",
        "--time-slice",
        "500us",
        "--nic-threads",
        driver,
    ]);
    command.arg("--mds").arg(dir.path()).args(program);
    let mut job = Job::start(command, Duration::from_secs(60))?;
    let (begin, end) = match program[0] {
        "doze" => ("dozing", "awake"),
        _ => ("computing", "rank "),
    };
    job.wait_for(begin)?;
    let (start, before) = (std::time::Instant::now(), job.runtime_cpu()?);
    job.wait_for(end)?;
    let (wall, cpu) = (start.elapsed(), job.runtime_cpu()?.saturating_sub(before));
    job.finish()?;
    let nodes = read_dir(dir.path())?.nodes;
    let strobes = nodes.into_iter().find_map(|node| node.global);
    let gaps = strobes
        .context("no node has dumped the global figures")?
        .getts_ns;
    ensure!(
        gaps.count > 100,
        "only {} slices were struck in a second: --all-phases does not force them",
        gaps.count + 1
    );
    let slices = wall.as_secs_f64() * 1e9 / gaps.average;
    Ok(cpu.as_secs_f64() * 1e6 / slices)
}
