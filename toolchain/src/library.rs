//! The link step of the shared libraries: `libmpi_abi.so.1`, and `libmpi.so.12` of MPICH's ABI.

use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::bcs;
use crate::installed_files::write;
use crate::layer::Layer;

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

/// The function by which the glue of Fortran lets reductions use sections of arrays
/// (`mpi-abi/src/calls/fortran.rs`).
pub const MAKE_OPERAND: &str = "bcs_make_operand";

impl Abi {
    /// Returns the soname, which programs record when they are linked.
    #[must_use]
    pub fn soname(self) -> &'static str {
        match self {
            Self::Standard => SONAME,
            Self::Mpich => "libmpi.so.12",
        }
    }

    /// Returns the names that the library exports for programs, as patterns.
    fn names(self) -> String {
        match self {
            Self::Standard => {
                let bcs = bcs::functions().collect::<Vec<_>>().join("; ");
                format!("MPI_*; PMPI_*; {bcs}; {OUTER_CALLER}; {MAKE_OPERAND}")
            }
            Self::Mpich => "MPI_*; PMPI_*; MPIX_*; PMPIX_*; MPIR_*; bcs_mpich_abi".to_owned(),
        }
    }
}

/// Links the library of the standard ABI from the archive that cargo builds from the crate
/// `standard-abi`. Beside the names for programs it exports those that a layer needs
/// ([`Layer::needs`]).
///
/// # Errors
///
/// The C compiler (`CC`, or `cc`) cannot be run, or fails.
pub fn link_standard(archive: &Path, for_layer: &[String], library: &Path) -> Result<()> {
    let mut words: Vec<OsString> = vec!["-Wl,--whole-archive".into(), archive.into()];
    // Calls within the library bind directly, and so do uses of its variables. A tool therefore
    // intercepts the program's calls, and not the library's own.
    words.extend(["-Wl,--no-whole-archive", "-Wl,-Bsymbolic"].map(OsString::from));
    let names = [&[Abi::Standard.names()], for_layer].concat().join(";\n");
    link(Abi::Standard, &words, &names, library)
}

/// Links the library of MPICH's ABI: a layer over an installed library of the standard ABI, which
/// lies in the folder above, or beside it.
///
/// # Errors
///
/// The C compiler (`CC`, or `cc`) cannot be run, or fails.
pub fn link_mpich(layer: &Layer, standard: &Path, library: &Path) -> Result<()> {
    let folder = library.with_extension("objects");
    let objects = layer.write_into(&folder)?;
    let mut words: Vec<OsString> = objects.into_iter().map(OsString::from).collect();
    words.push(standard.into());
    words.extend(
        [
            // Programs may have copies of its variables, so only functions bind directly.
            "-Wl,-Bsymbolic-functions",
            // Another library of the standard ABI would not do. So the older kind of record, which
            // takes precedence over `LD_LIBRARY_PATH`, says where ours is.
            "-Wl,--disable-new-dtags,-rpath,$ORIGIN:$ORIGIN/..",
            "-Wl,-z,defs",
        ]
        .map(OsString::from),
    );
    let linked = link(Abi::Mpich, &words, &Abi::Mpich.names(), library);
    fs::remove_dir_all(&folder)
        .with_context(|| format!("failed to remove {}", folder.display()))?;
    linked
}

/// Links a library of these inputs that exports these names.
fn link(abi: Abi, inputs: &[OsString], names: &str, library: &Path) -> Result<()> {
    let exports = library.with_extension("exports");
    write(&exports, &format!("{{ global: {names}; local: *; }};\n"))?;
    // A running program may have mapped the old file, so the link makes a new one and renames it.
    let fresh = library.with_extension("new");
    let compiler = std::env::var_os("CC").unwrap_or_else(|| "cc".into());
    let status = Command::new(&compiler)
        .args(["-shared", "-o"])
        .arg(&fresh)
        .arg(format!("-Wl,-soname,{}", abi.soname()))
        .arg(format!("-Wl,--version-script={}", exports.display()))
        .args([
            "-Wl,--gc-sections",
            // Thread keys and handlers of its heap call into it, so it must never be unloaded.
            "-Wl,-z,relro,-z,now,-z,nodelete",
        ])
        .args(inputs)
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
