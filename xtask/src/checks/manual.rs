//! A test calls every function that the manual lists: a test of `bcs-mpi`, an example in its
//! documentation, or a program that a test runs as a job.
//!
//! Both layers have functions of the same names, so a call counts only if its receiver is known.
//! The check follows the types of variables through the signatures of `bcs-mpi` and of the tests,
//! in simple cases. Unknown receivers do not count. If the check misses a call of a listed
//! function, write a simpler test.
//!
//! | file | contains |
//! |---|---|
//! | `rows.rs` | the functions that the manual lists |
//! | `types.rs` | the targets of paths, and the results of functions |
//! | `calls.rs` | the calls of a file |
//! | `expansion.rs` | the expansion of a file's own macros |
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

/// The places of programs that tests run as jobs: each program is a file, or a folder.
const PROGRAMS: [&str; 3] = ["fixtures/src/bin", "apps/examples", "bcs-mpi/examples"];

/// The places of the tests that run and name them.
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

/// Returns whether a file of a crate is a test.
fn is_test(path: &str) -> bool {
    path.starts_with("tests/") || path.ends_with("/tests.rs") || path.contains("/tests/")
}

/// The listed functions, and those that no test calls.
struct ManualCoverage {
    listed: usize,
    uncalled: Vec<String>,
}

impl ManualCoverage {
    fn of(library: &Sources, programs: &Sources) -> Result<Self> {
        let root = library.get("lib.rs").context("there is no lib.rs")?;
        let list = library.get(LIST).context("there is no list")?;
        let mut signatures = Signatures::new(root)?;
        // Functions are known by their bare names. Most tests share those of `tests`, so these are
        // learnt last.
        let (mut own, mut callers, mut shared) = (Vec::new(), Vec::new(), Vec::new());
        for (path, text) in library {
            if path.starts_with("tests/") {
                shared.push(File::parse(path, text, false)?);
            } else if is_test(path) {
                callers.push(File::parse(path, text, false)?);
            } else if ["mpi/", "rust/"].iter().any(|at| path.starts_with(at)) {
                own.push(File::parse(path, text, true)?);
            }
            callers.extend(documented::examples(path, text)?);
        }
        for file in own.iter().chain(&callers).chain(&shared) {
            signatures.learn(file);
        }
        callers.append(&mut shared);
        // Tests share functions; programs use only their own.
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
