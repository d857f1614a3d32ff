//! The link step of `libmpi_abi.so.1`.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::{bcs, write};

/// The soname, which programs record when they are linked.
pub const SONAME: &str = "libmpi_abi.so.1";

/// The function by which the glue of Fortran tells the place of a call (`mpi-abi/src/caller.rs`).
pub const OUTER_CALLER: &str = "bcs_outer_caller";

/// Returns the list of exported symbols. `-Bsymbolic-functions` binds calls within the library
/// directly. A tool therefore intercepts the program's calls, and not the library's own.
fn export_list() -> String {
    let bcs: Vec<&str> = bcs::functions().collect();
    let bcs = bcs.join("; ");
    format!("{{ global: MPI_*; PMPI_*; {bcs}; {OUTER_CALLER}; local: *; }};\n")
}

/// Links the archive that cargo builds from the crate `mpi-abi`.
///
/// # Errors
///
/// The C compiler (`CC`, or `cc`) cannot be run, or fails.
pub fn link(archive: &Path, library: &Path) -> Result<()> {
    let exports = library.with_extension("exports");
    write(&exports, &export_list())?;
    // A running program may have mapped the old file, so the link makes a new one and renames it.
    let fresh = library.with_extension("new");
    let compiler = std::env::var_os("CC").unwrap_or_else(|| "cc".into());
    let status = Command::new(&compiler)
        .args(["-shared", "-o"])
        .arg(&fresh)
        .arg(format!("-Wl,-soname,{SONAME}"))
        .arg(format!("-Wl,--version-script={}", exports.display()))
        .args([
            "-Wl,-Bsymbolic-functions",
            "-Wl,--gc-sections",
            // Thread keys and handlers of its heap call into it, so it must never be unloaded.
            "-Wl,-z,relro,-z,now,-z,nodelete",
        ])
        .arg("-Wl,--whole-archive")
        .arg(archive)
        .arg("-Wl,--no-whole-archive")
        .args([
            "-lgcc_s",
            "-lutil",
            "-lrt",
            "-lpthread",
            "-lm",
            "-ldl",
            "-lc",
        ])
        .status()
        .with_context(|| format!("failed to run {}", compiler.display()))?;
    fs::remove_file(&exports).context("failed to remove the list of exports")?;
    ensure!(
        status.success(),
        "{} did not link {}",
        compiler.display(),
        library.display()
    );
    fs::rename(&fresh, library)
        .with_context(|| format!("failed to put {} in its place", library.display()))
}
