//! A checkout beside this one, as it would be cloned. What was built here need not be built again there: it has the same
//! `target`, and the files are as old.

use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};

use crate::process;
use crate::workspace::Workspace;

const LIMIT: Duration = Duration::from_secs(60);

/// Copies all files that Git tracks, as they are now, into a folder of the repository's name in `beside`.
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

/// Copies a file with its time, by which Cargo sees whether it has changed. One that was deleted and is tracked still is
/// none.
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
