//! Archives of an installation, for people who have no checkout.
//!
//! | module | contains |
//! |---|---|
//! | [`wheel`] | the wheel for `pip`: files of an environment of Python |
//! | [`debian`] | the package for Debian and its derivatives |
//! | [`tarball`] | a folder to unpack anywhere |
//! | `tree` | the files of an installation |
//! | `needs` | what these files need of a machine: the C library's version, and other libraries |
//!
//! Each archive is made from a folder that [`install`](crate::install) has written. Its bytes
//! depend on the installed files only, not on the time or on the machine.

pub mod debian;
mod needs;
pub mod tarball;
mod tree;
pub mod wheel;

use std::path::{Path, PathBuf};

use anyhow::Result;

/// The version of all archives.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// One sentence about the package.
const SUMMARY: &str = "MPI runtime after Buffered Coscheduling, with the MPI 5.0 standard ABI, \
                       deadlock detection and per-slice monitoring";

/// Makes all archives of an installation in a folder, and returns their paths.
///
/// # Errors
///
/// A file cannot be read or written, or an installed file needs a library that not every machine
/// has.
pub fn write_all(prefix: &Path, folder: &Path) -> Result<Vec<PathBuf>> {
    Ok(vec![
        wheel::write(prefix, folder)?,
        debian::write(prefix, folder)?,
        tarball::write(prefix, folder)?,
    ])
}
