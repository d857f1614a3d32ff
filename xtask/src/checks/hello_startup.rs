//! A small job starts and ends about as fast as MPICH starts and ends an empty one.

use std::process::Command;
use std::time::Duration;

use anyhow::Result;

use crate::rounds::{Bar, Rounds};
use crate::verdict::CheckOutcome;
use crate::workspace::Workspace;
use crate::{peers, process};

use super::Check;

pub(super) const OF_2: Check = Check {
    name: "hello-startup-2",
    about: "`bcs run -n 2 hello` takes at most 3 times the wall time of MPICH's `mpiexec -n 2 true`",
    about_time: true,
    quick: true,
    run: |workspace| startup(workspace, &["-n", "2"], &["-n", "2"], 3.0),
};

pub(super) const OF_64: Check = Check {
    name: "hello-startup-64",
    about: "`bcs run -n 64 --nodes 4 hello` takes at most 5 times the wall time of `mpiexec -n 64 true`",
    about_time: true,
    quick: true,
    run: |workspace| startup(workspace, &["-n", "64", "--nodes", "4"], &["-n", "64"], 5.0),
};

/// Starting takes milliseconds; the limit is only for a job that hangs.
const LIMIT: Duration = Duration::from_secs(60);

fn startup(
    workspace: &Workspace,
    ours: &[&str],
    theirs: &[&str],
    bar: f64,
) -> Result<CheckOutcome> {
    let mpiexec = peers::MPICH.mpiexec(workspace)?;
    workspace.release()?;
    let bcs = || {
        let words = ["run"]
            .into_iter()
            .chain(ours.iter().copied())
            .chain(["hello"]);
        wall_s(&mut workspace.bcs(words)?)
    };
    let mpich = || wall_s(Command::new(&mpiexec).args(theirs).arg("true"));
    let measured = Rounds::default().ratio(Bar::AtMost(bar), bcs, mpich)?;
    Ok(measured.outcome("wall time against MPICH", " x"))
}

fn wall_s(command: &mut Command) -> Result<f64> {
    Ok(process::run(command, LIMIT)?
        .succeeded()?
        .wall
        .as_secs_f64())
}
