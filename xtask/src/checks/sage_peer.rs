//! Compares SAGE with MPICH on one node, and two nodes with one.

use anyhow::Result;

use crate::confinement::CoreConfinement;
use crate::rounds::{Bar, Rounds};
use crate::sage::SageReference;
use crate::verdict::CheckOutcome;
use crate::workspace::Workspace;

use super::Check;
use super::abi_race::{CORES, Race};

pub(super) const CHECK: Check = Check {
    name: "sage-peer",
    about: "SAGE, timing_h: 2 ranks on 2 nodes at most 1.05 x on one; against MPICH 2 ranks at most 1.02 x, 8 ranks on 2 \
            cores at most 0.9 x",
    about_time: true,
    quick: false,
    run,
};

/// The deck that comes with the program.
const ARGUMENTS: [&str; 2] = ["--deck", "timing_h"];

fn run(workspace: &Workspace) -> Result<CheckOutcome> {
    let _confined = CoreConfinement::to_cores(CORES)?;
    let gas = SageReference::default();
    let contest = |ranks, bar| {
        let race = Race {
            workspace,
            ranks,
            hosts: None,
            program: "sage",
            arguments: ARGUMENTS.map(Into::into).to_vec(),
            solve: &|command| gas.solve(command),
        };
        race.run(bar)
    };
    Ok(CheckOutcome::of_all(&[
        nodes(workspace, &gas)?,
        contest(2, 1.02)?,
        contest(8, 0.9)?,
    ]))
}

/// Compares two ranks on two nodes with two ranks on one.
fn nodes(workspace: &Workspace, gas: &SageReference) -> Result<CheckOutcome> {
    let on = |nodes: &str| {
        let mut command = workspace.bcs(["run", "-n", "2", "--nodes", nodes, "sage"])?;
        gas.solve(command.args(ARGUMENTS))
    };
    let measured = Rounds::default().ratio(Bar::AtMost(1.05), || on("2"), || on("1"))?;
    Ok(measured.outcome("sage of 2 ranks on 2 nodes, against one", " x"))
}
