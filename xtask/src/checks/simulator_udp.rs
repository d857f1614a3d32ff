//! Runs both simulators on the links of several machines: `bcs sim --fabric udp` and `bcs sim --mpi
//! --fabric udp`, every seed twice.

use std::time::Duration;

use anyhow::Result;

use crate::process;
use crate::verdict::CheckOutcome;
use crate::workspace::Workspace;

use super::Check;
use super::simulator_mpi::{jobs, seeds};

pub(super) const CHECK: Check = Check {
    name: "simulator-udp",
    about: "both simulators over the udp fabric, 500 seeds with datagrams lost, repeated, late, overtaken and cut off: each message once and in order, all ends once faults stop, the same trace twice (BCS_SIM_UDP_SEEDS: fewer)",
    about_time: false,
    quick: false,
    run,
};

/// The default number of seeds of each.
const SEEDS: u64 = 500;

const LIMIT: Duration = Duration::from_secs(1800);

const FABRIC: [&str; 2] = ["--fabric", "udp"];

fn run(workspace: &Workspace) -> Result<CheckOutcome> {
    let seeds = seeds("BCS_SIM_UDP_SEEDS", SEEDS)?;
    let both = [
        scripted(workspace, seeds)?,
        jobs(workspace, &FABRIC, seeds)?,
    ];
    Ok(CheckOutcome::of_all(&both))
}

/// Runs scripted ranks, on 2 to 16 nodes.
fn scripted(workspace: &Workspace, seeds: u64) -> Result<CheckOutcome> {
    let seeds_given = seeds.to_string();
    let always = ["sim", "--twice", "--seeds", &seeds_given];
    let mut command = workspace.bcs(always.iter().chain(&FABRIC).copied())?;
    let finished = process::run(&mut command, LIMIT)?;
    let ran = |line: &&str| line.contains(" operations checked; ");
    let (ran, objections): (Vec<&str>, Vec<&str>) = finished.stdout.lines().partition(ran);
    let held = finished.status.success() && !finished.timed_out && ran.len() as u64 == seeds;
    let mut figure = format!(
        "{} seeds of scripted ranks, {} objections",
        ran.len(),
        objections.len()
    );
    for objection in objections.iter().take(3) {
        figure.push_str("; ");
        figure.push_str(objection);
    }
    Ok(CheckOutcome::exact(held, figure, "no objection"))
}
