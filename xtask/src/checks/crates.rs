//! A program that depends on `bcs-mpi` and `slot-heap` builds few external crates, and none in two
//! versions.
//!
//! The program is outside of the workspace, because there Cargo enables no features that only other
//! crates request. It uses our `Cargo.lock`, so that the count changes with the repository, and not
//! with the day.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use crate::process;
use crate::verdict::CheckOutcome;
use crate::workspace::Workspace;

use super::Check;

pub(super) const CHECK: Check = Check {
    name: "crates",
    about: "a program with bcs-mpi and slot-heap pulls at most 25 external crates, none in two versions",
    about_time: false,
    quick: true,
    run,
};

/// The dependencies of the program.
const OURS: [&str; 2] = ["bcs-mpi", "slot-heap"];

/// The most external crates; more make every new build too slow.
const MOST: usize = 25;

/// Cargo may have to read the registry.
const LIMIT: Duration = Duration::from_secs(120);

fn run(workspace: &Workspace) -> Result<CheckOutcome> {
    let program = tempfile::tempdir().context("failed to make a folder for a program")?;
    write(program.path(), workspace.root())?;
    let mut tree: Command = workspace.cargo(["tree", "--edges", "normal", "--prefix", "none"]);
    tree.current_dir(program.path());
    let tree = process::run(&mut tree, LIMIT)?.succeeded()?.stdout;
    judged(&tree)
}

/// Writes a program outside of the workspace.
fn write(folder: &Path, root: &Path) -> Result<()> {
    let context = || format!("failed to write a program into {}", folder.display());
    let depends = OURS.map(|ours| format!("{ours} = {{ path = {:?} }}\n", root.join(ours)));
    let manifest = format!(
        "[package]\nname = \"program\"\nedition = \"2024\"\n\n[dependencies]\n{}",
        depends.concat()
    );
    fs::write(folder.join("Cargo.toml"), manifest).with_context(context)?;
    fs::create_dir(folder.join("src")).with_context(context)?;
    fs::write(folder.join("src/main.rs"), "fn main() {}\n").with_context(context)?;
    fs::copy(root.join("Cargo.lock"), folder.join("Cargo.lock")).with_context(context)?;
    Ok(())
}

fn judged(tree: &str) -> Result<CheckOutcome> {
    let crates: BTreeSet<(&str, &str)> = tree.lines().filter_map(external).collect();
    ensure!(!crates.is_empty(), "the program depends on nothing");
    let names: BTreeSet<&str> = crates.iter().map(|(name, _)| *name).collect();
    let versions = |name: &&str| crates.iter().filter(|(one, _)| one == name).count();
    let twice: Vec<&str> = names
        .into_iter()
        .filter(|name| versions(name) > 1)
        .collect();
    let mut figure = format!("{} external crates", crates.len());
    if !twice.is_empty() {
        figure += &format!(", in two versions: {}", twice.join(", "));
    }
    let held = crates.len() <= MOST && twice.is_empty();
    if !held {
        let list = crates
            .iter()
            .map(|(name, version)| format!("{name} {version}"));
        figure += &format!("\n          {}", list.collect::<Vec<_>>().join(", "));
    }
    let bar = format!("at most {MOST}, each in one version");
    Ok(CheckOutcome::exact(held, figure, bar))
}

/// Returns name and version of a crate that is not in a folder of ours: `name v1.2.3`, and more
/// text from Cargo.
fn external(line: &str) -> Option<(&str, &str)> {
    let mut words = line.split_whitespace();
    let crate_ = (words.next()?, words.next()?);
    let in_a_folder = |word: &str| word.starts_with("(/");
    (!words.any(in_a_folder)).then_some(crate_)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::Verdict;

    #[test]
    fn crates_count_once_and_ours_do_not() {
        let tree = "program v0.0.0 (/tmp/program)\nbcs-mpi v0.1.0 (/work/bcs-mpi)\n\
                    syn v3.0.9\nserde_derive v1.0.229 (proc-macro)\nsyn v3.0.9 (*)\n";
        let outcome = judged(tree).unwrap();
        assert_eq!(outcome.verdict, Verdict::Held);
        assert_eq!(outcome.figure, "2 external crates");
    }

    #[test]
    fn two_versions_are_named_and_so_is_what_is_too_much() {
        let outcome = judged("syn v3.0.9\nsyn v2.0.119\n").unwrap();
        assert_eq!(outcome.verdict, Verdict::Missed);
        assert!(
            outcome
                .figure
                .starts_with("2 external crates, in two versions: syn")
        );
        let many: String = (0..=MOST).map(|n| format!("crate{n} v1.0.0\n")).collect();
        let outcome = judged(&many).unwrap();
        assert_eq!(outcome.verdict, Verdict::Missed);
        assert!(
            outcome.figure.contains("crate25 v1.0.0"),
            "{}",
            outcome.figure
        );
    }

    #[test]
    fn no_crate_at_all_is_an_error() {
        assert!(judged("").is_err());
    }
}
