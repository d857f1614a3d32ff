//! The files of an installation.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// A file or a symbolic link of an installation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TreeEntry {
    /// The path below the prefix, with `/` between its parts.
    pub(super) path: String,
    pub(super) kind: EntryKind,
}

/// The kind of an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum EntryKind {
    /// A file, where it lies, and whether it may be executed.
    File { at: PathBuf, executable: bool },
    /// A symbolic link to another name in the same folder.
    Link { target: String },
}

impl EntryKind {
    /// Returns the permissions of a file in an archive.
    pub(super) fn mode(&self) -> u32 {
        match self {
            Self::File { executable, .. } if !executable => 0o644,
            _ => 0o755,
        }
    }
}

/// Lists an installation, sorted by path.
pub(super) fn entries(prefix: &Path) -> Result<Vec<TreeEntry>> {
    let mut found = Vec::new();
    collect(prefix, "", &mut found)
        .with_context(|| format!("failed to list {}", prefix.display()))?;
    found.sort_by(|a: &TreeEntry, b| a.path.cmp(&b.path));
    Ok(found)
}

fn collect(folder: &Path, below: &str, found: &mut Vec<TreeEntry>) -> Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        let name = name
            .to_str()
            .with_context(|| format!("the name {name:?} is no text"))?;
        let path = format!("{below}{name}");
        let kind = entry.file_type()?;
        if kind.is_dir() {
            collect(&entry.path(), &format!("{path}/"), found)?;
            continue;
        }
        let kind = if kind.is_symlink() {
            let target = fs::read_link(entry.path())?;
            let target = target.to_str().context("a link leads to what is no text")?;
            EntryKind::Link {
                target: target.to_owned(),
            }
        } else {
            EntryKind::File {
                at: entry.path(),
                executable: entry.metadata()?.permissions().mode() & 0o100 != 0,
            }
        };
        found.push(TreeEntry { path, kind });
    }
    Ok(())
}
