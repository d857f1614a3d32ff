//! A checkout next to this one, like a clone. It shares `target` and has the same file times, so
//! that products of this checkout need no new build.

use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};

use crate::process;
use crate::workspace::Workspace;

const LIMIT: Duration = Duration::from_secs(60);

/// Copies all files that Git tracks, in their present state, into a folder of the repository's name
/// in `beside`.
pub(super) fn of(workspace: &Workspace, beside: &Path) -> Result<PathBuf> {
    let clone = beside.join("bcs-mpi");
    let mut git = Command::new("git");
    git.args(["ls-files", "-z"]).current_dir(workspace.root());
    let listed = process::run(&mut git, LIMIT)?.succeeded()?.stdout;
    for file in listed.split_terminator('\0') {
        let (from, to) = (workspace.root().join(file), clone.join(file));
        copy(&from, &to).with_context(|| format!("failed to copy {file} to {}", to.display()))?;
    }
    fs::create_dir_all(workspace.target())
        .and_then(|()| symlink(workspace.target(), clone.join("target")))
        .with_context(|| format!("failed to link target into {}", clone.display()))?;
    Ok(clone)
}

/// Copies a file with its time, from which Cargo sees whether it has changed. A tracked file that
/// was deleted is skipped.
fn copy(from: &Path, to: &Path) -> std::io::Result<()> {
    let Ok(found) = fs::symlink_metadata(from) else {
        return Ok(());
    };
    to.parent().map_or(Ok(()), fs::create_dir_all)?;
    if found.is_symlink() {
        return symlink(fs::read_link(from)?, to);
    }
    fs::copy(from, to)?;
    File::options()
        .append(true)
        .open(to)?
        .set_modified(found.modified()?)
}
