//! What lies under `share`: manual pages, and what shells know of command lines.
//!
//! The `bcs` command writes its own, so that both are those of the command that is installed.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::wrappers::WRAPPERS;
use crate::{LAUNCHERS, make_folder, write};

/// The manual page of all compiler wrappers, which is that of the first.
const WRAPPER_PAGE: &str = include_str!("man/mpicc.1");

/// Where pages are.
const PAGES: &str = "share/man/man1";

/// A shell, the folder that it looks in, and what stands before and after the name of a command there.
const SHELLS: [(&str, &str, &str, &str); 3] = [
    ("bash", "share/bash-completion/completions", "", ""),
    ("zsh", "share/zsh/site-functions", "_", ""),
    ("fish", "share/fish/vendor_completions.d", "", ".fish"),
];

/// Writes all of it. The command is installed already.
///
/// # Errors
///
/// A file cannot be written, or the command does not say what is to be in it.
pub fn write_all(prefix: &Path) -> Result<()> {
    pages(prefix)?;
    for (shell, folder, before, after) in SHELLS {
        let folder = prefix.join(folder);
        make_folder(&folder)?;
        for name in ["bcs"].into_iter().chain(LAUNCHERS) {
            let script = command_output(prefix, &["completions", shell, name])?;
            write(&folder.join(format!("{before}{name}{after}")), &script)?;
        }
    }
    Ok(())
}

fn pages(prefix: &Path) -> Result<()> {
    let folder = prefix.join(PAGES);
    make_folder(&folder)?;
    let place = folder.to_str().context("the prefix is no text")?;
    command_output(prefix, &["man", place])?;
    let [first, others @ ..] = &WRAPPERS;
    let page = |name: &str| folder.join(format!("{name}.1"));
    let text = WRAPPER_PAGE.replace("@VERSION@", env!("CARGO_PKG_VERSION"));
    write(&page(first.name), &text)?;
    for other in others {
        write(&page(other.name), &format!(".so man1/{}.1\n", first.name))?;
    }
    Ok(())
}

/// What the installed command says.
fn command_output(prefix: &Path, words: &[&str]) -> Result<String> {
    let mut command = Command::new(prefix.join("bin/bcs"));
    let output = command.args(words).output();
    let output = output.with_context(|| format!("failed to run {command:?}"))?;
    ensure!(
        output.status.success(),
        "{command:?} failed: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).context("the command said what is no text")
}
