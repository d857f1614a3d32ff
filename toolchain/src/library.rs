//! The link step of the shared libraries: `libmpi_abi.so.1`, and `libmpi.so.12` of MPICH's ABI.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::{bcs, write};

/// A shared library of an ABI.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Abi {
    /// The standard's.
    Standard,
    /// MPICH's.
    Mpich,
}

/// The soname of the standard ABI's library.
pub const SONAME: &str = "libmpi_abi.so.1";

/// The function by which the glue of Fortran tells the place of a call (`mpi-abi/src/caller.rs`).
pub const OUTER_CALLER: &str = "bcs_outer_caller";

impl Abi {
    /// Returns the soname, which programs record when they are linked.
    #[must_use]
    pub fn soname(self) -> &'static str {
        match self {
            Self::Standard => SONAME,
            Self::Mpich => "libmpi.so.12",
        }
    }

    /// Returns the list of exported symbols. `-Bsymbolic-functions` binds calls within the library
    /// directly. A tool therefore intercepts the program's calls, and not the library's own.
    fn exports(self) -> String {
        let more = match self {
            Self::Standard => {
                let bcs = bcs::functions().collect::<Vec<_>>().join("; ");
                format!("{bcs}; {OUTER_CALLER}")
            }
            Self::Mpich => "MPIX_*; PMPIX_*; MPIR_*; bcs_mpich_abi".to_owned(),
        };
        format!("{{ global: MPI_*; PMPI_*; {more}; local: *; }};\n")
    }
}

/// Links the archive that cargo builds from the crate of an ABI, `standard-abi` or `mpich-abi`.
///
/// # Errors
///
/// The C compiler (`CC`, or `cc`) cannot be run, or fails.
pub fn link(abi: Abi, archive: &Path, library: &Path) -> Result<()> {
    let exports = library.with_extension("exports");
    write(&exports, &abi.exports())?;
    // A running program may have mapped the old file, so the link makes a new one and renames it.
    let fresh = library.with_extension("new");
    let compiler = std::env::var_os("CC").unwrap_or_else(|| "cc".into());
    let status = Command::new(&compiler)
        .args(["-shared", "-o"])
        .arg(&fresh)
        .arg(format!("-Wl,-soname,{}", abi.soname()))
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
