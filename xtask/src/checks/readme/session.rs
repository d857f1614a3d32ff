//! A shell that runs commands one after the other, so that exports reach the next command.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use crate::process;
use crate::workspace::BUILD_LIMIT;

/// Begins a line before the output of a command, followed by the line number of the command.
const MARK: char = '\u{1e}';

/// The script of the session.
#[derive(Debug)]
pub(super) struct Session {
    script: String,
}

/// The session ends at the first command that fails.
impl Default for Session {
    fn default() -> Self {
        let script = "set -e -o pipefail\n".to_owned();
        Self { script }
    }
}

impl Session {
    /// Adds a command, with its line in the document.
    pub(super) fn types(&mut self, line: usize, command: &str) {
        self.script += &format!("printf '\\n{MARK}%d\\n' {line}\n{command}\n");
    }

    /// Writes a file, in the shell's folder at that time.
    pub(super) fn writes(&mut self, path: &str, text: &str) {
        self.script += &format!(
            "mkdir -p \"$(dirname '{path}')\"\ncat > '{path}' <<'{MARK}'\n{}\n{MARK}\n",
            text.trim_end()
        );
    }

    /// Runs the session in a folder.
    pub(super) fn run(&self, folder: &Path) -> Result<SessionOutput> {
        let mut shell = Command::new("bash");
        shell.args(["-c", &self.script]).current_dir(folder);
        // Removes the variables with which Cargo describes this package.
        let told = std::env::vars_os().map(|(name, _)| name);
        let told = told.filter(|name| {
            let name = name.to_string_lossy();
            name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_")
        });
        for name in told.chain(["CARGO_TARGET_DIR".into()]) {
            shell.env_remove(name);
        }
        let finished = process::run(&mut shell, BUILD_LIMIT).context("failed to run a shell")?;
        let said = parted(&finished.stdout);
        let last = said.keys().next_back().copied();
        let failure = match finished.succeeded() {
            Ok(_) => None,
            Err(error) => {
                let text = format!("{error:#}");
                // The message contains the whole session as the command, which is left out.
                let why = text.split_once("` ").map_or(text.as_str(), |(_, why)| why);
                Some(format!("line {}: {why}", last.unwrap_or_default()))
            }
        };
        Ok(SessionOutput { said, failure })
    }
}

/// The outputs of the commands, by their lines.
#[derive(Debug)]
pub(super) struct SessionOutput {
    said: BTreeMap<usize, String>,
    failure: Option<String>,
}

impl SessionOutput {
    /// Returns the output of the command at this line, if it was run.
    pub(super) fn by(&self, line: usize) -> Option<&str> {
        self.said.get(&line).map(String::as_str)
    }

    /// Returns the command that failed, and the reason.
    pub(super) fn failure(&self) -> Option<String> {
        self.failure.clone()
    }
}

fn parted(stdout: &str) -> BTreeMap<usize, String> {
    let parts = stdout.split(MARK).skip(1);
    let part = |part: &str| {
        let (line, said) = part.split_once('\n')?;
        Some((line.parse().ok()?, said.to_owned()))
    };
    parts.filter_map(part).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(types: &[&str]) -> SessionOutput {
        let folder = tempfile::tempdir().unwrap();
        let mut session = Session::default();
        session.writes("in/a/folder", "written\n");
        for (line, command) in (1..).zip(types) {
            session.types(line, command);
        }
        session.run(folder.path()).unwrap()
    }

    #[test]
    fn one_command_has_what_the_one_before_it_made() {
        let said = run(&["export WORD=said", "cat in/a/folder", "echo $WORD"]);
        assert_eq!(said.failure(), None);
        assert_eq!(said.by(2).map(str::trim), Some("written"));
        assert_eq!(said.by(3).map(str::trim), Some("said"));
        assert_eq!(said.by(4), None);
    }

    #[test]
    fn who_fails_is_named_and_is_the_last() {
        let said = run(&["echo one", "echo why >&2; false | cat", "echo three"]);
        let failure = said.failure().unwrap();
        assert!(failure.starts_with("line 2: "), "{failure}");
        assert!(failure.contains("why"), "{failure}");
        assert_eq!(said.by(3), None);
    }
}
