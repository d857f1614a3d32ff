//! Files for build systems: a description for `pkg-config`, and a package for CMake.
//!
//! Each finds the rest of the installation relative to its own path.

use std::path::Path;

use anyhow::Result;

use crate::header::FORTRAN_NAMES;
use crate::installed_files::write;
use crate::library::SONAME;

/// The files, with their paths below the prefix.
const FILES: [(&str, &str); 3] = [
    ("lib/pkgconfig/mpi.pc", include_str!("pkgconfig/mpi.pc")),
    (
        "lib/cmake/bcs-mpi/bcs-mpi-config.cmake",
        include_str!("cmake/bcs-mpi-config.cmake"),
    ),
    (
        "lib/cmake/bcs-mpi/bcs-mpi-config-version.cmake",
        include_str!("cmake/bcs-mpi-config-version.cmake"),
    ),
];

/// Writes all files.
///
/// # Errors
///
/// A file cannot be written.
pub fn write_all(prefix: &Path) -> Result<()> {
    for (path, template) in FILES {
        let text = template
            .replace("@VERSION@", env!("CARGO_PKG_VERSION"))
            .replace("@DEFINE@", FORTRAN_NAMES)
            .replace("@SONAME@", SONAME);
        write(&prefix.join(path), &text)?;
    }
    Ok(())
}
