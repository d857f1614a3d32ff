//! The wheel `bcs-mpi`: the files of an installation, for an environment of Python.
//!
//! `pip` unpacks the folder `scripts` of a wheel into the environment's `bin`, and `data` into the
//! environment itself (the binary distribution format of PyPI). So an environment with this wheel
//! is an installation: `bin/mpicc` finds `include` and `lib` beside it, and the library lies where
//! packages for Python look for one.
//!
//! A wheel has no symbolic links. A launcher's name is a script that calls `bcs` by this name,
//! another name of a compiler is a copy, and the name of a library for the linker is a linker
//! script.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest as _, Sha256};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use super::needs::{self, GlibcVersion};
use super::package::{Effort, SUMMARY, VERSION};
use super::tree::{self, EntryKind, TreeEntry};

/// The name of the package in names of files.
const NAME: &str = "bcs_mpi";

/// The folder of the library of MPICH's ABI in an installation.
const MPICH: &str = "lib/mpich/";

/// The command that is a launcher under other names.
const COMMAND: &str = "bcs";

/// The description on the page of the package.
const DESCRIPTION: &str = include_str!("wheel.md");

/// The licences, which a wheel carries.
const LICENSES: [(&str, &str); 2] = [
    ("LICENSE-APACHE", include_str!("../../../LICENSE-APACHE")),
    ("LICENSE-MIT", include_str!("../../../LICENSE-MIT")),
];

/// Makes the wheel of an installation in a folder, and returns its path.
///
/// # Errors
///
/// A file cannot be read or written, or an installed file needs a library that not every machine
/// has.
pub fn write(prefix: &Path, folder: &Path, effort: Effort) -> Result<PathBuf> {
    let entries = tree::entries(prefix)?;
    let tag = platform_tag(needs::oldest_glibc(&entries)?);
    fs::create_dir_all(folder).with_context(|| format!("failed to make {}", folder.display()))?;
    let path = folder.join(format!("{NAME}-{VERSION}-{tag}.whl"));
    let context = || format!("failed to write {}", path.display());
    let file = File::create(&path).with_context(context)?;
    let mut wheel = WheelWriter {
        zip: ZipWriter::new(file),
        record: String::new(),
        effort,
    };
    for entry in entries.iter().filter_map(in_environment) {
        wheel.add_entry(prefix, &entry).with_context(context)?;
    }
    wheel.finish(&tag).with_context(context)?;
    Ok(path)
}

/// Returns an entry as an environment of Python has it. Packages look in its `lib` for the library
/// of MPICH's ABI, by that name and by no other.
fn in_environment(entry: &TreeEntry) -> Option<TreeEntry> {
    let mut entry = entry.clone();
    let Some(name) = entry.path.strip_prefix(MPICH) else {
        return Some(entry);
    };
    entry.path = format!("lib/{name}");
    matches!(entry.kind, EntryKind::File { .. }).then_some(entry)
}

/// Returns the tag of wheels for any Python 3 on machines with this C library (PEP 600).
fn platform_tag(GlibcVersion { major, minor }: GlibcVersion) -> String {
    format!("py3-none-manylinux_{major}_{minor}_x86_64")
}

/// Writes the files of a wheel, and records their digests.
struct WheelWriter {
    zip: ZipWriter<File>,
    /// The list of files so far, in the form of `RECORD`.
    record: String,
    effort: Effort,
}

impl WheelWriter {
    fn add_entry(&mut self, prefix: &Path, entry: &TreeEntry) -> Result<()> {
        let (bytes, mode) = match &entry.kind {
            EntryKind::File { at, .. } => (fs::read(at)?, entry.kind.mode()),
            EntryKind::Link { target } => stand_in(prefix, &entry.path, target)?,
        };
        let scheme = match entry.path.strip_prefix("bin/") {
            Some(name) => format!("scripts/{name}"),
            None => format!("data/{}", entry.path),
        };
        self.add(&format!("{NAME}-{VERSION}.data/{scheme}"), &bytes, mode)
    }

    /// Adds a file and its line of the record.
    fn add(&mut self, path: &str, bytes: &[u8], mode: u32) -> Result<()> {
        self.put(path, bytes, mode)?;
        let digest = URL_SAFE_NO_PAD.encode(Sha256::digest(bytes));
        writeln!(self.record, "{path},sha256={digest},{}", bytes.len())?;
        Ok(())
    }

    fn put(&mut self, path: &str, bytes: &[u8], mode: u32) -> Result<()> {
        let options = SimpleFileOptions::default()
            .compression_method(CompressionMethod::Deflated)
            .compression_level(Some(self.effort.zip_level()))
            .last_modified_time(zip::DateTime::default())
            .unix_permissions(mode);
        self.zip.start_file(path, options)?;
        self.zip.write_all(bytes)?;
        Ok(())
    }

    /// Writes what describes the package. The record comes last, and names itself without a digest.
    fn finish(mut self, tag: &str) -> Result<()> {
        let info = format!("{NAME}-{VERSION}.dist-info");
        let metadata = format!(
            "Metadata-Version: 2.4\nName: bcs-mpi\nVersion: {VERSION}\nSummary: {SUMMARY}\n\
             License-Expression: MIT OR Apache-2.0\n\
             License-File: LICENSE-APACHE\nLicense-File: LICENSE-MIT\n\
             Requires-Python: >=3.8\nKeywords: MPI,HPC,parallel\n\
             Classifier: Operating System :: POSIX :: Linux\n\
             Classifier: Topic :: System :: Distributed Computing\n\
             Description-Content-Type: text/markdown\n\n{DESCRIPTION}"
        );
        self.add(&format!("{info}/METADATA"), metadata.as_bytes(), 0o644)?;
        let wheel = format!(
            "Wheel-Version: 1.0\nGenerator: cargo xtask wheel ({VERSION})\n\
             Root-Is-Purelib: false\nTag: {tag}\n"
        );
        self.add(&format!("{info}/WHEEL"), wheel.as_bytes(), 0o644)?;
        for (name, text) in LICENSES {
            self.add(&format!("{info}/licenses/{name}"), text.as_bytes(), 0o644)?;
        }
        let record = format!("{info}/RECORD");
        let mut lines = std::mem::take(&mut self.record);
        writeln!(lines, "{record},,")?;
        self.put(&record, lines.as_bytes(), 0o644)?;
        self.zip.finish()?.sync_all()?;
        Ok(())
    }
}

/// Returns the file that stands for a symbolic link, and its permissions.
fn stand_in(prefix: &Path, path: &str, target: &str) -> Result<(Vec<u8>, u32)> {
    if target.contains('/') {
        bail!("{path} is a link to {target}, which is in another folder");
    }
    if let Some(name) = path.strip_prefix("bin/") {
        if target != COMMAND {
            return Ok((fs::read(prefix.join("bin").join(target))?, 0o755));
        }
        let script = format!(
            "#!/bin/sh\nhere=$(dirname \"$(readlink -f \"$0\")\") || exit 2\n\
             exec \"$here/{target}\" --called-as={name} \"$@\"\n"
        );
        return Ok((script.into_bytes(), 0o755));
    }
    if path.ends_with(".so") {
        let script = format!("/* The linker takes this library. */\nINPUT({target})\n");
        return Ok((script.into_bytes(), 0o644));
    }
    bail!("{path} is a link, and a wheel has none")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_have_files_in_their_place() {
        let prefix = tempfile::tempdir().unwrap();
        let stand_in = |path: &str, target: &str| stand_in(prefix.path(), path, target);
        let (launcher, mode) = stand_in("bin/mpiexec", "bcs").unwrap();
        let launcher = String::from_utf8(launcher).unwrap();
        assert!(
            launcher.contains("/bcs\" --called-as=mpiexec"),
            "{launcher}"
        );
        assert_eq!(mode, 0o755);
        let (library, _) = stand_in("lib/libmpi_abi.so", "libmpi_abi.so.1").unwrap();
        assert!(library.ends_with(b"INPUT(libmpi_abi.so.1)\n"));
        assert!(stand_in("bin/mpic++", "mpicxx").is_err(), "it is not there");
        fs::create_dir(prefix.path().join("bin")).unwrap();
        fs::write(prefix.path().join("bin/mpicxx"), "a script").unwrap();
        let (compiler, mode) = stand_in("bin/mpic++", "mpicxx").unwrap();
        assert_eq!((&compiler[..], mode), (&b"a script"[..], 0o755));
        assert!(stand_in("share/page", "other").is_err());
        assert!(stand_in("bin/cc", "/usr/bin/cc").is_err());
    }

    #[test]
    fn an_environment_has_the_library_of_mpichs_abi_where_packages_look() {
        let entry = |path: &str, kind: EntryKind| TreeEntry {
            path: path.to_owned(),
            kind,
        };
        let file = EntryKind::File {
            at: PathBuf::new(),
            executable: true,
        };
        let target = "libmpi.so.12".to_owned();
        let link = entry("lib/mpich/libmpi.so", EntryKind::Link { target });
        assert_eq!(in_environment(&link), None);
        let library = in_environment(&entry("lib/mpich/libmpi.so.12", file.clone()));
        assert_eq!(library.unwrap().path, "lib/libmpi.so.12");
        let other = entry("lib/libmpi_abi.so.1", file);
        assert_eq!(in_environment(&other), Some(other));
    }

    #[test]
    fn the_tag_says_which_c_library_is_needed() {
        let tag = platform_tag(GlibcVersion {
            major: 2,
            minor: 34,
        });
        assert_eq!(tag, "py3-none-manylinux_2_34_x86_64");
    }
}
