//! What a C programmer installs: `lib/libmpi_abi.so.1`, `include/mpi.h` and `bcs.h`, `bin/mpicc` and its brothers,
//! launchers, the heap that they preload, `lib/libbcs_heap.so`, and what build systems, shells and `man` look for.
//!
//! | module | is |
//! |---|---|
//! | [`standard`] | the standard's lists of functions and constants, of the crate `mpi-abi` |
//! | [`header`] | `mpi.h`, made of them |
//! | [`bcs`] | `bcs.h`, the paper's API |
//! | [`library`] | the link of the shared library |
//! | [`wrappers`] | compiler wrappers |
//! | [`packages`] | what CMake and `pkg-config` look for |
//! | [`share`] | manual pages, and completions of shells |
//!
//! Everything lies relative to everything else, so a folder that was installed may be moved.

pub mod bcs;
pub mod header;
pub mod library;
pub mod packages;
pub mod share;
pub mod standard;
pub mod wrappers;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use anyhow::{Context, Result};

/// What is installed.
#[derive(Debug, Clone, Copy)]
pub struct BuildArtifacts<'a> {
    /// The `bcs` command.
    pub command: &'a Path,
    /// What cargo makes of the crate `mpi-abi`: `libmpi_abi.a`.
    pub archive: &'a Path,
    /// What cargo makes of the crate `heap-preload`: [`HEAP`].
    pub heap: &'a Path,
}

/// The name of the heap that `bcs run` preloads. It looks for it beside itself and here.
pub const HEAP: &str = "libbcs_heap.so";

/// Names of the `bcs` command under which it is a launcher.
pub const LAUNCHERS: [&str; 3] = ["bcsrun", "mpiexec", "mpirun"];

/// Lays all of it out in a folder, which is made if it is not there. What was installed there before is replaced.
///
/// # Errors
///
/// A file cannot be written, the C compiler does not link the library, or the command does not say what it is like.
pub fn install(parts: BuildArtifacts, prefix: &Path) -> Result<()> {
    let bin = prefix.join("bin");
    make_folder(&bin)?;
    copy(parts.command, &bin.join("bcs"))?;
    for name in LAUNCHERS {
        link("bcs", &bin.join(name))?;
    }
    write(&prefix.join("include/mpi.h"), &header::text())?;
    write(&prefix.join("include/bcs.h"), bcs::HEADER)?;
    let lib = prefix.join("lib");
    make_folder(&lib)?;
    library::link(parts.archive, &lib.join(library::SONAME))?;
    link(library::SONAME, &lib.join("libmpi_abi.so"))?;
    copy(parts.heap, &lib.join(HEAP))?;
    wrappers::write_all(prefix)?;
    packages::write_all(prefix)?;
    share::write_all(prefix)
}

fn make_folder(folder: &Path) -> Result<()> {
    fs::create_dir_all(folder).with_context(|| format!("failed to make {}", folder.display()))
}

/// Writes a file, and makes its folder if it is not there.
fn write(path: &Path, text: &str) -> Result<()> {
    if let Some(folder) = path.parent() {
        make_folder(folder)?;
    }
    fs::write(path, text).with_context(|| format!("failed to write {}", path.display()))
}

/// What is there is not written over: it may be running.
fn copy(from: &Path, to: &Path) -> Result<()> {
    replace(to, || fs::copy(from, to).map(drop).map_err(Into::into))
}

fn link(to: &str, at: &Path) -> Result<()> {
    replace(at, || symlink(to, at).map_err(Into::into))
}

fn replace(path: &Path, make: impl FnOnce() -> Result<()>) -> Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error.into()),
        _ => make(),
    }
    .with_context(|| format!("failed to make {}", path.display()))
}
