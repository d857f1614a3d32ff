//! Archives of an installation, for people who have no checkout.
//!
//! | module | contains |
//! |---|---|
//! | [`wheel`] | the wheel for `pip`: files of an environment of Python |
//! | [`debian`] | the package for Debian and its derivatives |
//! | [`tarball`] | a folder to unpack anywhere |
//! | `tree` | the files of an installation |
//! | `package` | the version, the summary, and how much is compressed |
//! | `needs` | what these files need of a machine: the C library's version, and other libraries |
//!
//! Each can be compressed quickly, or as far as the format allows ([`Effort`]).
//!
//! Each archive is made from a folder that [`install`](crate::install) has written. Its bytes
//! depend on the installed files only, not on the time or on the machine.

pub mod debian;
mod needs;
mod package;
pub mod tarball;
mod tree;
pub mod wheel;

use std::path::{Path, PathBuf};

use anyhow::Result;

pub use package::Effort;

/// Makes all archives of an installation in a folder, and returns their paths.
///
/// # Errors
///
/// A file cannot be read or written, or an installed file needs a library that not every machine
/// has.
pub fn write_all(prefix: &Path, folder: &Path, effort: Effort) -> Result<Vec<PathBuf>> {
    Ok(vec![
        wheel::write(prefix, folder, effort)?,
        debian::write(prefix, folder, effort)?,
        tarball::write(prefix, folder, effort)?,
    ])
}
