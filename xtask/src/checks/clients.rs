//! Programs that depend on bcs-mpi like any user's get correct answers, in all layouts and on all
//! paths.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use crate::process;
use crate::verdict::CheckOutcome;
use crate::workspace::{BUILD_LIMIT, Workspace};

use super::Check;

pub(super) const CHECK: Check = Check {
    name: "clients",
    about: "three programs outside of the workspace, in the safe layer only, find their answers in 54 layouts each",
    about_time: false,
    quick: false,
    run,
};

const CLIENTS: [&str; 3] = ["conjugate-gradient", "master-workers", "overlapped"];

const RANKS: [usize; 4] = [1, 2, 4, 7];

const NODES: [usize; 3] = [1, 2, 3];

/// Both paths from memory to memory within a node, and neither of them.
const ROADS: [&str; 3] = [
    "--copy-method slots",
    "--copy-method queues",
    "--intranode nic",
];

const STROBES: [&str; 2] = ["elastic", "fixed"];

/// Seven ranks on a machine with few cores.
const LIMIT: Duration = Duration::from_secs(120);

fn layouts() -> Vec<String> {
    let mut layouts = Vec::new();
    for ranks in RANKS {
        for nodes in NODES.into_iter().filter(|&nodes| nodes <= ranks) {
            for road in ROADS {
                for strobe in STROBES {
                    let layout = format!("-n {ranks} --nodes {nodes} {road} --strobe {strobe}");
                    layouts.push(layout);
                }
            }
        }
    }
    layouts
}

fn run(workspace: &Workspace) -> Result<CheckOutcome> {
    let programs = built(workspace)?;
    let layouts = layouts();
    for client in CLIENTS {
        for layout in &layouts {
            let mut command = workspace.bcs(["run"])?;
            command.args(layout.split_whitespace());
            command.arg(programs.join(client));
            answered(&mut command).with_context(|| format!("{client} {layout}"))?;
        }
    }
    let figure = format!(
        "{} clients in {} layouts each",
        CLIENTS.len(),
        layouts.len()
    );
    Ok(CheckOutcome::exact(true, figure, "all find their answers"))
}

/// Builds the programs. Their workspace forbids unsafe code.
fn built(workspace: &Workspace) -> Result<std::path::PathBuf> {
    let target = workspace.target().join("clients");
    let manifest = workspace.root().join("clients/Cargo.toml");
    let mut build = workspace.cargo(["build", "--release", "--locked", "--manifest-path"]);
    build.arg(&manifest).env("CARGO_TARGET_DIR", &target);
    process::run(&mut build, BUILD_LIMIT)?
        .succeeded()
        .context("failed to build the clients")?;
    for client in CLIENTS {
        let source = workspace.root().join("clients").join(client);
        is_safe(&source.join("src/main.rs"))?;
    }
    Ok(target.join("release"))
}

fn is_safe(source: &Path) -> Result<()> {
    let text = std::fs::read_to_string(source)
        .with_context(|| format!("failed to read {}", source.display()))?;
    ensure!(
        text.contains("#![forbid(unsafe_code)]"),
        "{} does not forbid unsafe code",
        source.display()
    );
    Ok(())
}

/// Checks that the command succeeds, rank 0 prints one line, and standard error is empty.
fn answered(command: &mut Command) -> Result<()> {
    let finished = process::run(command, LIMIT)?.succeeded()?;
    let (said, told) = (&finished.stdout, &finished.stderr);
    ensure!(
        said.lines().count() == 1 && told.is_empty(),
        "it said:\n{said}{told}"
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    #[test]
    fn there_is_no_node_without_a_rank() {
        let layouts = super::layouts();
        assert_eq!(layouts.len(), (1 + 2 + 3 + 3) * 3 * 2);
        assert!(
            !layouts
                .iter()
                .any(|layout| layout.starts_with("-n 1 --nodes 2"))
        );
    }
}
