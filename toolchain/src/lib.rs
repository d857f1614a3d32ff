//! The installation for programmers in C and Fortran. It contains `lib/libmpi_abi.so.1`,
//! `include/mpi.h` and `bcs.h`, `lib/mpich/libmpi.so.12`, `bin/mpicc` and the other wrappers, what
//! Fortran needs, launchers, the heap that they preload (`lib/libbcs_heap.so`), and files for build
//! systems, shells and `man`.
//!
//! | module | contains |
//! |---|---|
//! | [`standard`] | the standard's lists of functions and constants, from the crate `mpi-abi` |
//! | [`header`] | `mpi.h`, generated from these lists |
//! | [`bcs`] | `bcs.h`, the paper's API |
//! | [`library`] | the link step of the shared libraries |
//! | [`layer`] | what the library of MPICH's ABI has beyond that of the standard's |
//! | [`wrappers`] | compiler wrappers |
//! | [`fortran`] | modules, `mpif.h`, the glue under them, and `mpifort` |
//! | [`packages`] | files for CMake and `pkg-config` |
//! | [`share`] | manual pages, and completions of shells |
//! | `installed_files` | how files, links and folders are made |
//! | [`archives`] | archives of an installation: a wheel, a package for Debian, a tarball |
//!
//! All paths inside are relative, so an installed folder may be moved.

pub mod archives;
pub mod bcs;
mod debug_info;
pub mod fortran;
pub mod header;
mod installed_files;
pub mod layer;
pub mod library;
pub mod packages;
pub mod share;
pub mod standard;
pub mod wrappers;

use std::path::{Path, PathBuf};

use anyhow::Result;

pub use debug_info::DebugInfo;
pub use installed_files::LAUNCHERS;

use installed_files::{copy, link, make_folder, write};
use layer::Layer;
use library::Abi;

/// The build products to install.
#[derive(Debug, Clone, Copy)]
pub struct BuildArtifacts<'a> {
    /// The `bcs` command.
    pub command: &'a Path,
    /// The archive that cargo builds from the crate `standard-abi`: `libstandard_abi.a`.
    pub archive: &'a Path,
    /// The archive that cargo builds from the crate `mpich-abi`: `libmpich_abi.a`.
    pub mpich_archive: &'a Path,
    /// The library that cargo builds from the crate `heap-preload`: [`HEAP`].
    pub heap: &'a Path,
    /// Whether the installed files keep their debug information.
    pub debug_info: DebugInfo,
}

/// The name of the heap that `bcs run` preloads. It looks for the file next to itself and here.
pub const HEAP: &str = "libbcs_heap.so";

/// The folder of the library of MPICH's ABI, below `lib`.
pub const MPICH_FOLDER: &str = "mpich";

/// Other names of this library: the one that compilers are given, and the one that Debian's MPICH
/// has.
const MPICH_NAMES: [&str; 2] = ["libmpi.so", "libmpich.so.12"];

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
    let layer = Layer::read(parts.mpich_archive, parts.archive)?;
    let standard = lib.join(library::SONAME);
    library::link_standard(parts.archive, &layer.needs()?, &standard)?;
    link(library::SONAME, &lib.join("libmpi_abi.so"))?;
    let mpich = install_mpich(&layer, &standard, &lib.join(MPICH_FOLDER))?;
    copy(parts.heap, &lib.join(HEAP))?;
    for file in [bin.join("bcs"), standard, mpich, lib.join(HEAP)] {
        debug_info::strip(&file, parts.debug_info)?;
    }
    wrappers::write_all(prefix)?;
    fortran::write_all(prefix)?;
    debug_info::strip(&lib.join(fortran::GLUE), parts.debug_info)?;
    packages::write_all(prefix)?;
    share::write_all(prefix)
}

/// Installs the library of MPICH's ABI into a folder of its own, where no linker looks for
/// libraries. Returns its path.
fn install_mpich(layer: &Layer, standard: &Path, folder: &Path) -> Result<PathBuf> {
    make_folder(folder)?;
    let library = folder.join(Abi::Mpich.soname());
    library::link_mpich(layer, standard, &library)?;
    for name in MPICH_NAMES {
        link(Abi::Mpich.soname(), &folder.join(name))?;
    }
    Ok(library)
}
