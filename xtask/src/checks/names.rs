//! A type name stands for one thing. A reader of `Part` in one file must not have to find out which
//! of sixteen it is.
//!
//! Names of types (structs, enums, unions, traits, aliases) that the workspace declares more than
//! twice have a row in `docs/glossary.md`, with the reason. Associated types are left out: their
//! trait says what they are. So are tests and examples, whose types are read where they are
//! declared.

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use syn::visit::{self, Visit};

use crate::process;
use crate::verdict::CheckOutcome;
use crate::workspace::Workspace;

use super::Check;

pub(super) const CHECK: Check = Check {
    name: "names",
    about: "a type name that the workspace declares more than twice has a reason in docs/glossary.md",
    about_time: false,
    quick: true,
    run,
};

const DOCUMENT: &str = "docs/glossary.md";

/// The heading of the table in which such names are argued for.
const HEADING: &str = "## Type names that several modules declare";

/// A name may be declared that often without a reason.
const FREE_DECLARATIONS: usize = 2;

const LIMIT: Duration = Duration::from_secs(30);

fn run(workspace: &Workspace) -> Result<CheckOutcome> {
    let declared = Declarations::of(workspace)?;
    let document = fs::read_to_string(workspace.root().join(DOCUMENT))
        .with_context(|| format!("failed to read {DOCUMENT}"))?;
    let findings = findings(&declared, &argued(&document));
    let figure = match findings.as_slice() {
        [] => format!("{} names", declared.files.len()),
        findings => findings.join("\n          "),
    };
    let bar = "at most two declarations, or a reason";
    Ok(CheckOutcome::exact(findings.is_empty(), figure, bar))
}

/// The names without a reason, and the reasons without such a name.
fn findings(declared: &Declarations, argued: &BTreeMap<String, String>) -> Vec<String> {
    let crowded = declared
        .files
        .iter()
        .filter(|(_, files)| files.len() > FREE_DECLARATIONS);
    let unargued = crowded
        .clone()
        .filter(|(name, _)| argued.get(*name).is_none_or(String::is_empty))
        .map(|(name, files)| format!("{name}: {} declarations: {}", files.len(), files.join(", ")));
    let stale = argued
        .keys()
        .filter(|name| declared.files.get(*name).map_or(0, Vec::len) <= FREE_DECLARATIONS)
        .map(|name| format!("{DOCUMENT} argues for {name}, which is declared at most twice"));
    unargued.chain(stale).collect()
}

/// The rows below the heading: name and reason.
fn argued(document: &str) -> BTreeMap<String, String> {
    let below = document.split_once(HEADING).map_or("", |(_, below)| below);
    let section = below.split("\n## ").next().unwrap_or_default();
    let rows = section.lines().filter_map(|line| {
        let mut cells = line.strip_prefix('|')?.split('|').map(str::trim);
        let name = cells.next()?.strip_prefix('`')?.strip_suffix('`')?;
        Some((name.to_owned(), cells.next()?.to_owned()))
    });
    rows.collect()
}

/// Whether a file holds tests or an example.
fn is_test(file: &str) -> bool {
    let names = file.split('/').map(|name| name.trim_end_matches(".rs"));
    let mut kinds = names.map(|name| {
        name.trim_start_matches("loom_")
            .trim_start_matches("graph_")
    });
    kinds.any(|name| name == "tests" || name == "examples")
}

/// Where each type name is declared.
#[derive(Debug, Default)]
struct Declarations {
    files: BTreeMap<String, Vec<String>>,
}

impl Declarations {
    fn of(workspace: &Workspace) -> Result<Declarations> {
        let mut list = Command::new("git");
        list.args(["ls-files", "*.rs"])
            .current_dir(workspace.root());
        let listed = process::run(&mut list, LIMIT)?.succeeded()?.stdout;
        let mut declared = Declarations::default();
        for file in listed.lines().filter(|file| !is_test(file)) {
            let text = fs::read_to_string(workspace.root().join(file))
                .with_context(|| format!("failed to read {file}"))?;
            declared.add(file, &text)?;
        }
        ensure!(!declared.files.is_empty(), "the workspace declares no type");
        Ok(declared)
    }

    fn add(&mut self, file: &str, text: &str) -> Result<()> {
        let parsed = syn::parse_file(text).with_context(|| format!("failed to parse {file}"))?;
        let mut found = TypeNames::default();
        found.visit_file(&parsed);
        for name in found.0 {
            self.files.entry(name).or_default().push(file.to_owned());
        }
        Ok(())
    }
}

/// The type names of one file.
#[derive(Debug, Default)]
struct TypeNames(Vec<String>);

impl<'ast> Visit<'ast> for TypeNames {
    fn visit_item(&mut self, item: &'ast syn::Item) {
        let name = match item {
            syn::Item::Struct(it) => Some(&it.ident),
            syn::Item::Enum(it) => Some(&it.ident),
            syn::Item::Union(it) => Some(&it.ident),
            syn::Item::Trait(it) => Some(&it.ident),
            syn::Item::Type(it) => Some(&it.ident),
            _ => None,
        };
        self.0.extend(name.map(ToString::to_string));
        visit::visit_item(self, item);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_third_declaration_needs_a_reason_and_a_reason_needs_a_third_declaration() {
        let mut declared = Declarations::default();
        let text = "mod inner { struct Part; } trait Of { type Part; } fn f() { enum Part {} }";
        declared.add("a.rs", text).expect("Rust");
        assert!(findings(&declared, &BTreeMap::new()).is_empty());
        declared.add("b.rs", "type Part = u8;").expect("Rust");
        assert_eq!(
            findings(&declared, &BTreeMap::new()),
            ["Part: 3 declarations: a.rs, a.rs, b.rs"]
        );
        let document =
            format!("{HEADING}\n\n| name | why |\n|---|---|\n| `Part` | one |\n| `Way` | two |\n");
        assert_eq!(
            findings(&declared, &argued(&document)),
            ["docs/glossary.md argues for Way, which is declared at most twice"]
        );
        assert_eq!(
            findings(&declared, &argued(&document.replace("one", ""))).len(),
            2
        );
    }
}
