//! Fortran: `mpif.h`, the sources of the modules `mpi` and `mpi_f08`, the glue under them, and the
//! wrapper `mpifort`.
//!
//! | module | makes |
//! |---|---|
//! | `functions` | what Fortran makes of each parameter of the standard's list of functions |
//! | `constants` | the constants, with the numbers of C's |
//! | `modules` | `mpif.h` and the modules |
//! | `glue` | procedures that call the functions of C |
//!
//! A module has to be compiled by the compiler that uses it, so modules are installed as sources,
//! and `mpifort` compiles them at their first use. The glue is generated C: it is compiled at
//! installation, by the compiler that links the library, and a user needs no C compiler. It is in C
//! because it is a layer over `mpi.h` as any user's program is, and so works over every library of
//! the ABI. It is a library of its own, `libbcs_fortran.so.1`, since its names are not the ABI's,
//! and programs in C do not need it.

mod constants;
mod functions;
mod glue;
mod modules;

use std::fs;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::installed_files::{link, write};

/// The name of the glue, which programs record when they are linked.
pub const GLUE: &str = "libbcs_fortran.so.1";

/// The wrapper, and its other names.
pub const WRAPPER: &str = "mpifort";
pub(crate) const WRAPPER_LINKS: [&str; 2] = ["mpif90", "mpif77"];

const SCRIPT: &str = include_str!("mpifort.sh");

/// The folder of the sources of modules.
const SOURCES: &str = "share/bcs-mpi/fortran";

/// Returns the sources that each compiler compiles for itself.
fn module_sources() -> [(&'static str, String); 5] {
    [
        ("mpi_types.f90", modules::types()),
        ("mpi.f90", modules::old()),
        ("mpi_f08.f90", modules::f08()),
        ("probe.f90", include_str!("probe.f90").to_owned()),
        ("logical.f90", include_str!("logical.f90").to_owned()),
    ]
}

/// Writes and compiles everything. The library and `mpi.h` must be installed already.
///
/// # Errors
///
/// A file cannot be written, or the C compiler does not compile the glue.
pub fn write_all(prefix: &Path) -> Result<()> {
    write(&prefix.join("include/mpif.h"), &modules::mpif())?;
    let sources = module_sources();
    for (name, text) in &sources {
        write(&prefix.join(SOURCES).join(name), text)?;
    }
    compile_glue(prefix)?;
    // Modules of an earlier installation are not those of these sources.
    let mut hasher = DefaultHasher::new();
    (&sources, SCRIPT).hash(&mut hasher);
    let hash = format!("{:016x}", hasher.finish());
    let text = SCRIPT
        .replace("@VERSION@", env!("CARGO_PKG_VERSION"))
        .replace("@SOURCES@", &hash);
    remove_old_modules(prefix, &hash)?;
    let wrapper = prefix.join("bin").join(WRAPPER);
    write(&wrapper, &text)?;
    fs::set_permissions(&wrapper, fs::Permissions::from_mode(0o755))
        .with_context(|| format!("failed to make {} executable", wrapper.display()))?;
    for name in WRAPPER_LINKS {
        link(WRAPPER, &prefix.join("bin").join(name))?;
    }
    Ok(())
}

/// Has the installed wrapper compile the modules for a compiler, as it does at the first use.
///
/// # Errors
///
/// The wrapper cannot be run, or the compiler does not compile them.
pub fn make_modules(prefix: &Path, compiler: &str) -> Result<()> {
    let wrapper = prefix.join("bin").join(WRAPPER);
    let made = Command::new(&wrapper)
        .arg(format!("-fc={compiler}"))
        .arg("--showme:incdirs")
        .output()
        .with_context(|| format!("failed to run {}", wrapper.display()))?;
    ensure!(
        made.status.success(),
        "{compiler} made no modules of MPI: {}",
        String::from_utf8_lossy(&made.stderr).trim_end()
    );
    Ok(())
}

/// Removes modules that were compiled from other sources.
fn remove_old_modules(prefix: &Path, hash: &str) -> Result<()> {
    let Ok(folders) = fs::read_dir(prefix.join("lib/fortran")) else {
        return Ok(()); // None were compiled yet.
    };
    for folder in folders {
        let folder = folder.context("failed to read lib/fortran")?;
        let is_old = !folder.file_name().to_string_lossy().starts_with(hash);
        if is_old && folder.path().is_dir() {
            fs::remove_dir_all(folder.path())
                .with_context(|| format!("failed to remove {}", folder.path().display()))?;
        }
    }
    Ok(())
}

fn compile_glue(prefix: &Path) -> Result<()> {
    let lib = prefix.join("lib");
    let work = lib.join("fortran-glue");
    for (name, text) in glue::SOURCES {
        write(&work.join(name), text)?;
    }
    write(&work.join("calls.c"), &glue::calls())?;
    // A running program may have mapped the old file, so the compiler makes a new one.
    let fresh = work.join(GLUE);
    let compiler = std::env::var_os("CC").unwrap_or_else(|| "cc".into());
    let status = Command::new(&compiler)
        // A procedure in one piece: places of calls depend on that (`mpi-abi/src/caller.rs`).
        .arg("-fno-reorder-blocks-and-partition")
        .args(["-shared", "-fPIC", "-O2", "-std=gnu11", "-o"])
        .arg(&fresh)
        .arg(format!("-Wl,-soname,{GLUE}"))
        .args(["-Wl,-rpath,$ORIGIN", "-Wl,-z,relro", "-pthread"])
        .arg("-I")
        .arg(prefix.join("include"))
        .args(["calls.c", "callbacks.c", "sections.c"].map(|name| work.join(name)))
        .arg("-L")
        .arg(&lib)
        .arg("-lmpi_abi")
        .status()
        .with_context(|| format!("failed to run {}", compiler.display()))?;
    ensure!(
        status.success(),
        "{} did not compile the glue for Fortran in {}",
        compiler.display(),
        work.display()
    );
    fs::rename(&fresh, lib.join(GLUE))
        .with_context(|| format!("failed to put {GLUE} into {}", lib.display()))?;
    link(GLUE, &lib.join("libbcs_fortran.so"))?;
    fs::remove_dir_all(&work).with_context(|| format!("failed to remove {}", work.display()))
}
