//! The library of programs in C, where it is installed with the command: ranks find it before any other.
//!
//! All libraries of the standard ABI have one name (MPI 5.0, 20.2), and a program says where it was linked to one. Under
//! this launcher another one than ours knows nothing of its job, and each rank would be a world of its own. So the
//! dynamic linker's variable, which counts more than what a program says, begins with our folder. Programs that say
//! nothing find it there, too.

use crate::control::Application;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// The name that the standard gives the library.
const LIBRARY: &str = "libmpi_abi.so.1";

/// The dynamic linker's variable: folders that are looked in first, with colons between.
const VARIABLE: &str = "LD_LIBRARY_PATH";

/// The variable for the ranks of an application, if it is to be set.
pub(crate) fn library_variable(application: &Application) -> Option<(OsString, OsString)> {
    let folder = folder_of(&std::env::current_exe().ok()?)?;
    let own = application.environment.iter().rev();
    let mut own = own.filter(|(name, _)| name == VARIABLE);
    let before = own.next().map(|(_, value)| value.clone());
    let before = before.or_else(|| std::env::var_os(VARIABLE));
    let value = value(&folder, before.as_deref())?;
    Some((VARIABLE.into(), value))
}

/// Where the library lies that was installed with a command.
fn folder_of(command: &Path) -> Option<PathBuf> {
    let folder = command.parent()?.parent()?.join("lib");
    folder.join(LIBRARY).is_file().then_some(folder)
}

/// The folder, and what was there before. Nothing where it is the first already, or cannot be said.
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
