//! The files under `share`: manual pages, and completions for shells.
//!
//! The installed `bcs` command prints them itself, so that they match this command.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::fortran;
use crate::installed_files::{LAUNCHERS, make_folder, write};
use crate::wrappers::{WRAPPERS, Wrapper};

/// The manual page of the compiler wrappers of C, installed under the name of the first one.
const WRAPPER_PAGE: &str = include_str!("man/mpicc.1");

/// That of Fortran's.
const FORTRAN_PAGE: &str = include_str!("man/mpifort.1");

/// The folder of the pages.
const PAGES: &str = "share/man/man1";

/// A shell, its completion folder, and the prefix and suffix of a file name there.
const SHELLS: [(&str, &str, &str, &str); 3] = [
    ("bash", "share/bash-completion/completions", "", ""),
    ("zsh", "share/zsh/site-functions", "_", ""),
    ("fish", "share/fish/vendor_completions.d", "", ".fish"),
];

/// Writes all files. The command must be installed already.
///
/// # Errors
///
/// A file cannot be written, or the command does not print its content.
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
    let names: Vec<&str> = WRAPPERS.iter().flat_map(Wrapper::names).collect();
    let [first, others @ ..] = names.as_slice() else {
        return Ok(());
    };
    page(&folder, WRAPPER_PAGE, first, others)?;
    page(
        &folder,
        FORTRAN_PAGE,
        fortran::WRAPPER,
        &fortran::WRAPPER_LINKS,
    )
}

/// Writes a page under its name, and what `man` follows to it under others.
fn page(folder: &Path, text: &str, name: &str, others: &[&str]) -> Result<()> {
    let at = |name: &str| folder.join(format!("{name}.1"));
    write(
        &at(name),
        &text.replace("@VERSION@", env!("CARGO_PKG_VERSION")),
    )?;
    let link = format!(".so man1/{name}.1\n");
    others.iter().try_for_each(|other| write(&at(other), &link))
}

/// Returns the output of the installed command.
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
