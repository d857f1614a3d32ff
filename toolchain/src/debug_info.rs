//! The debug information of what is installed.
//!
//! It is most of the bytes, and it describes lines of this project only: lines of users' programs
//! come from the programs. An installation leaves it out by default.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

/// Whether an installation has the debug information of its own code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DebugInfo {
    /// It is left out.
    Stripped,
    /// It is kept, for a debugger or a profiler.
    Kept,
}

/// Removes the debug information of an installed file. Names of functions stay, for the stack of a
/// panic.
///
/// # Errors
///
/// `strip`, which comes with every linker (binutils), cannot be run, or fails.
pub(crate) fn strip(file: &Path) -> Result<()> {
    let status = Command::new("strip")
        .arg("--strip-debug")
        .arg(file)
        .status()
        .context("failed to run strip (binutils); --debuginfo installs without it")?;
    ensure!(status.success(), "failed to strip {}", file.display());
    Ok(())
}
