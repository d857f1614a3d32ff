//! `cargo xtask install`: the installation for C programmers, from this checkout.

use std::path::Path;

use anyhow::{Context, Result};
use toolchain::{BuildArtifacts, DebugInfo};

use crate::process;
use crate::workspace::{BUILD_LIMIT, Workspace};

/// Builds the command and the library, and installs them into a folder.
///
/// # Errors
///
/// The build fails, or a file cannot be written.
pub fn install(workspace: &Workspace, prefix: &Path, debug_info: DebugInfo) -> Result<()> {
    let release = workspace.release()?;
    eprintln!("building the libraries for C programs ...");
    let packages = ["standard-abi", "mpich-abi", "heap-preload"];
    let packages = packages.iter().flat_map(|name| ["--package", name]);
    process::run(
        workspace.cargo(["build", "--release"]).args(packages),
        BUILD_LIMIT,
    )?
    .succeeded()
    .context("failed to build the libraries")?;
    let parts = BuildArtifacts {
        command: &release.join("bcs"),
        archive: &release.join("libstandard_abi.a"),
        mpich_archive: &release.join("libmpich_abi.a"),
        heap: &release.join(toolchain::HEAP),
        debug_info,
    };
    toolchain::install(parts, prefix)?;
    println!(
        "installed into {}: add {}/bin to PATH",
        prefix.display(),
        prefix.display()
    );
    Ok(())
}
