//! Compares SWEEP3D on one node with MPICH.

use std::ffi::OsString;
use std::fs;

use anyhow::{Context, Result};

use crate::confinement::CoreConfinement;
use crate::sweep3d::{Sweep3dReference, process_grid};
use crate::verdict::CheckOutcome;
use crate::workspace::Workspace;

use super::Check;
use super::abi_race::{CORES, Race};

pub(super) const CHECK: Check = Check {
    name: "sweep3d-peer",
    about: "SWEEP3D, 100 cubed, over SMARTMAP and over MPICH: 2 ranks at most 1.02 x, 8 ranks on 2 cores at most 0.9 x",
    about_time: true,
    quick: false,
    run,
};

/// Returns the deck of `sweep3d-oversubscribed`.
fn deck(ranks: usize) -> Result<String> {
    let (npe_i, npe_j) = process_grid(u32::try_from(ranks).context("few ranks")?);
    Ok(format!(
        "{npe_i} {npe_j} 10 3 1\n100 100 100 6 1\n.05 .05 .05 -4.0\n0 0 0\n0 1 0\n"
    ))
}

fn run(workspace: &Workspace) -> Result<CheckOutcome> {
    let _confined = CoreConfinement::to_cores(CORES)?;
    Ok(CheckOutcome::of_all(&[
        contest(workspace, 2, 1.02)?,
        contest(workspace, 8, 0.9)?,
    ]))
}

fn contest(workspace: &Workspace, ranks: usize, bar: f64) -> Result<CheckOutcome> {
    let dir = tempfile::tempdir().context("failed to make a directory for the deck")?;
    let deck_path = dir.path().join("input");
    fs::write(&deck_path, deck(ranks)?).context("failed to write a deck")?;
    let solver = Sweep3dReference::default();
    let words = ["--comm", "nonblocking", "--deck"].map(OsString::from);
    let race = Race {
        workspace,
        ranks,
        hosts: None,
        program: "sweep3d",
        arguments: words.into_iter().chain([deck_path.into()]).collect(),
        solve: &|command| solver.solve(command),
    };
    race.run(bar)
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_deck_has_the_process_grid_of_its_ranks() {
        assert!(
            super::deck(8)
                .unwrap()
                .starts_with("2 4 10 3 1\n100 100 100 6 1\n")
        );
        assert!(super::deck(2).unwrap().starts_with("1 2 10 3 1\n"));
    }
}
