//! SWEEP3D on one node against MPICH: the very same binary, over our MPI under `bcs run` and over theirs, by the
//! standard ABI, under their `mpiexec`.

use std::cell::RefCell;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::bootstrap::median;
use crate::confined::Confined;
use crate::contest::Side;
use crate::peers::{MPICH, Settings, Way};
use crate::rounds::{Bar, Rounds};
use crate::sweep3d::{Solver, process_grid};
use crate::verdict::{CannotTell, Outcome, Verdict};
use crate::workspace::Workspace;

use super::Check;

pub(super) const CHECK: Check = Check {
    name: "sweep3d-peer",
    about: "SWEEP3D, 100 cubed, over SMARTMAP and over MPICH: 2 ranks at most 1.02 x, 8 ranks on 2 cores at most 0.9 x",
    about_time: true,
    quick: false,
    run,
};

const CORES: usize = 2;

/// As in `sweep3d-oversubscribed`.
fn deck(ranks: usize) -> Result<String> {
    let (npe_i, npe_j) = process_grid(u32::try_from(ranks).context("few ranks")?);
    Ok(format!(
        "{npe_i} {npe_j} 10 3 1\n100 100 100 6 1\n.05 .05 .05 -4.0\n0 0 0\n0 1 0\n"
    ))
}

fn run(workspace: &Workspace) -> Result<Outcome> {
    let _confined = Confined::to(CORES)?;
    Ok(Outcome::of_all(&[
        contest(workspace, 2, 1.02)?,
        contest(workspace, 8, 0.9)?,
    ]))
}

/// What is common to the runs of so many ranks.
struct Race<'a> {
    workspace: &'a Workspace,
    ranks: usize,
    deck: PathBuf,
    solver: Solver,
}

impl Race<'_> {
    fn program(&self, command: &mut Command) {
        command
            .args(["--comm", "nonblocking", "--deck"])
            .arg(&self.deck);
    }

    fn ours(&self) -> Result<f64> {
        let Side::Ours(binding) = Side::ours(self.ranks, CORES) else {
            unreachable!("it is ours");
        };
        let ranks = self.ranks.to_string();
        let words = ["run", "-n", &ranks, "--intranode", "smartmap"];
        let mut command = self.workspace.bcs(words)?;
        command.args(binding).arg("sweep3d");
        self.program(&mut command);
        self.solver.solve(&mut command)
    }

    fn theirs(&self, settings: &Settings, library: &Path) -> Result<f64> {
        let mut command = Command::new(MPICH.mpiexec(self.workspace)?);
        command
            .args(["-n", &self.ranks.to_string()])
            .args(settings.options)
            .envs(settings.variables.iter().copied())
            .arg(self.workspace.release()?.join("bcs"))
            .args(["app", "sweep3d", "--mpi"])
            .arg(format!("abi:{}", library.display()));
        self.program(&mut command);
        self.solver.solve(&mut command)
    }
}

fn contest(workspace: &Workspace, ranks: usize, bar: f64) -> Result<Outcome> {
    MPICH.mpiexec(workspace)?;
    let library = workspace
        .target()
        .join("peers")
        .join(MPICH.name)
        .join("lib/libmpi_abi.so.1");
    if !library.is_file() {
        let why = format!("{} has no {}", MPICH.requirement, library.display());
        return Err(CannotTell(why).into());
    }
    let dir = tempfile::tempdir().context("failed to make a directory for the deck")?;
    let deck_path = dir.path().join("input");
    fs::write(&deck_path, deck(ranks)?).context("failed to write a deck")?;
    let race = Race {
        workspace,
        ranks,
        deck: deck_path,
        solver: Solver::default(),
    };
    let mut outcomes = Vec::new();
    for settings in MPICH.settings(Way::Node, ranks, CORES) {
        let (ours_s, theirs_s) = (RefCell::new(vec![]), RefCell::new(vec![]));
        let keep = |kept: &RefCell<Vec<f64>>, seconds: f64| {
            kept.borrow_mut().push(seconds);
            seconds
        };
        let ours = || race.ours().map(|seconds| keep(&ours_s, seconds));
        let theirs = || {
            let solved = race.theirs(settings, &library);
            solved.map(|seconds| keep(&theirs_s, seconds))
        };
        let measured = Rounds::default().ratio(Bar::AtMost(bar), ours, theirs)?;
        let mut outcome = measured.outcome(&format!("solver time of {ranks} ranks"), " x");
        outcome.figure.push_str(&format!(
            "; of the rounds' medians: {:.3} s against {:.3} s; the same answers",
            median(&ours_s.borrow()),
            median(&theirs_s.borrow())
        ));
        outcomes.push(outcome);
    }
    // Against each way of theirs: the fastest is what counts, and it is the one that misses first.
    let worst = outcomes
        .iter()
        .position(|outcome| outcome.verdict != Verdict::Held);
    Ok(outcomes.swap_remove(worst.unwrap_or(0)))
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
