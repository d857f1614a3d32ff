//! Every function that the manual lists is called by a test: by one of `bcs-mpi`, by an example in its
//! documentation, or by a program that a test runs as a job.
//!
//! Both layers have functions of the same names. So a call counts only where it is seen what it is called on: the
//! types of variables are followed through the signatures of `bcs-mpi` and of the tests, as far as that is simple.
//! What is not seen does not count: a listed function that is called, and is said not to be, wants a plainer test.
//!
//! | file | is |
//! |---|---|
//! | `rows.rs` | what the manual lists |
//! | `types.rs` | what paths name, and what functions give |
//! | `calls.rs` | what a file calls |
//! | `expansion.rs` | what its own macros stand for |
//! | `documented.rs` | the examples in a file's documentation |

mod calls;
mod documented;
mod expansion;
mod rows;
#[cfg(test)]
mod tests;
mod types;

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result, ensure};

use crate::verdict::CheckOutcome;
use crate::workspace::Workspace;

use super::Check;
use super::layers::{Sources, read};
use types::{File, Signatures};

pub(super) const CHECK: Check = Check {
    name: "manual",
    about: "every function that the manual of bcs-mpi lists is called by a test",
    about_time: false,
    quick: true,
    run,
};

/// The list.
const LIST: &str = "manual/functions.rs";

/// Where programs are that tests run as jobs: each is a file, or a folder.
const PROGRAMS: [&str; 3] = ["fixtures/src/bin", "apps/examples", "bcs-mpi/examples"];

/// Where the tests are that run them, and name them.
const JOBS: [&str; 2] = ["machine-manager/tests", "fixtures/tests"];

fn run(workspace: &Workspace) -> Result<CheckOutcome> {
    let root = workspace.root();
    let sources_of = |folder: &str| -> Result<Sources> {
        let mut sources = Sources::new();
        read(&root.join(folder), "", &mut sources)?;
        Ok(sources)
    };
    let library = sources_of("bcs-mpi/src")?;
    let mut jobs = String::new();
    for folder in JOBS {
        jobs.extend(sources_of(folder)?.into_values());
    }
    let mut programs = Sources::new();
    for folder in PROGRAMS {
        programs.extend(sources_of(folder)?);
    }
    programs.retain(|path, _| {
        let name = path.split('/').next().unwrap_or_default();
        jobs.contains(&format!("\"{}\"", name.trim_end_matches(".rs")))
    });
    let found = ManualCoverage::of(&library, &programs)?;
    let figure = match found.uncalled.as_slice() {
        [] => format!("{} functions", found.listed),
        names => format!(
            "{} of {} are not called: {}",
            names.len(),
            found.listed,
            names.join("\n          ")
        ),
    };
    Ok(CheckOutcome::exact(
        found.uncalled.is_empty(),
        figure,
        "all that are listed",
    ))
}

/// What a file of a crate is for.
fn is_test(path: &str) -> bool {
    path.starts_with("tests/") || path.ends_with("/tests.rs") || path.contains("/tests/")
}

/// What is listed and what of it is not called.
struct ManualCoverage {
    listed: usize,
    uncalled: Vec<String>,
}

impl ManualCoverage {
    fn of(library: &Sources, programs: &Sources) -> Result<Self> {
        let root = library.get("lib.rs").context("there is no lib.rs")?;
        let list = library.get(LIST).context("there is no list")?;
        let mut signatures = Signatures::new(root)?;
        let (mut own, mut callers) = (Vec::new(), Vec::new());
        for (path, text) in library {
            if is_test(path) {
                callers.push(File::parse(path, text, false)?);
            } else if ["mpi/", "rust/"].iter().any(|at| path.starts_with(at)) {
                own.push(File::parse(path, text, true)?);
            }
            callers.extend(documented::examples(path, text)?);
        }
        for file in own.iter().chain(&callers) {
            signatures.learn(file);
        }
        // Tests share functions; programs have only their own.
        for (path, text) in programs {
            callers.push(File::parse(path, text, false)?);
        }
        let mut called = BTreeSet::new();
        for file in own.iter().chain(&callers) {
            calls::of(file, &signatures, &mut called);
        }
        let listed = rows::functions(list, &signatures);
        ensure!(!listed.is_empty(), "the manual lists nothing");
        let mut uncalled: BTreeMap<&str, &str> = BTreeMap::new();
        for (function, row) in &listed {
            if !called.contains(function) {
                uncalled.insert(function, row);
            }
        }
        let line = |(function, row): (&&str, &&str)| format!("{row}: {function}");
        Ok(Self {
            listed: listed.len(),
            uncalled: uncalled.iter().map(line).collect(),
        })
    }
}
