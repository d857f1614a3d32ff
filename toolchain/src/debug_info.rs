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
    /// It is left out. Names of functions stay, for the stack of a panic.
    Stripped,
    /// These names are left out, too: packages are smaller without them.
    NamesStripped,
    /// It is kept, for a debugger or a profiler.
    Kept,
}

/// Removes what an installed file is not to have.
///
/// # Errors
///
/// `strip`, which comes with every linker (binutils), cannot be run, or fails.
pub(crate) fn strip(file: &Path, debug_info: DebugInfo) -> Result<()> {
    let option = match debug_info {
        DebugInfo::Kept => return Ok(()),
        DebugInfo::Stripped => "--strip-debug",
        DebugInfo::NamesStripped => "--strip-unneeded",
    };
    let status = Command::new("strip")
        .arg(option)
        .arg(file)
        .status()
        .context("failed to run strip (binutils); --debuginfo installs without it")?;
    ensure!(status.success(), "failed to strip {}", file.display());
    Ok(())
}
