//! The files and folders of a crate import in one direction only.
//!
//! An import counts towards the file that defines the item, no matter which file re-exports it. A
//! `mod.rs` that only declares and re-exports therefore causes no cycle. Names in tests do not
//! count, and neither do method calls, which name no file.
//!
//! | file | contains |
//! |---|---|
//! | `tree.rs` | the modules of a crate, and the file that defines the item of a path |
//! | `mentions.rs` | the names that each file uses |
//! | `graph.rs` | the imports between files, and their cycles |

mod graph;
mod mentions;
#[cfg(test)]
mod tests;
pub(super) mod tree;

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};

use crate::verdict::CheckOutcome;
use crate::workspace::Workspace;

use graph::{Graph, ImportCycle};
use mentions::Mention;
pub(super) use tree::Sources;
use tree::Tree;

use super::Check;

pub(super) const CHECK: Check = Check {
    name: "layers",
    about: "files and folders of each crate but five import in one direction, the transports not each other",
    about_time: false,
    quick: true,
    run,
};

/// The pairs of folders that must not name each other, by their crates.
const STRANGERS: [(&str, &[[&str; 2]]); 1] =
    [("bcs-mpi", &[["transport/nic", "transport/smartmap"]])];

/// Crates whose files still import each other in circles. They are not checked yet.
const NOT_YET: [&str; 1] = ["mpi-abi"];

fn run(workspace: &Workspace) -> Result<CheckOutcome> {
    let outcomes = crates(workspace.root())?.into_iter().map(|name| {
        let of_crate = STRANGERS.iter().find(|(owner, _)| *owner == name);
        let strangers = of_crate.map_or(&[][..], |(_, pairs)| *pairs);
        let layers = LayerFindings::read(workspace.root(), &name, strangers)?;
        Ok(layers.outcome(&name))
    });
    let outcomes: Vec<CheckOutcome> = outcomes.collect::<Result<_>>()?;
    Ok(CheckOutcome::of_all(&outcomes))
}

/// Returns the names of the crates to check: all that have a library, except for [`NOT_YET`].
fn crates(root: &Path) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(root).context("failed to list the crates")? {
        let entry = entry.context("failed to list the crates")?;
        let folder = entry.path();
        if folder.join("Cargo.toml").is_file() && folder.join("src/lib.rs").is_file() {
            names.extend(entry.file_name().into_string());
        }
    }
    names.retain(|name| !NOT_YET.contains(&name.as_str()));
    names.sort();
    Ok(names)
}

/// Reads all Rust files below `folder`, whose path from `src` is `path`.
pub(super) fn read(folder: &Path, path: &str, sources: &mut Sources) -> Result<()> {
    let failed = || format!("failed to read {}", folder.display());
    for entry in fs::read_dir(folder).with_context(failed)? {
        let entry = entry.with_context(failed)?;
        let name = entry.file_name().into_string();
        let name = name.ok().with_context(failed)?;
        let path = format!("{path}{name}");
        if entry.file_type().with_context(failed)?.is_dir() {
            read(&entry.path(), &format!("{path}/"), sources)?;
        } else if name.ends_with(".rs") {
            let text = fs::read_to_string(entry.path()).with_context(failed)?;
            sources.insert(path, text);
        }
    }
    Ok(())
}

/// The findings for one crate.
#[derive(Debug)]
struct LayerFindings {
    files: usize,
    imports: usize,
    /// Cycles of files.
    of_files: Vec<ImportCycle>,
    /// Cycles of folders, and of files beside folders, by their parent folder. Cycles of files
    /// alone are in `of_files` already.
    of_folders: Vec<(String, ImportCycle)>,
    /// Violations of the pairs that must not name each other.
    acquainted: Vec<String>,
}

impl LayerFindings {
    fn read(root: &Path, name: &str, strangers: &[[&str; 2]]) -> Result<Self> {
        let mut sources = Sources::new();
        read(&root.join(name).join("src"), "", &mut sources)?;
        Self::of(&sources, strangers).with_context(|| format!("failed to read {name}"))
    }

    fn of(sources: &Sources, strangers: &[[&str; 2]]) -> Result<Self> {
        let tree = Tree::of(sources)?;
        let mentions = mentions::of(&tree);
        ensure!(
            sources.len() == 1 || !mentions.is_empty(),
            "no file names another"
        );
        let files: Vec<&str> = tree.files().collect();
        let imports: Vec<&Mention> = mentions.iter().filter(|mention| mention.item).collect();
        let graph = Graph::of_files(&imports);
        let mut of_folders = Vec::new();
        let folders = graph::folders(&files);
        for folder in &folders {
            let circles = Graph::within(folder, &folders, &imports).circles();
            let circles = circles.into_iter().filter(ImportCycle::has_folder);
            of_folders.extend(circles.map(|circle| (folder.clone(), circle)));
        }
        Ok(Self {
            files: files.len(),
            imports: graph.len(),
            of_files: graph.circles(),
            of_folders,
            acquainted: strangers
                .iter()
                .flat_map(|pair| acquainted(*pair, &files, &mentions))
                .collect(),
        })
    }

    fn holds(&self) -> bool {
        self.of_files.is_empty() && self.of_folders.is_empty() && self.acquainted.is_empty()
    }

    fn outcome(&self, name: &str) -> CheckOutcome {
        let standing: usize = self
            .of_files
            .iter()
            .map(|circle| circle.members.len())
            .sum();
        let mut lines = vec![format!(
            "{name}: {} files, {} imports; {standing} files in {} circles; {} circles of folders",
            self.files,
            self.imports,
            self.of_files.len(),
            self.of_folders.len(),
        )];
        for circle in &self.of_files {
            lines.push(format!("  circle of files: {}", circle.members.join(", ")));
            lines.extend(circle.edges.iter().map(|edge| format!("    {edge}")));
        }
        for (folder, circle) in &self.of_folders {
            let members = circle.members.join(", ");
            lines.push(format!("  circle in src/{folder}: {members}"));
            lines.extend(circle.edges.iter().map(|edge| format!("    {edge}")));
        }
        lines.extend(self.acquainted.iter().map(|line| format!("  {line}")));
        CheckOutcome::exact(
            self.holds(),
            lines.join("\n          "),
            format!("{name}: no circle, and strangers do not name each other"),
        )
    }
}

/// Returns how two folders name each other that must not; a missing folder is an error of the rule.
fn acquainted(pair: [&str; 2], files: &[&str], mentions: &[Mention]) -> Vec<String> {
    let within = |file: &str, folder: &str| graph::words(file).starts_with(&graph::words(folder));
    let missing = pair
        .iter()
        .filter(|folder| !files.iter().any(|file| within(file, folder)));
    let mut found: Vec<String> = missing
        .map(|folder| format!("there is no {folder}, which others must not name"))
        .collect();
    for [from, to] in [pair, [pair[1], pair[0]]] {
        let named = mentions
            .iter()
            .filter(|mention| within(&mention.from, from) && within(&mention.to, to));
        found.extend(named.map(|mention| format!("{from} names {to}: {mention}")));
    }
    found
}
