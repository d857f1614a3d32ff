//! The names by which `bcs` is called, if that means `bcs run`.

use std::ffi::OsStr;
use std::path::Path;

/// Names of the binary that mean `bcs run`.
pub(crate) const NAMES_OF_RUN: [&str; 3] = ["bcsrun", "mpiexec", "mpirun"];

/// Returns which of them a path ends with.
pub(crate) fn means_run(name: &OsStr) -> Option<&'static str> {
    let name = Path::new(name).file_name();
    let mut names = NAMES_OF_RUN.into_iter();
    names.find(|run| name == Some(run.as_ref()))
}
