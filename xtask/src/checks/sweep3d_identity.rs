//! SWEEP3D gives the same errs to the last digit in every layout.

use std::time::Duration;
use std::{fmt, fs};

use anyhow::{Context, Result};

use crate::process;
use crate::sweep3d::{Answers, Iteration, process_grid};
use crate::verdict::CheckOutcome;
use crate::workspace::Workspace;

use super::Check;

pub(super) const CHECK: Check = Check {
    name: "sweep3d-identity",
    about: "SWEEP3D prints the same errs on every layout, for each way to communicate, strobe and driver",
    about_time: false,
    quick: false,
    run,
};

/// A layout of a run.
#[derive(Debug, Clone, Copy)]
struct SolveLayout {
    ranks: u32,
    nodes: u32,
    comm: &'static str,
    strobe: &'static str,
    nic_threads: &'static str,
}

/// Prints the layout as command-line options.
impl fmt::Display for SolveLayout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let SolveLayout {
            ranks,
            nodes,
            comm,
            strobe,
            nic_threads,
        } = self;
        write!(
            f,
            "-n {ranks} --nodes {nodes} --strobe {strobe} --nic-threads {nic_threads}"
        )?;
        write!(f, " sweep3d --comm {comm}")
    }
}

fn ways() -> Vec<SolveLayout> {
    let mut ways = Vec::new();
    for ranks in [1, 2, 3, 4, 6] {
        for nodes in (1..=3).filter(|nodes| *nodes <= ranks) {
            for comm in ["blocking", "nonblocking"] {
                for strobe in ["fixed", "elastic"] {
                    for nic_threads in ["shared", "coprocessor", "dedicated"] {
                        ways.push(SolveLayout {
                            ranks,
                            nodes,
                            comm,
                            strobe,
                            nic_threads,
                        });
                    }
                }
            }
        }
    }
    ways
}

/// Returns a 12-cubed S6 P1 problem in blocks of 4 planes and 3 angles, for six iterations, the
/// last three of them with fix-ups. It is so small that the runtime dominates its run time.
fn deck(ranks: u32) -> String {
    let (npe_i, npe_j) = process_grid(ranks);
    format!("{npe_i} {npe_j} 4 3 1\n12 12 12 6 1\n.4 .4 .4 -6.0\n0 0 0\n0 1 -3\n")
}

fn run(workspace: &Workspace) -> Result<CheckOutcome> {
    let dir = tempfile::tempdir().context("failed to make a directory for the decks")?;
    let ways = ways();
    let mut first: Option<Vec<Iteration>> = None;
    let mut differing = Vec::new();
    for way in &ways {
        let deck_path = dir.path().join(format!("input.{}", way.ranks));
        fs::write(&deck_path, deck(way.ranks)).context("failed to write a deck")?;
        let (ranks, nodes) = (way.ranks.to_string(), way.nodes.to_string());
        let mut command = workspace.bcs(["run", "-n", &ranks, "--nodes", &nodes])?;
        command.args(["--strobe", way.strobe, "--nic-threads", way.nic_threads]);
        command
            .args(["sweep3d", "--comm", way.comm, "--deck"])
            .arg(&deck_path);
        let answers = process::run(&mut command, Duration::from_secs(120))
            .and_then(process::ProcessResult::succeeded)
            .and_then(|finished| finished.stdout.parse::<Answers>())
            .with_context(|| format!("failed at `{way}`"))?;
        match &first {
            None => first = Some(answers.iterations),
            Some(first) if *first != answers.iterations => differing.push(way.to_string()),
            Some(_) => {}
        }
    }
    let same = ways.len() - differing.len();
    let mut figure = format!(
        "{same} of {} runs print the same errs and fix-ups",
        ways.len()
    );
    if let (Some(way), Some(first)) = (differing.first(), ways.first()) {
        figure.push_str(&format!(
            "; the first that differs from `{first}` is `{way}`"
        ));
    }
    Ok(CheckOutcome::exact(
        differing.is_empty(),
        figure,
        "all of them",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_layouts_are_tried_in_all_ways() {
        let ways = ways();
        assert_eq!(ways.len(), (1 + 2 + 3 + 3 + 3) * 2 * 2 * 3);
        assert!(ways.iter().all(|way| way.nodes <= way.ranks));
    }

    #[test]
    fn the_deck_has_the_process_grid_of_its_ranks() {
        assert!(deck(6).starts_with("2 3 4 3 1\n12 12 12 6 1\n"));
    }
}
