//! How the files, links and folders of an installation are made, and the names of its launchers.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use anyhow::{Context, Result};

/// The names under which the `bcs` command is a launcher.
pub const LAUNCHERS: [&str; 3] = ["bcsrun", "mpiexec", "mpirun"];

/// Makes a folder and those above it.
pub(crate) fn make_folder(folder: &Path) -> Result<()> {
    fs::create_dir_all(folder).with_context(|| format!("failed to make {}", folder.display()))
}

/// Writes a file, and creates its folder if necessary.
pub(crate) fn write(path: &Path, text: &str) -> Result<()> {
    if let Some(folder) = path.parent() {
        make_folder(folder)?;
    }
    fs::write(path, text).with_context(|| format!("failed to write {}", path.display()))
}

/// Copies a file. It replaces an existing file instead of writing to it, because that may be
/// running.
pub(crate) fn copy(from: &Path, to: &Path) -> Result<()> {
    replace(to, || fs::copy(from, to).map(drop).map_err(Into::into))
}

/// Makes a symbolic link, also in place of an existing file.
pub(crate) fn link(to: &str, at: &Path) -> Result<()> {
    replace(at, || symlink(to, at).map_err(Into::into))
}

fn replace(path: &Path, make: impl FnOnce() -> Result<()>) -> Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error.into()),
        _ => make(),
    }
    .with_context(|| format!("failed to make {}", path.display()))
}
