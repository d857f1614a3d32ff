//! The archive to unpack anywhere: one folder, which is an installation.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use tar::{Builder, EntryType, Header};

use super::package::{Effort, VERSION};
use super::tree::{self, EntryKind, TreeEntry};

/// Makes the archive of an installation in a folder, and returns its path.
///
/// # Errors
///
/// A file cannot be read or written.
pub fn write(prefix: &Path, folder: &Path, effort: Effort) -> Result<PathBuf> {
    let name = format!("bcs-mpi-{VERSION}-x86_64-linux");
    fs::create_dir_all(folder).with_context(|| format!("failed to make {}", folder.display()))?;
    let path = folder.join(format!("{name}.tar.gz"));
    let context = || format!("failed to write {}", path.display());
    let mut tar = TarWriter::new(Vec::new());
    tar.add_all(&tree::entries(prefix)?, &name)
        .with_context(context)?;
    let bytes = effort.gzip(&tar.finish().with_context(context)?)?;
    let mut file = File::create(&path).with_context(context)?;
    file.write_all(&bytes)
        .and_then(|()| file.sync_all())
        .with_context(context)?;
    Ok(path)
}

/// Writes an archive whose folders come before what is in them.
pub(super) struct TarWriter<W: Write> {
    tar: Builder<W>,
    /// The folders so far, each with a `/` at its end.
    folders: BTreeSet<String>,
}

impl<W: Write> TarWriter<W> {
    pub(super) fn new(output: W) -> Self {
        Self {
            tar: Builder::new(output),
            folders: BTreeSet::from(["./".to_owned()]),
        }
    }

    /// Adds all entries of an installation below a folder of the archive.
    pub(super) fn add_all(&mut self, entries: &[TreeEntry], below: &str) -> Result<()> {
        for entry in entries {
            let path = format!("{below}/{}", entry.path);
            match &entry.kind {
                EntryKind::File { at, .. } => {
                    self.add_file(&path, &fs::read(at)?, entry.kind.mode())?;
                }
                EntryKind::Link { target } => self.add_link(&path, target)?,
            }
        }
        Ok(())
    }

    pub(super) fn add_file(&mut self, path: &str, bytes: &[u8], mode: u32) -> Result<()> {
        self.add_folders_of(path)?;
        let mut header = header(EntryType::Regular, bytes.len() as u64, mode);
        self.tar.append_data(&mut header, path, bytes)?;
        Ok(())
    }

    pub(super) fn add_link(&mut self, path: &str, target: &str) -> Result<()> {
        self.add_folders_of(path)?;
        let mut header = header(EntryType::Symlink, 0, 0o777);
        self.tar.append_link(&mut header, path, target)?;
        Ok(())
    }

    fn add_folders_of(&mut self, path: &str) -> Result<()> {
        for (end, _) in path.match_indices('/') {
            let folder = &path[..=end];
            if self.folders.insert(folder.to_owned()) {
                let mut header = header(EntryType::Directory, 0, 0o755);
                self.tar
                    .append_data(&mut header, folder, std::io::empty())?;
            }
        }
        Ok(())
    }

    pub(super) fn finish(self) -> std::io::Result<W> {
        self.tar.into_inner()
    }
}

/// Makes a header whose owner is root, and whose time is the beginning of 1980, as in a wheel.
fn header(kind: EntryType, size: u64, mode: u32) -> Header {
    const TIME: u64 = 315_532_800;
    let mut header = Header::new_gnu();
    header.set_entry_type(kind);
    header.set_size(size);
    header.set_mode(mode);
    header.set_mtime(TIME);
    header.set_uid(0);
    header.set_gid(0);
    header
}
