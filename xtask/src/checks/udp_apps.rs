//! Compares SWEEP3D and SAGE between two hosts, which are network namespaces, with MPICH over TCP
//! between the same hosts.

use std::ffi::OsString;
use std::fs;

use anyhow::{Context, Result};

use crate::confinement::CoreConfinement;
use crate::hosts::{ETHERNET, Hosts};
use crate::sage::SageReference;
use crate::sweep3d::Sweep3dReference;
use crate::verdict::CheckOutcome;
use crate::workspace::Workspace;

use super::Check;
use super::abi_race::{CORES, Race};
use super::sweep3d_beat::DECK;

pub(super) const SWEEP3D: Check = Check {
    name: "udp-sweep3d",
    about: "SWEEP3D, 150 cubed, on 2 hosts: non-blocking at most 1.02 x MPICH over TCP, blocking 1.10 x",
    about_time: true,
    quick: false,
    run: sweep3d,
};

pub(super) const SAGE: Check = Check {
    name: "udp-sage",
    about: "SAGE, timing_h, on 2 hosts: at most 1.02 x MPICH over TCP",
    about_time: true,
    quick: false,
    run: sage,
};

const RANKS: usize = 2;

fn sweep3d(workspace: &Workspace) -> Result<CheckOutcome> {
    let _confined = CoreConfinement::to_cores(CORES)?;
    let hosts = Hosts::make(ETHERNET)?;
    let dir = tempfile::tempdir().context("failed to make a directory for the deck")?;
    let deck = dir.path().join("input");
    fs::write(&deck, DECK).context("failed to write a deck")?;
    let solver = Sweep3dReference::default();
    let race = |comm: &str, bar: f64| -> Result<CheckOutcome> {
        let words = ["--comm", comm, "--deck"].map(OsString::from);
        let race = Race {
            workspace,
            ranks: RANKS,
            hosts: Some(&hosts),
            program: "sweep3d",
            arguments: words.into_iter().chain([deck.clone().into()]).collect(),
            solve: &|command| solver.solve(command),
        };
        let mut outcome = race.run(bar)?;
        outcome.figure.insert_str(0, &format!("{comm} "));
        Ok(outcome)
    };
    Ok(CheckOutcome::of_all(&[
        race("nonblocking", 1.02)?,
        race("blocking", 1.10)?,
    ]))
}

fn sage(workspace: &Workspace) -> Result<CheckOutcome> {
    let _confined = CoreConfinement::to_cores(CORES)?;
    let hosts = Hosts::make(ETHERNET)?;
    let gas = SageReference::default();
    let race = Race {
        workspace,
        ranks: RANKS,
        hosts: Some(&hosts),
        program: "sage",
        arguments: ["--deck", "timing_h"].map(Into::into).to_vec(),
        solve: &|command| gas.solve(command),
    };
    race.run(1.02)
}
