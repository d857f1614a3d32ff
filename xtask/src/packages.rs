//! `cargo xtask wheel` and `cargo xtask packages`: archives for people who have no checkout.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use toolchain::DebugInfo;
use toolchain::archives::{self, Effort};

use crate::install::{CommandProfile, install_from};
use crate::workspace::Workspace;

/// The packages to make.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Packages {
    /// The wheel for pip.
    Wheel,
    /// All of them.
    All,
}

/// Builds the products for packages, installs them into a temporary folder, and makes packages of
/// that.
///
/// # Errors
///
/// The build fails, a file cannot be written, or a product needs a library that not every machine
/// has.
pub fn make(workspace: &Workspace, folder: &Path, which: Packages) -> Result<()> {
    let stage = tempfile::tempdir().context("failed to make a temporary folder")?;
    let prefix = stage.path();
    install_from(
        workspace,
        CommandProfile::Dist,
        prefix,
        DebugInfo::NamesStripped,
    )?;
    let made = match which {
        Packages::Wheel => vec![archives::wheel::write(prefix, folder, Effort::Smallest)?],
        Packages::All => archives::write_all(prefix, folder, Effort::Smallest)?,
    };
    for path in made {
        let bytes = fs::metadata(&path).map_or(0, |file| file.len());
        println!("{} ({:.1} MB)", path.display(), bytes as f64 / 1e6);
    }
    Ok(())
}
