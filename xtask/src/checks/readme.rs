//! The commands in README and CONTRIBUTING, run in order and in a fresh clone, print the output
//! shown there.
//!
//! | file | contains |
//! |---|---|
//! | `parts.rs` | the commands, files and outputs in a document |
//! | `session.rs` | the shell that runs the commands |
//! | `shown.rs` | the comparison of shown and actual output |
//! | `copy.rs` | a checkout next to this one, with tracked files only |

mod copy;
mod parts;
mod session;
mod shown;

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};

use crate::verdict::CheckOutcome;
use crate::workspace::Workspace;

use super::Check;
use parts::DocumentPart;
use session::Session;

pub(super) const CHECK: Check = Check {
    name: "readme",
    about: "every command block of README and CONTRIBUTING runs as written, and says what is shown",
    about_time: false,
    quick: false,
    run,
};

/// The documents.
const DOCUMENTS: [&str; 2] = ["README.md", "CONTRIBUTING.md"];

/// The script of continuous integration, with one step per line.
const INTEGRATION: &str = ".ci/run";

/// Commands that are not run, with the reason. Commands that take only minutes do not belong here.
const NOT_RUN: [(&str, &str); 0] = [];

fn run(workspace: &Workspace) -> Result<CheckOutcome> {
    let steps = steps(&read(workspace.root(), INTEGRATION)?);
    ensure!(!steps.is_empty(), "{INTEGRATION} has no steps");
    let mut outcomes = Vec::new();
    let mut unknown: Vec<&str> = NOT_RUN.map(|(command, _)| command).to_vec();
    for document in DOCUMENTS {
        let parts = parts::of(&read(workspace.root(), document)?);
        let is_there = |not_run: &&str| parts.iter().any(|part| part.is_command(not_run));
        unknown.retain(|not_run| !is_there(not_run));
        outcomes.push(typed(workspace, document, &parts, &steps)?);
    }
    let figure = format!("commands that are not run: {}", NOT_RUN.len());
    let gone = unknown
        .iter()
        .map(|command| format!(", and no document has `{command}`"));
    let figure = figure + &gone.collect::<String>();
    outcomes.push(CheckOutcome::exact(
        unknown.is_empty(),
        figure,
        "each with a reason",
    ));
    Ok(CheckOutcome::of_all(&outcomes))
}

fn read(root: &Path, file: &str) -> Result<String> {
    fs::read_to_string(root.join(file)).with_context(|| format!("failed to read {file}"))
}

/// Returns the commands of the steps of continuous integration.
fn steps(script: &str) -> Vec<String> {
    let steps = script
        .lines()
        .filter_map(|line| line.trim().strip_prefix("step "));
    steps.map(str::to_owned).collect()
}

/// Runs the commands of a document in one shell.
fn typed(
    workspace: &Workspace,
    document: &str,
    parts: &[DocumentPart],
    steps: &[String],
) -> Result<CheckOutcome> {
    let folder = tempfile::tempdir().context("failed to make a folder for a clone")?;
    let clone = copy::of(workspace, folder.path())?;
    let mut session = Session::default();
    let (mut typed, mut counted) = (0, 0);
    for part in parts {
        match part {
            DocumentPart::Command { text, .. } if steps.contains(text) => counted += 1,
            DocumentPart::Command { text, .. }
                if NOT_RUN.iter().any(|(not_run, _)| not_run == text) => {}
            DocumentPart::Command { line, text } => {
                typed += 1;
                session.types(*line, text);
            }
            DocumentPart::File { path, text } => session.writes(path, text),
            DocumentPart::Output { .. } => {}
        }
    }
    ensure!(typed + counted > 0, "{document} has no commands");
    let said = session.run(&clone)?;
    let mut wrong: Vec<String> = said.failure().into_iter().collect();
    let mut compared = 0;
    let mut last = None;
    for part in parts {
        match part {
            DocumentPart::Command { line, .. } => last = Some(*line),
            DocumentPart::File { .. } => {}
            DocumentPart::Output { line, text } => {
                let Some(of) = last.and_then(|command| said.by(command)) else {
                    // After a failed command no other ran.
                    if said.failure().is_none() {
                        wrong.push(format!("line {line}: no command was run that says this"));
                    }
                    continue;
                };
                compared += 1;
                wrong.extend(shown::lacks(text, of).map(|what| format!("line {line}: {what}")));
            }
        }
    }
    let counts = format!(
        "{document}: {typed} commands typed, {counted} are steps of {INTEGRATION}, {compared} outputs compared"
    );
    let lines = wrong
        .iter()
        .map(|what| format!("\n          {document}, {what}"));
    let figure = counts + &lines.collect::<String>();
    Ok(CheckOutcome::exact(
        wrong.is_empty(),
        figure,
        "all succeed and say what is shown",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_what_is_behind_the_word() {
        let script = "step() { \"$@\"; }\nstep cargo test --workspace\n    step apt-get update\n";
        assert_eq!(steps(script), ["cargo test --workspace", "apt-get update"]);
    }
}
