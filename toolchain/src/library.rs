//! The link of `libmpi_abi.so.1`.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::{bcs, write};

/// The name by which programs are linked to it.
pub const SONAME: &str = "libmpi_abi.so.1";

/// What it shows. Calls within the library go straight (`-Bsymbolic-functions`): a tool takes the place of what
/// programs call, not of what the library calls.
fn export_list() -> String {
    let bcs: Vec<&str> = bcs::functions().collect();
    let bcs = bcs.join("; ");
    format!("{{ global: MPI_*; PMPI_*; {bcs}; local: *; }};\n")
}

/// Links the archive that cargo makes of the crate `mpi-abi`.
///
/// # Errors
///
/// The C compiler (`CC`, or `cc`) cannot be run, or refuses.
pub fn link(archive: &Path, library: &Path) -> Result<()> {
    let exports = library.with_extension("exports");
    write(&exports, &export_list())?;
    // A program may have the old one mapped: it keeps it.
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
            // Its heap's keys and handlers call into it: it is never unloaded.
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
