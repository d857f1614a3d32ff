//! Names in the documents exist: files and folders, checks, tests and examples, and commands with
//! their options. The document for newcomers stays short enough for half an hour.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use pulldown_cmark::{Event, Parser, Tag, TagEnd};

use crate::process;
use crate::verdict::CheckOutcome;
use crate::workspace::Workspace;

use super::Check;

pub(super) const CHECK: Check = Check {
    name: "documents",
    about: "what documents name exists, and ARCHITECTURE.md is read in half an hour",
    about_time: false,
    quick: true,
    run,
};

/// Documents outside of `docs`.
const DOCUMENTS: [&str; 4] = [
    "README.md",
    ARCHITECTURE,
    "CONTRIBUTING.md",
    "SPECIFICATION.md",
];

/// The document that a newcomer reads in half an hour.
const ARCHITECTURE: &str = "ARCHITECTURE.md";

/// The most lines of this document.
const MOST_LINES: usize = 350;

/// The most characters in a line: it then fits next to the code.
const MOST_CHARACTERS: usize = 100;

/// Endings of the names of files in this repository.
const KINDS: [&str; 6] = [".rs", ".md", ".toml", ".c", ".py", ".sh"];

/// A file that users write.
const CONFIGURATION: &str = "bcs.toml";

/// Programs that come with `bcs` and have their own options in documents.
const PROGRAMS: [&str; 2] = ["sage", "sweep3d"];

/// An option of `bcs run` that its help does not show.
const HIDDEN: &str = "--all-phases";

const LIMIT: Duration = Duration::from_secs(30);

fn run(workspace: &Workspace) -> Result<CheckOutcome> {
    let repository = Repository::of(workspace)?;
    let documents = repository.files.iter().filter(|file| {
        let of_docs = file.starts_with("docs/") && file.ends_with(".md");
        of_docs || DOCUMENTS.contains(&file.as_str())
    });
    let (mut named, mut missing) = (0, Vec::new());
    for document in documents {
        let text = fs::read_to_string(workspace.root().join(document));
        let text = text.with_context(|| format!("failed to read {document}"))?;
        if document == ARCHITECTURE {
            missing.extend(too_long(&text).map(|what| format!("{document}: {what}")));
        }
        for code in codes(&text) {
            named += 1;
            if let Some(what) = repository.lacks(&code.text) {
                missing.push(format!("{document}:{}: `{}`: {what}", code.line, code.text));
            }
        }
    }
    ensure!(named > 0, "the documents name nothing");
    let figure = match missing.as_slice() {
        [] => format!("{named} names"),
        missing => missing.join("\n          "),
    };
    let bar = "all exist, ARCHITECTURE.md is short";
    Ok(CheckOutcome::exact(missing.is_empty(), figure, bar))
}

/// Returns the excess of the document over the limits: its length, or lines.
fn too_long(document: &str) -> impl Iterator<Item = String> {
    let lines = document.lines().count();
    let whole = (lines > MOST_LINES).then(|| format!("{lines} lines are more than {MOST_LINES}"));
    let numbered = (1..).zip(document.lines());
    let long = numbered.filter_map(|(number, line): (usize, &str)| {
        let characters = line.chars().count();
        let what =
            || format!("line {number} has {characters} characters, more than {MOST_CHARACTERS}");
        (characters > MOST_CHARACTERS).then(what)
    });
    whole.into_iter().chain(long)
}

/// A piece of code in a document (a span, or a line of a block), or a linked file.
#[derive(Debug, PartialEq, Eq)]
struct CodeSpan {
    line: usize,
    text: String,
}

fn codes(document: &str) -> Vec<CodeSpan> {
    let mut codes = Vec::new();
    let mut in_block = false;
    for (event, place) in
        Parser::new_ext(document, pulldown_cmark::Options::ENABLE_TABLES).into_offset_iter()
    {
        let line = 1 + document[..place.start].matches('\n').count();
        match event {
            Event::Start(Tag::CodeBlock(_)) => in_block = true,
            Event::Start(Tag::Link { dest_url, .. }) => codes.push(CodeSpan {
                line,
                text: linked(&dest_url).to_owned(),
            }),
            Event::End(TagEnd::CodeBlock) => in_block = false,
            Event::Code(text) => codes.push(CodeSpan {
                line,
                text: text.to_string(),
            }),
            // Lines of a picture are not commands.
            Event::Text(text) if in_block => {
                let lines = text.lines().enumerate();
                let commands = lines
                    .filter(|(_, text)| text.starts_with("cargo ") || text.starts_with("bcs "));
                codes.extend(commands.map(|(nth, text)| {
                    CodeSpan {
                        line: line + nth,
                        text: text
                            .split(" #")
                            .next()
                            .unwrap_or_default()
                            .trim()
                            .to_owned(),
                    }
                }));
            }
            _ => {}
        }
    }
    codes
}

/// Returns the file of a link, as its path from the root; empty for a link within the document.
fn linked(link: &str) -> &str {
    let file = link.split('#').next().unwrap_or_default();
    file.trim_start_matches("../")
}

/// The things that documents may name.
struct Repository {
    /// Tracked files, as paths from the root.
    files: BTreeSet<String>,
    /// All Rust lines that begin a function or a module, by file.
    items: Vec<(String, String)>,
    /// Names of checks.
    checks: Vec<String>,
    /// The help of `bcs` and `cargo xtask`, with all their subcommands.
    help: String,
}

impl Repository {
    fn of(workspace: &Workspace) -> Result<Self> {
        let mut git = Command::new("git");
        git.args(["ls-files"]).current_dir(workspace.root());
        let listed = process::run(&mut git, LIMIT)?.succeeded()?.stdout;
        let files: BTreeSet<String> = listed.lines().map(str::to_owned).collect();
        let mut items = Vec::new();
        for file in files.iter().filter(|file| file.ends_with(".rs")) {
            items.extend(items_of(workspace.root(), file)?);
        }
        Ok(Self {
            items,
            files,
            checks: checks()?,
            help: help(workspace)?,
        })
    }

    /// Returns why a name does not exist, if it names something that should exist.
    fn lacks(&self, text: &str) -> Option<String> {
        let words: Vec<&str> = text.split_whitespace().collect();
        match words.as_slice() {
            ["cargo", "xtask", "check", names @ ..] => {
                let unknown = |name: &&&str| {
                    !is_option(name)
                        && !["NAME", "..."].contains(*name)
                        && !self.checks.iter().any(|check| check == **name)
                };
                let unknown = names.iter().find(unknown)?;
                Some(format!("there is no check {unknown}"))
            }
            ["cargo", "test", words @ ..] => self.lacks_test(words),
            ["cargo", words @ ..] => self.lacks_of_package(words),
            ["bcs", words @ ..] => words.iter().find_map(|word| self.lacks_option(word)),
            [word] if word.starts_with("--") => self.lacks_option(word),
            [word] => self.lacks_path(word),
            _ => None,
        }
    }

    /// Skips the options of another program on the command line: `--` ends ours.
    fn lacks_option(&self, word: &str) -> Option<String> {
        let name = word.split('=').next().unwrap_or_default();
        let is_name = |name: &str| {
            name.bytes()
                .all(|byte| byte.is_ascii_lowercase() || byte == b'-')
        };
        let known = [HIDDEN, "--workspace", "--test", "--release"];
        if !name.starts_with("--") || name.len() < 4 || !is_name(name) || known.contains(&name) {
            return None;
        }
        let mut said = self
            .help
            .split(|byte: char| !byte.is_ascii_lowercase() && byte != '-');
        (!said.any(|said| said == name)).then(|| "there is no such option".to_owned())
    }

    fn lacks_of_package(&self, words: &[&str]) -> Option<String> {
        let words = words.split(|word| *word == "--").next()?;
        let package = after(words, "-p");
        if let Some(package) =
            package.filter(|package| !self.has_file(&format!("{package}/Cargo.toml")))
        {
            return Some(format!("there is no package {package}"));
        }
        let example = after(words, "--example").zip(package)?;
        let (example, package) = example;
        let paths = [
            format!("{package}/examples/{example}.rs"),
            format!("{package}/examples/{example}/main.rs"),
        ];
        let found = paths.iter().any(|path| self.has_file(path));
        (!found).then(|| format!("{package} has no example {example}"))
    }

    fn lacks_test(&self, words: &[&str]) -> Option<String> {
        if let Some(lack) = self.lacks_of_package(words) {
            return Some(lack);
        }
        let package = after(words, "-p")?;
        let file = after(words, "--test");
        let within = match file {
            None => vec![format!("{package}/src/"), format!("{package}/tests/")],
            Some(test) => vec![
                format!("{package}/tests/{test}.rs"),
                format!("{package}/tests/{test}/"),
            ],
        };
        let is_within = |file: &str| within.iter().any(|place| file.starts_with(place));
        if !self.files.iter().any(|file| is_within(file)) {
            return Some(format!("{package} has no such test"));
        }
        // The rest are filters: parts of the paths of tests.
        let mut words = words.iter().copied();
        let mut filters = Vec::new();
        while let Some(word) = words.next() {
            match word {
                "-p" | "--test" => drop(words.next()),
                "--" => break,
                word if is_option(word) => {}
                word => filters.push(word),
            }
        }
        let found = |filter: &&str| {
            let mut items = self.items.iter().filter(|(file, _)| is_within(file));
            items.any(|(file, name)| name.contains(*filter) || file.contains(*filter))
        };
        let unknown = filters.iter().find(|filter| !found(filter))?;
        Some(format!("no test of {package} has {unknown} in its name"))
    }

    fn lacks_path(&self, word: &str) -> Option<String> {
        let of_a_path = |byte: u8| byte.is_ascii_alphanumeric() || b"_-./".contains(&byte);
        let absolute = word.starts_with(['/', '.', '~']) || word.starts_with("target/");
        if absolute || word == CONFIGURATION || !word.bytes().all(of_a_path) {
            return None;
        }
        let is_file = KINDS
            .iter()
            .any(|kind| word.ends_with(kind) && word.len() > kind.len());
        let first = word.split('/').next()?;
        let in_a_folder = word.contains('/') && self.has_folder(first);
        if !is_file && !in_a_folder {
            return None;
        }
        let exists = self.has_file(word) || self.has_folder(word.trim_end_matches('/'));
        (!exists).then(|| "there is no such file or folder".to_owned())
    }

    /// Returns whether there is a file with this path, or with a path that ends with it.
    fn has_file(&self, path: &str) -> bool {
        let behind = format!("/{path}");
        self.files.contains(path) || self.files.iter().any(|file| file.ends_with(&behind))
    }

    fn has_folder(&self, path: &str) -> bool {
        let (first, later) = (format!("{path}/"), format!("/{path}/"));
        let mut files = self.files.iter();
        files.any(|file| file.starts_with(&first) || file.contains(&later))
    }
}

fn is_option(word: &str) -> bool {
    word.starts_with('-')
}

fn after<'a>(words: &[&'a str], option: &str) -> Option<&'a str> {
    let at = words.iter().position(|word| *word == option)?;
    words.get(at + 1).copied()
}

/// Returns the functions and modules of a file by name.
fn items_of(root: &Path, file: &str) -> Result<Vec<(String, String)>> {
    let text =
        fs::read_to_string(root.join(file)).with_context(|| format!("failed to read {file}"))?;
    let name = |line: &str| {
        let line = line.trim_start();
        let rest = line
            .split_once("fn ")
            .or_else(|| line.split_once("mod "))?
            .1;
        let name: String = rest
            .chars()
            .take_while(|char| char.is_alphanumeric() || *char == '_')
            .collect();
        (!name.is_empty()).then_some((file.to_owned(), name))
    };
    Ok(text.lines().filter_map(name).collect())
}

/// Returns the names of all checks.
fn checks() -> Result<Vec<String>> {
    let mut list = Command::new(this_program()?);
    list.args(["check", "--list"]);
    let listed = process::run(&mut list, LIMIT)?.succeeded()?.stdout;
    let names = listed.lines().filter_map(|line| line.split(' ').next());
    Ok(names.map(str::to_owned).collect())
}

fn this_program() -> Result<PathBuf> {
    std::env::current_exe().context("failed to find this program")
}

/// Returns the long help of `bcs` and of `cargo xtask`, with all their subcommands.
fn help(workspace: &Workspace) -> Result<String> {
    let chores = this_program()?;
    let mut all = help_of(|| workspace.bcs([]))?;
    for program in PROGRAMS {
        all += &help_of(|| workspace.bcs(["app", program]))?;
    }
    Ok(all + &help_of(|| Ok(Command::new(&chores)))?)
}

fn help_of(start: impl Fn() -> Result<Command>) -> Result<String> {
    let mut all = String::new();
    // Subcommands have subcommands.
    let mut commands: Vec<Vec<String>> = vec![Vec::new()];
    while let Some(words) = commands.pop() {
        let mut command = start()?;
        command.args(&words).arg("--help");
        let mut said = process::run(&mut command, LIMIT)?.succeeded()?.stdout;
        if said.contains("--help-all") {
            let mut command = start()?;
            command.args(&words).arg("--help-all");
            said += &process::run(&mut command, LIMIT)?.succeeded()?.stdout;
        }
        for name in subcommands(&said) {
            commands.push([words.clone(), vec![name.to_owned()]].concat());
        }
        all += &said;
    }
    Ok(all)
}

/// Returns the subcommands in a help text. The description of a command follows it, with more
/// indentation or after its name.
fn subcommands(help: &str) -> impl Iterator<Item = &str> {
    let lines = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let lines = lines.take_while(|line| line.is_empty() || line.starts_with(' '));
    let commands = lines.filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    let names = commands.filter_map(|line| line.split_whitespace().next());
    names.filter(|name| *name != "help")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subcommands_are_those_that_a_help_text_lists() {
        let help = "About\n\nCommands:\n  report  Print\n  hist\n          Draw\n\n  help    Print this\n\nOptions:\n  -h\n";
        assert_eq!(subcommands(help).collect::<Vec<_>>(), ["report", "hist"]);
        assert_eq!(subcommands("Options:\n  -h\n").count(), 0);
    }

    fn repository() -> Repository {
        let files = [
            "bcs-core/src/ring.rs",
            "apps/Cargo.toml",
            "apps/examples/hello.rs",
            "apps/tests/deck.rs",
        ];
        Repository {
            files: files.map(str::to_owned).into(),
            items: vec![("apps/tests/deck.rs".into(), "a_deck_is_read".into())],
            checks: vec!["pieces".to_owned()],
            help: "Options:\n  -n, --ranks <N>\n      --strobe=fixed".into(),
        }
    }

    #[test]
    fn what_exists_may_be_named() {
        let repository = repository();
        for text in [
            "bcs-core/src/ring.rs",
            "src/ring.rs",
            "ring.rs",
            "bcs-core/src",
            "apps/",
            "bcs.toml",
            "a/b",
            "x.y",
            "cargo xtask check pieces",
            "cargo xtask check --quick",
            "cargo xtask check NAME",
            "cargo test -p apps",
            "cargo test -p apps --test deck deck_is",
            "cargo test --workspace",
            "cargo run --release -p apps --example hello -- --nothing",
            "bcs run --ranks 2 hello",
            "--strobe",
            "BCS_X=1",
            "MPI_Send",
            "/dev/shm",
            "<name>.rs",
        ] {
            assert_eq!(repository.lacks(text), None, "{text}");
        }
    }

    #[test]
    fn what_does_not_exist_is_told() {
        let repository = repository();
        for text in [
            "bcs-core/src/rings.rs",
            "ing.rs",
            "bcs-core/srcs",
            "cargo xtask check piece",
            "cargo test -p app",
            "cargo test -p apps --test decks",
            "cargo test -p apps --test deck nothing",
            "cargo run -p apps --example hallo",
            "bcs run --rank 2",
            "--strob",
        ] {
            assert!(repository.lacks(text).is_some(), "{text}");
        }
    }

    #[test]
    fn what_is_long_is_told() {
        let lines = |count: usize, characters: usize| {
            let line = "ü".repeat(characters) + "\n";
            too_long(&line.repeat(count)).collect::<Vec<_>>()
        };
        assert!(lines(MOST_LINES, MOST_CHARACTERS).is_empty());
        assert_eq!(lines(MOST_LINES + 1, 1), ["351 lines are more than 350"]);
        let told = ["line 1 has 101 characters, more than 100"];
        assert_eq!(lines(1, MOST_CHARACTERS + 1), told);
    }

    #[test]
    fn links_name_files() {
        let links = ["docs/a.md#part", "../B.md", "#part", "https://x.y/z"].map(linked);
        assert_eq!(links, ["docs/a.md", "B.md", "", "https://x.y/z"]);
        assert_eq!(repository().lacks("https://x.y/z.md"), None);
        let found = codes("Text, and\na [link](src/ring.rs#there).\n");
        let text = "src/ring.rs".to_owned();
        assert_eq!(found, [CodeSpan { line: 2, text }]);
    }

    #[test]
    fn code_has_lines() {
        let document = "# One\n\nThe `two` and\n`three`.\n\n```sh\ncargo test  # all\n  picture\nbcs run\n```\n";
        let codes = codes(document);
        let found: Vec<(usize, &str)> = codes
            .iter()
            .map(|code| (code.line, code.text.as_str()))
            .collect();
        assert_eq!(
            found,
            [(3, "two"), (4, "three"), (7, "cargo test"), (9, "bcs run")]
        );
    }
}
