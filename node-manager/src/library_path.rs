//! The installed library of programs in C: ranks find it before any other.
//!
//! All libraries of the standard ABI have one name (MPI 5.0, 20.2), and a program may record the
//! folder where it was linked to one of them. Under this launcher another library than ours does
//! not know its job, and each rank would be a world of its own. So we put our folder first in the
//! dynamic linker's variable, which takes precedence over the program's record. Programs without a
//! record find the library there, too.

use crate::control::Application;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// The name that the standard gives the library.
const LIBRARY: &str = "libmpi_abi.so.1";

/// The dynamic linker's variable: a list of folders to search first, separated by colons.
const VARIABLE: &str = "LD_LIBRARY_PATH";

/// Returns the variable for the ranks of an application, if it has to be set.
pub(crate) fn library_variable(application: &Application) -> Option<(OsString, OsString)> {
    let folder = folder_of(&std::env::current_exe().ok()?)?;
    let own = application.environment.iter().rev();
    let mut own = own.filter(|(name, _)| name == VARIABLE);
    let before = own.next().map(|(_, value)| value.clone());
    let before = before.or_else(|| std::env::var_os(VARIABLE));
    let value = value(&folder, before.as_deref())?;
    Some((VARIABLE.into(), value))
}

/// Finds the folder of the library that was installed with a command.
fn folder_of(command: &Path) -> Option<PathBuf> {
    let folder = command.parent()?.parent()?.join("lib");
    folder.join(LIBRARY).is_file().then_some(folder)
}

/// Returns the folder followed by the previous value, or `None` if it is the first already or
/// cannot be written in a list.
fn value(folder: &Path, before: Option<&OsStr>) -> Option<OsString> {
    let ours = folder.as_os_str().as_bytes();
    let before = before.map(OsStr::as_bytes).unwrap_or_default();
    if ours.contains(&b':') || before.split(|&byte| byte == b':').next() == Some(ours) {
        return None;
    }
    let both = [ours, before].join(&b':');
    let end = if before.is_empty() {
        ours.len()
    } else {
        both.len()
    };
    Some(OsStr::from_bytes(&both[..end]).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_folder_comes_first_and_once() {
        let value = |before: Option<&str>| {
            let value = value("/b/lib".as_ref(), before.map(OsStr::new));
            value.map(|value| value.into_string().unwrap())
        };
        assert_eq!(value(None).as_deref(), Some("/b/lib"));
        assert_eq!(value(Some("")).as_deref(), Some("/b/lib"));
        assert_eq!(value(Some("/a:/c")).as_deref(), Some("/b/lib:/a:/c"));
        assert_eq!(value(Some("/b/lib:/a")), None);
        assert_eq!(super::value("/a:b/lib".as_ref(), None), None);
    }

    #[test]
    fn a_command_that_is_not_installed_has_no_library() {
        let here = std::env::current_exe().unwrap();
        assert_eq!(folder_of(&here), None);
    }
}
