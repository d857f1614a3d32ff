//! The installation for programmers in C and Fortran. It contains `lib/libmpi_abi.so.1`,
//! `include/mpi.h` and `bcs.h`, `bin/mpicc` and the other wrappers, what Fortran needs, launchers,
//! the heap that they preload (`lib/libbcs_heap.so`), and files for build systems, shells and
//! `man`.
//!
//! | module | contains |
//! |---|---|
//! | [`standard`] | the standard's lists of functions and constants, from the crate `mpi-abi` |
//! | [`header`] | `mpi.h`, generated from these lists |
//! | [`bcs`] | `bcs.h`, the paper's API |
//! | [`library`] | the link step of the shared library |
//! | [`wrappers`] | compiler wrappers |
//! | [`fortran`] | modules, `mpif.h`, the glue under them, and `mpifort` |
//! | [`packages`] | files for CMake and `pkg-config` |
//! | [`share`] | manual pages, and completions of shells |
//!
//! All paths inside are relative, so an installed folder may be moved.

pub mod bcs;
mod debug_info;
pub mod fortran;
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

pub use debug_info::DebugInfo;

/// The build products to install.
#[derive(Debug, Clone, Copy)]
pub struct BuildArtifacts<'a> {
    /// The `bcs` command.
    pub command: &'a Path,
    /// The archive that cargo builds from the crate `mpi-abi`: `libmpi_abi.a`.
    pub archive: &'a Path,
    /// The library that cargo builds from the crate `heap-preload`: [`HEAP`].
    pub heap: &'a Path,
    /// Whether the installed files keep their debug information.
    pub debug_info: DebugInfo,
}

/// The name of the heap that `bcs run` preloads. It looks for the file next to itself and here.
pub const HEAP: &str = "libbcs_heap.so";

/// The names under which the `bcs` command is a launcher.
pub const LAUNCHERS: [&str; 3] = ["bcsrun", "mpiexec", "mpirun"];

/// Installs everything into a folder, which it creates if necessary. Files of an earlier
/// installation are replaced.
///
/// # Errors
///
/// A file cannot be written, the C compiler does not link the library, or the command does not
/// print its completions or manual pages.
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
    if parts.debug_info == DebugInfo::Stripped {
        let files = [bin.join("bcs"), lib.join(library::SONAME), lib.join(HEAP)];
        files.iter().try_for_each(|file| debug_info::strip(file))?;
    }
    wrappers::write_all(prefix)?;
    fortran::write_all(prefix)?;
    packages::write_all(prefix)?;
    share::write_all(prefix)
}

fn make_folder(folder: &Path) -> Result<()> {
    fs::create_dir_all(folder).with_context(|| format!("failed to make {}", folder.display()))
}

/// Writes a file, and creates its folder if necessary.
fn write(path: &Path, text: &str) -> Result<()> {
    if let Some(folder) = path.parent() {
        make_folder(folder)?;
    }
    fs::write(path, text).with_context(|| format!("failed to write {}", path.display()))
}

/// Replaces an existing file instead of writing to it, because it may be running.
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
