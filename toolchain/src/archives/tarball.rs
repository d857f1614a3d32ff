//! The archive to unpack anywhere: one folder, which is an installation.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use flate2::Compression;
use flate2::write::GzEncoder;
use tar::{Builder, EntryType, Header};

use super::VERSION;
use super::tree::{self, EntryKind, TreeEntry};

/// Makes the archive of an installation in a folder, and returns its path.
///
/// # Errors
///
/// A file cannot be read or written.
pub fn write(prefix: &Path, folder: &Path) -> Result<PathBuf> {
    let name = format!("bcs-mpi-{VERSION}-x86_64-linux");
    fs::create_dir_all(folder).with_context(|| format!("failed to make {}", folder.display()))?;
    let path = folder.join(format!("{name}.tar.gz"));
    let context = || format!("failed to write {}", path.display());
    let file = File::create(&path).with_context(context)?;
    let mut tar = Builder::new(GzEncoder::new(file, Compression::best()));
    add_all(&mut tar, &tree::entries(prefix)?, &name).with_context(context)?;
    tar.into_inner()
        .and_then(GzEncoder::finish)
        .and_then(|file| file.sync_all())
        .with_context(context)?;
    Ok(path)
}

/// Adds all entries below a folder of the archive. Folders come before what is in them.
pub(super) fn add_all(
    tar: &mut Builder<impl Write>,
    entries: &[TreeEntry],
    below: &str,
) -> Result<()> {
    let mut made = std::collections::BTreeSet::new();
    for entry in entries {
        let path = format!("{below}/{}", entry.path);
        for (end, _) in path.match_indices('/') {
            let folder = &path[..=end];
            if folder != "./" && made.insert(folder.to_owned()) {
                add_folder(tar, folder)?;
            }
        }
        match &entry.kind {
            EntryKind::File { at, .. } => {
                add_file(tar, &path, &fs::read(at)?, entry.kind.mode())?;
            }
            EntryKind::Link { target } => add_link(tar, &path, target)?,
        }
    }
    Ok(())
}

fn add_folder(tar: &mut Builder<impl Write>, path: &str) -> Result<()> {
    let mut header = header(EntryType::Directory, 0, 0o755);
    tar.append_data(&mut header, path, std::io::empty())?;
    Ok(())
}

pub(super) fn add_file(
    tar: &mut Builder<impl Write>,
    path: &str,
    bytes: &[u8],
    mode: u32,
) -> Result<()> {
    let mut header = header(EntryType::Regular, bytes.len() as u64, mode);
    tar.append_data(&mut header, path, bytes)?;
    Ok(())
}

pub(super) fn add_link(tar: &mut Builder<impl Write>, path: &str, target: &str) -> Result<()> {
    let mut header = header(EntryType::Symlink, 0, 0o777);
    tar.append_link(&mut header, path, target)?;
    Ok(())
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
