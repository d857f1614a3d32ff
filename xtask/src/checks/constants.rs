//! `docs/constants.md` lists each time, length and count by which the code decides between two
//! paths, with its kind and reason.
//!
//! This is no parser of Rust: it works on lines and words, as `rustfmt` writes them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use crate::verdict::CheckOutcome;
use crate::workspace::Workspace;

use super::Check;

pub(super) const CHECK: Check = Check {
    name: "constants",
    about: "docs/constants.md has a row for each time, length and count that decides in bcs-core, bcs-nic, bcs-fabric, bcs-mpi and mpi-abi, and no time is plain",
    about_time: false,
    quick: false,
    run,
};

const DOCUMENT: &str = "docs/constants.md";

const CRATES: [&str; 5] = ["bcs-core", "bcs-nic", "bcs-fabric", "bcs-mpi", "mpi-abi"];

/// Each integer in this file needs a row: some are compared elsewhere, by way of a setting.
const LIMITS: &str = "bcs-core/src/limits.rs";

/// Endings of folder and file names that decide nothing in a job: tests and simulations.
const BESIDE: [&str; 6] = [
    "tests",
    "tests.rs",
    "simulator",
    "conformance",
    "lockstep",
    "datagram_network.rs",
];

/// The kinds of a constant.
const KINDS: [&str; 5] = ["law", "bound", "ratio", "plain", LIMIT];

/// The kind of a limit of legality or of space.
const LIMIT: &str = "limit";

/// The prefix of a plain constant's reason if the constant may be wrong on another machine.
const NOT_SHOWN: &str = "not shown:";

const INTEGERS: [&str; 12] = [
    "u8", "u16", "u32", "u64", "u128", "usize", "i8", "i16", "i32", "i64", "i128", "isize",
];

/// The beginnings of an assertion. Following lines with more indentation belong to it.
const ASSERTIONS: [&str; 4] = ["assert!(", "assert_eq!(", "assert_ne!(", "const _: () ="];

const COMPARISONS: [&str; 4] = [" < ", " <= ", " > ", " >= "];

const BOUNDINGS: [&str; 3] = [".min(", ".max(", ".clamp("];

const ARITHMETIC: [&str; 6] = ["+", "-", "*", "/", "<<", ">>"];

/// A constant, by its file and name.
type ConstantKey = (String, String);

/// A row of the document.
#[derive(Debug)]
struct DocumentedConstant {
    kind: String,
    reason: String,
}

/// The constants and comparisons of the code.
#[derive(Debug, Default)]
struct DeclaredConstants {
    times: BTreeSet<ConstantKey>,
    /// All integers, and whether they are public.
    integers: BTreeMap<ConstantKey, bool>,
    /// The compared names of each file.
    compared: BTreeMap<String, BTreeSet<String>>,
}

fn run(workspace: &Workspace) -> Result<CheckOutcome> {
    let text = fs::read_to_string(workspace.root().join(DOCUMENT));
    let rows = rows(&text.with_context(|| format!("failed to read {DOCUMENT}"))?)?;
    let mut code = DeclaredConstants::default();
    for name in CRATES {
        let source = workspace.root().join(name).join("src");
        for file in files(&source)? {
            let text = fs::read_to_string(&file);
            let text = text.with_context(|| format!("failed to read {}", file.display()))?;
            code.add(file.strip_prefix(workspace.root())?, &text);
        }
    }
    Ok(judged(&rows, &code))
}

impl DeclaredConstants {
    fn add(&mut self, file: &Path, source: &str) {
        let file = file.display().to_string();
        let source = source.split("#[cfg(test)]\nmod tests {").next();
        let source = source.unwrap_or_default();
        for constant in source.lines().filter_map(Constant::of) {
            let key = (file.clone(), constant.name.to_owned());
            if constant.is_time() {
                self.times.insert(key);
            } else if INTEGERS.contains(&constant.kind) {
                *self.integers.entry(key).or_default() |= constant.is_public;
            }
        }
        let compared = compared(&words_of(source));
        self.compared.insert(file, compared);
    }

    /// Returns the integers that decide: those that are compared in their own file, or in one that
    /// can see them and has no constant of that name.
    fn deciding(&self) -> impl Iterator<Item = &ConstantKey> {
        let decides = |(file, name): &ConstantKey, is_public: bool| {
            self.compared.iter().any(|(other, compared)| {
                let is_hidden = || self.integers.contains_key(&(other.clone(), name.clone()));
                let sees = other == file || (is_public && !is_hidden());
                sees && compared.contains(name)
            })
        };
        let all = self.integers.iter();
        let found =
            all.filter(move |(key, is_public)| key.0 == LIMITS || decides(key, **is_public));
        found.map(|(key, _)| key)
    }
}

fn judged(
    rows: &BTreeMap<ConstantKey, DocumentedConstant>,
    code: &DeclaredConstants,
) -> CheckOutcome {
    let mut wrong = Vec::new();
    for key @ (file, constant) in code.times.iter().chain(code.deciding()) {
        match rows.get(key) {
            None => wrong.push(format!("{file}: {constant} has no row")),
            Some(DocumentedConstant { kind, .. })
                if code.times.contains(key) && may_be_no_time(kind) =>
            {
                wrong.push(format!("{file}: {constant} is a time, and {kind}"));
            }
            Some(_) => {}
        }
    }
    let has = |key: &ConstantKey| code.times.contains(key) || code.integers.contains_key(key);
    let gone = rows.keys().filter(|key| !has(key));
    wrong.extend(gone.map(|(file, constant)| format!("{file}: there is no {constant} any more")));
    let figure = match wrong.as_slice() {
        [] => figure(rows, code),
        wrong => wrong.join("\n          "),
    };
    CheckOutcome::exact(
        wrong.is_empty(),
        figure,
        "each has a row, and no time is plain",
    )
}

fn may_be_no_time(kind: &str) -> bool {
    ["plain", LIMIT].contains(&kind)
}

fn figure(rows: &BTreeMap<ConstantKey, DocumentedConstant>, code: &DeclaredConstants) -> String {
    let numbers = rows.iter().filter(|(key, _)| !code.times.contains(key));
    let (limits, deciding): (Vec<_>, Vec<_>) = numbers
        .map(|(_, row)| row)
        .partition(|row| row.kind == LIMIT);
    let not_shown = deciding.iter().filter(|row| row.is_not_shown()).count();
    format!(
        "{} times, {} lengths and counts, of which {not_shown} plain without a proof, and {} limits",
        code.times.len(),
        deciding.len(),
        limits.len()
    )
}

impl DocumentedConstant {
    fn is_not_shown(&self) -> bool {
        self.kind == "plain" && self.reason.starts_with(NOT_SHOWN)
    }
}

/// Returns the rows of a document, by file and name.
fn rows(document: &str) -> Result<BTreeMap<ConstantKey, DocumentedConstant>> {
    let mut rows = BTreeMap::new();
    for line in document.lines().filter(|line| line.starts_with("| `")) {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let [constant, file, kind, reason] = cells[..] else {
            anyhow::bail!("{DOCUMENT}: a row has constant, file, kind and reason: {line}");
        };
        ensure!(
            KINDS.contains(&kind),
            "{DOCUMENT}: {kind} is none of {KINDS:?}"
        );
        ensure!(!reason.is_empty(), "{DOCUMENT}: no reason: {line}");
        let bare = |cell: &str| cell.trim_matches('`').to_owned();
        let row = DocumentedConstant {
            kind: kind.to_owned(),
            reason: reason.to_owned(),
        };
        let before = rows.insert((bare(file), bare(constant)), row);
        ensure!(before.is_none(), "{DOCUMENT}: a second row: {line}");
    }
    ensure!(!rows.is_empty(), "{DOCUMENT} has no rows");
    Ok(rows)
}

fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let entries = fs::read_dir(folder);
    for entry in entries.with_context(|| format!("failed to read {}", folder.display()))? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let is_beside = BESIDE.iter().any(|beside| name.ends_with(beside));
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

/// A declaration of a constant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Constant<'a> {
    name: &'a str,
    kind: &'a str,
    is_public: bool,
}

impl<'a> Constant<'a> {
    fn of(line: &'a str) -> Option<Self> {
        let (before, rest) = line.split_once("const ")?;
        let (name, rest) = rest.split_once(':')?;
        let kind = rest.split_whitespace().next()?;
        let before = before.trim();
        let is_public = before.starts_with("pub");
        let is_upper = |c: char| c == '_' || c.is_ascii_uppercase() || c.is_ascii_digit();
        let is_item = (before.is_empty() || is_public) && name.chars().all(is_upper);
        is_item.then_some(Self {
            name,
            kind,
            is_public,
        })
    }

    /// Returns whether it is a time, by its name or its type.
    fn is_time(&self) -> bool {
        self.name.ends_with("_NS") || self.kind == "Duration"
    }
}

/// Returns the code in one line, without comments, conversions and assertions.
fn words_of(source: &str) -> String {
    let mut code = String::new();
    let mut assertion = None;
    for line in source.lines() {
        let line = line.split("//").next().unwrap_or_default();
        let text = line.trim();
        let depth = line.len() - line.trim_start().len();
        if text.is_empty() || assertion.is_some_and(|outer| depth > outer) {
            continue;
        }
        let asserts = ASSERTIONS.iter().any(|begin| text.contains(begin));
        assertion = asserts.then_some(depth);
        if !asserts {
            code.push_str(text);
            code.push(' ');
        }
    }
    INTEGERS
        .iter()
        .fold(code, |code, kind| code.replace(&format!(" as {kind}"), ""))
}

/// Returns the names next to comparisons, and the bounds of numbers.
fn compared(code: &str) -> BTreeSet<String> {
    let mut names = Vec::new();
    for comparison in COMPARISONS {
        for (at, _) in code.match_indices(comparison) {
            names.extend(operand(code[..at].split_whitespace().rev()));
            names.extend(operand(code[at + comparison.len()..].split_whitespace()));
        }
    }
    for bounding in BOUNDINGS {
        for (at, _) in code.match_indices(bounding) {
            let bounded = code[..at].split_whitespace().rev();
            let terms = if code[..at].ends_with(')') {
                usize::MAX
            } else {
                1
            };
            names.extend(operand(bounded).into_iter().take(terms));
            names.extend(names_in(arguments(&code[at + bounding.len()..])));
        }
    }
    names.into_iter().map(str::to_owned).collect()
}

/// Returns the names of the next term, and of the operands of its arithmetic.
fn operand<'a>(mut terms: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut names = Vec::new();
    while let Some(term) = terms.next() {
        // A method call does not change the name, and a path ends with its name.
        let front = term.split('.').next().unwrap_or_default();
        names.extend(names_in(front).last());
        if !terms.next().is_some_and(|sign| ARITHMETIC.contains(&sign)) {
            break;
        }
    }
    names
}

fn names_in(text: &str) -> impl Iterator<Item = &str> {
    let names = text.split(|c: char| c != '_' && !c.is_alphanumeric());
    names.filter(|name| !name.is_empty())
}

/// Returns the text up to the parenthesis that ends a call.
fn arguments(text: &str) -> &str {
    let mut depth = 1;
    let end = text.find(|c| {
        depth += match c {
            '(' => 1,
            ')' => -1,
            _ => 0,
        };
        depth == 0
    });
    &text[..end.unwrap_or(text.len())]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(files: &[(&str, &str)]) -> DeclaredConstants {
        let mut code = DeclaredConstants::default();
        for (file, source) in files {
            code.add(Path::new(file), source);
        }
        code
    }

    fn names<'a>(keys: impl Iterator<Item = &'a ConstantKey>) -> Vec<&'a str> {
        keys.map(|(_, name)| name.as_str()).collect()
    }

    #[test]
    fn times_are_known_by_name_or_type_and_tests_have_their_own() {
        let source = "const A_NS: u64 = 1;\n    pub(crate) const B: Duration = x;\npub const C: usize = 2;\nlet const_NS: u64;\nconst fn d_NS() {}\n#[cfg(test)]\nmod tests {\nconst E_NS: u64 = 1;\n";
        assert_eq!(names(code(&[("a.rs", source)]).times.iter()), ["A_NS", "B"]);
    }

    #[test]
    fn integers_decide_that_stand_beside_a_comparison() {
        for compares in [
            "if len < A {",
            "if A >= len {",
            "len as u64 > u64::from(A)",
            "len\n    <= Self::A;",
            "len <= limits::A / 2",
            "2 * A as usize > len",
            "len.min(most - A)",
            "A.max(len)",
            "(A / size).clamp(1, 2)",
        ] {
            let source = format!("const A: u32 = 1;\n{compares}\n");
            let code = code(&[("a.rs", &source)]);
            assert_eq!(names(code.deciding()), ["A"], "{compares}");
        }
    }

    #[test]
    fn integers_do_not_decide_that_are_asserted_or_count_something() {
        for other in [
            "assert!(len < A);",
            "debug_assert!(\n    len < A,\n);",
            "const _: () = {\n    f(len < A);\n};",
            "let a: [u8; A] = f::<A>();",
            "for a in 0..A {}",
            "word >> A",
            "// len < A",
            "page.word(A).load() < len",
            "if len < 1 { A }",
            "#[cfg(test)]\nmod tests {\nlen < A\n",
        ] {
            let source = format!("const A: u32 = 1;\n{other}\n");
            let code = code(&[("a.rs", &source)]);
            assert_eq!(names(code.deciding()), [""; 0], "{other}");
        }
    }

    #[test]
    fn what_decides_is_compared_where_it_is_seen() {
        let declares = "const A: u32 = 1;\npub const B: u32 = 1;\npub const C: u32 = 1;\n";
        let compares = "const C: u32 = 2;\nlen < A || len < B || len < C\n";
        let code = code(&[
            ("a.rs", declares),
            ("b.rs", compares),
            (LIMITS, "const D: u8 = 1;"),
        ]);
        assert_eq!(names(code.deciding()), ["B", "C", "D"]);
        let own = ("b.rs".to_owned(), "C".to_owned());
        assert!(code.deciding().any(|key| *key == own));
    }

    #[test]
    fn what_is_missing_or_plain_or_gone_is_told() {
        let rows = rows(
            "| `A_NS` | `a.rs` | law | x |\n| `B_NS` | `b.rs` | plain | y |\n| `C` | `c.rs` | bound | z |\n| `E` | `a.rs` | plain | v |\n",
        );
        let code = code(&[
            ("a.rs", "const A_NS: u64 = 1;\nconst E: u64 = 1;\na < E\n"),
            ("b.rs", "const B_NS: u64 = 1;\n"),
            ("d.rs", "const D: u64 = 1;\na < D\n"),
        ]);
        let told = format!("{:?}", judged(&rows.unwrap(), &code));
        for what in ["B_NS is a time, and plain", "D has no row", "no C any more"] {
            assert!(told.contains(what), "{told}");
        }
        assert!(!told.contains("A_NS") && !told.contains(" E "), "{told}");
        assert!(super::rows("| `A_NS` | `a.rs` | guess | x |\n").is_err());
        assert!(super::rows("| `A` | `a.rs` | plain | |\n").is_err());
    }

    #[test]
    fn what_is_not_shown_is_counted() {
        let rows = rows(
            "| `A_NS` | `a.rs` | law | x |\n| `B` | `a.rs` | plain | not shown: y |\n| `C` | `a.rs` | plain | z |\n| `D` | `a.rs` | limit | v |\n",
        );
        let code = code(&[(
            "a.rs",
            "const A_NS: u64 = 1;\nconst B: u8 = 1;\nconst C: u8 = 1;\nconst D: u8 = 1;\n",
        )]);
        let told = format!("{:?}", judged(&rows.unwrap(), &code));
        let figure =
            "1 times, 2 lengths and counts, of which 1 plain without a proof, and 1 limits";
        assert!(told.contains(figure), "{told}");
    }
}
