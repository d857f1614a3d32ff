//! `cargo xtask install`: the installation for C programmers, from this checkout.

use std::path::Path;

use anyhow::{Context, Result};
use toolchain::{BuildArtifacts, DebugInfo};

use crate::process;
use crate::workspace::{BUILD_LIMIT, Workspace};

/// How the command is built.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommandProfile {
    /// As for everything else of this checkout.
    Release,
    /// For packages: smaller, and slower to build.
    Dist,
}

impl CommandProfile {
    /// The name of the profile in `Cargo.toml`, and of its folder in `target`.
    fn name(self) -> &'static str {
        match self {
            Self::Release => "release",
            Self::Dist => "dist",
        }
    }
}

/// Builds the command and the library, and installs them into a folder.
///
/// # Errors
///
/// The build fails, or a file cannot be written.
pub fn install(workspace: &Workspace, prefix: &Path, debug_info: DebugInfo) -> Result<()> {
    install_from(workspace, CommandProfile::Release, prefix, debug_info)?;
    println!(
        "installed into {}: add {}/bin to PATH",
        prefix.display(),
        prefix.display()
    );
    Ok(())
}

/// Does the same with a command of this profile, and prints nothing to standard output.
///
/// # Errors
///
/// The build fails, or a file cannot be written.
pub(crate) fn install_from(
    workspace: &Workspace,
    profile: CommandProfile,
    prefix: &Path,
    debug_info: DebugInfo,
) -> Result<()> {
    // Each by itself, as everybody builds them: together, their dependencies could have other
    // features, and would be built again.
    let build = |what: &str, profile: CommandProfile, packages: &[&str]| {
        eprintln!("building {what} ...");
        let mut build = workspace.cargo(["build", "--profile", profile.name()]);
        for package in packages {
            build.args(["--package", package]);
        }
        process::run(&mut build, BUILD_LIMIT)?
            .succeeded()
            .with_context(|| format!("failed to build {what}"))?;
        anyhow::Ok(workspace.target().join(profile.name()))
    };
    let command = build("the bcs command", profile, &["machine-manager"])?;
    let libraries = build(
        "the libraries for C programs",
        CommandProfile::Release,
        &["standard-abi", "mpich-abi", "heap-preload"],
    )?;
    let parts = BuildArtifacts {
        command: &command.join("bcs"),
        archive: &libraries.join("libstandard_abi.a"),
        mpich_archive: &libraries.join("libmpich_abi.a"),
        heap: &libraries.join(toolchain::HEAP),
        debug_info,
    };
    toolchain::install(parts, prefix)
}
