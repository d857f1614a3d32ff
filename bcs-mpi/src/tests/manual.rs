//! Compares the manual's list of functions with the sources: a new function of the standard needs a
//! row. Rustdoc checks that the items in a row exist, because it refuses broken links.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Types of the standard whose names look like functions. So do the names of function types.
const TYPES: [&str; 2] = ["MPI_Message", "MPI_Op"];

/// Returns the names of functions in a text: `MPI_`, a capital, a small letter. With a `before`
/// only those behind that character.
fn names(text: &str, before: char) -> impl Iterator<Item = &str> {
    let starts = text.match_indices("MPI_");
    starts.filter_map(move |(at, _)| {
        let name = &text[at..];
        let end = name.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        let name = &name[..end.unwrap_or(name.len())];
        let small = name.chars().nth(5).is_some_and(|c| c.is_ascii_lowercase());
        (small && text[..at].ends_with(before)).then_some(name)
    })
}

fn sources(folder: &Path, into: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, into);
        } else if path.file_name().is_some_and(|name| name != "tests.rs") {
            into.push(path);
        }
    }
}

#[test]
fn every_function_has_its_row() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let manual = fs::read_to_string(root.join("manual/functions.rs")).unwrap();
    let rows = manual
        .lines()
        .filter(|line| line.starts_with("//! | `MPI_"));
    let listed: Vec<&str> = rows.filter_map(|row| names(row, '`').next()).collect();
    let known: BTreeSet<&str> = listed.iter().copied().collect();
    assert_eq!(known.len(), listed.len(), "a row is there twice");
    let is_known =
        |name: &str| known.contains(name) || TYPES.contains(&name) || name.ends_with("_function");
    let mut files = Vec::new();
    for layer in ["mpi", "rust"] {
        sources(&root.join(layer), &mut files);
    }
    let mut missing = BTreeSet::new();
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        for line in text.lines() {
            let line = line.trim_start();
            // Names are in comments, and in macros that define calls.
            let quote = if line.starts_with("///") { '`' } else { '"' };
            if line.starts_with("//") && quote == '"' {
                continue;
            }
            let unknown = names(line, quote).filter(|name| !is_known(name));
            missing.extend(unknown.map(|name| format!("{name} ({})", file.display())));
        }
    }
    assert!(missing.is_empty(), "not in the manual: {missing:#?}");
}
