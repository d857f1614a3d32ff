//! Each time by which the code decides between two ways is listed in `docs/constants.md`, with what it is.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use crate::verdict::Outcome;
use crate::workspace::Workspace;

use super::Check;

pub(super) const CHECK: Check = Check {
    name: "constants",
    about: "docs/constants.md has a row for each time that decides in bcs-core, bcs-nic, bcs-fabric, bcs-mpi and mpi-abi, and none is plain",
    about_time: false,
    quick: false,
    run,
};

const DOCUMENT: &str = "docs/constants.md";

const CRATES: [&str; 5] = ["bcs-core", "bcs-nic", "bcs-fabric", "bcs-mpi", "mpi-abi"];

/// Folders and files that decide nothing in a job: tests, and what stands in for a machine in them.
const BESIDE: [&str; 6] = [
    "tests",
    "tests.rs",
    "simulator",
    "conformance",
    "lockstep",
    "wire.rs",
];

/// What a constant may be.
const KINDS: [&str; 4] = ["law", "bound", "ratio", "plain"];

fn run(workspace: &Workspace) -> Result<Outcome> {
    let text = fs::read_to_string(workspace.root().join(DOCUMENT));
    let rows = rows(&text.with_context(|| format!("failed to read {DOCUMENT}"))?)?;
    let mut found = Vec::new();
    for name in CRATES {
        let source = workspace.root().join(name).join("src");
        for file in files(&source)? {
            let text = fs::read_to_string(&file);
            let text = text.with_context(|| format!("failed to read {}", file.display()))?;
            let file = file.strip_prefix(workspace.root())?.display().to_string();
            let times = times(&text).into_iter();
            found.extend(times.map(|constant| (file.clone(), constant.to_owned())));
        }
    }
    Ok(judged(&rows, &found))
}

fn judged(rows: &BTreeMap<(String, String), String>, found: &[(String, String)]) -> Outcome {
    let mut wrong = Vec::new();
    for key @ (file, constant) in found {
        match rows.get(key).map(String::as_str) {
            None => wrong.push(format!("{file}: {constant} has no row")),
            Some("plain") => wrong.push(format!("{file}: {constant} is plain")),
            Some(_) => {}
        }
    }
    let gone = rows.keys().filter(|key| !found.contains(key));
    wrong.extend(gone.map(|(file, constant)| format!("{file}: there is no {constant} any more")));
    let figure = match wrong.as_slice() {
        [] => format!("{} times", found.len()),
        wrong => wrong.join("\n          "),
    };
    Outcome::exact(
        wrong.is_empty(),
        figure,
        "each has a row, and none is plain",
    )
}

/// The kinds of the constants of a document, by file and name.
fn rows(document: &str) -> Result<BTreeMap<(String, String), String>> {
    let mut rows = BTreeMap::new();
    for line in document.lines().filter(|line| line.starts_with("| `")) {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let [constant, file, kind, ..] = cells[..] else {
            anyhow::bail!("{DOCUMENT}: a row has constant, file, kind and reason: {line}");
        };
        ensure!(
            KINDS.contains(&kind),
            "{DOCUMENT}: {kind} is none of {KINDS:?}"
        );
        let bare = |cell: &str| cell.trim_matches('`').to_owned();
        rows.insert((bare(file), bare(constant)), kind.to_owned());
    }
    ensure!(!rows.is_empty(), "{DOCUMENT} has no rows");
    Ok(rows)
}

fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let entries = fs::read_dir(folder);
    for entry in entries.with_context(|| format!("failed to read {}", folder.display()))? {
        let path = entry?.path();
        let is_beside = path
            .file_name()
            .is_some_and(|name| BESIDE.iter().any(|beside| name == *beside));
        match path.is_dir() {
            _ if is_beside => {}
            true => files.extend(self::files(&path)?),
            false if path.extension().is_some_and(|end| end == "rs") => files.push(path),
            false => {}
        }
    }
    files.sort();
    Ok(files)
}

/// The names of constants in front of the tests that are times: by their names, or by their types.
fn times(source: &str) -> Vec<&str> {
    let code = source.split("#[cfg(test)]\nmod tests {").next();
    code.unwrap_or(source).lines().filter_map(time).collect()
}

fn time(line: &str) -> Option<&str> {
    let (before, rest) = line.split_once("const ")?;
    let (name, kind) = rest.split_once(':')?;
    let before = before.trim();
    let is_item = before.is_empty() || before.starts_with("pub");
    let is_time = name.ends_with("_NS") || kind.trim_start().starts_with("Duration");
    (is_item && is_time).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_known_by_name_or_type_and_tests_have_their_own() {
        let source = "const A_NS: u64 = 1;\n    pub(crate) const B: Duration = x;\npub const C: usize = 2;\nlet const_NS: u64;\nconst fn d_NS() {}\n#[cfg(test)]\nmod tests {\nconst E_NS: u64 = 1;\n";
        assert_eq!(times(source), ["A_NS", "B"]);
    }

    #[test]
    fn what_is_missing_or_plain_or_gone_is_told() {
        let rows = rows(
            "| `A_NS` | `a.rs` | law | x |\n| `B` | `b.rs` | plain | y |\n| `C` | `c.rs` | bound | z |\n",
        );
        let found = [("a.rs", "A_NS"), ("b.rs", "B"), ("d.rs", "D")];
        let found = found.map(|(file, name)| (file.to_owned(), name.to_owned()));
        let rows = rows.unwrap();
        let told = format!("{:?}", judged(&rows, &found));
        for what in ["B is plain", "D has no row", "no C any more"] {
            assert!(told.contains(what), "{told}");
        }
        assert!(!told.contains("A_NS"), "{told}");
        assert!(super::rows("| `A_NS` | `a.rs` | guess | x |\n").is_err());
    }
}
