//! The installed libraries of programs in C: ranks find them before any other.
//!
//! All libraries of an ABI have one name (MPI 5.0, 20.2, for the standard's), and a program may
//! record the folder where it was linked to one of them. Under this launcher another library than
//! ours does not know its job, and each rank would be a world of its own. So we put our folders
//! first in the dynamic linker's variable, which takes precedence over the program's record
//! (`RUNPATH`). Programs without a record find the library there, too. An older kind of record,
//! `RPATH`, takes precedence over the variable: [`foreign_mpi`](crate::foreign_mpi) reports such a
//! program.
//!
//! Libraries of other ABIs than the standard's have the names of other MPIs' libraries. So they are
//! in folders of their own, which only this launcher puts where linkers look. In an environment of
//! Python they are in its `lib`, where packages look for them.

use crate::control::Application;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// The folders below the command's prefix, and the library in each.
const LIBRARIES: [(&str, &str); 2] = [("lib", "libmpi_abi.so.1"), ("lib/mpich", "libmpi.so.12")];

/// The dynamic linker's variable: a list of folders to search first, separated by colons.
const VARIABLE: &str = "LD_LIBRARY_PATH";

/// Returns the variable for the ranks of an application, if it has to be set.
pub(crate) fn library_variable(application: &Application) -> Option<(OsString, OsString)> {
    let folders = folders_of(&std::env::current_exe().ok()?);
    let own = application.environment.iter().rev();
    let mut own = own.filter(|(name, _)| name == VARIABLE);
    let before = own.next().map(|(_, value)| value.clone());
    let before = before.or_else(|| std::env::var_os(VARIABLE));
    let value = value(&folders, before.as_deref())?;
    Some((VARIABLE.into(), value))
}

/// Returns the library of this file name that ranks find first. It may be another MPI's: in an
/// environment of Python all libraries lie in one folder, and the last package that was installed
/// has replaced those of others.
pub(crate) fn first_of_name(name: &[u8]) -> Option<PathBuf> {
    let folders = folders_of(&std::env::current_exe().ok()?);
    let mut paths = folders
        .iter()
        .map(|folder| folder.join(OsStr::from_bytes(name)));
    paths.find(|path| path.is_file())
}

/// Finds the folders of the libraries that were installed with a command.
fn folders_of(command: &Path) -> Vec<PathBuf> {
    let Some(prefix) = command.parent().and_then(Path::parent) else {
        return Vec::new();
    };
    let folders = LIBRARIES
        .iter()
        .map(|(folder, library)| (prefix.join(folder), library));
    let installed = folders.filter(|(folder, library)| folder.join(library).is_file());
    installed.map(|(folder, _)| folder).collect()
}

/// Returns the folders followed by the previous value, or `None` if they are first already. A
/// folder that cannot be written in a list is left out.
fn value(folders: &[PathBuf], before: Option<&OsStr>) -> Option<OsString> {
    let folders = folders.iter().map(|folder| folder.as_os_str().as_bytes());
    let folders: Vec<&[u8]> = folders.filter(|folder| !folder.contains(&b':')).collect();
    let ours = folders.join(&b':');
    let before = before.map(OsStr::as_bytes).unwrap_or_default();
    let rest = before.strip_prefix(&ours[..]);
    let are_first = rest.is_some_and(|rest| rest.is_empty() || rest[0] == b':');
    if ours.is_empty() || are_first {
        return None;
    }
    let both = match before.is_empty() {
        true => ours,
        false => [&ours, before].join(&b':'),
    };
    Some(OsStr::from_bytes(&both).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_folders_come_first_and_once() {
        let value = |folders: &[&str], before: Option<&str>| {
            let folders: Vec<PathBuf> = folders.iter().map(PathBuf::from).collect();
            let value = value(&folders, before.map(OsStr::new));
            value.map(|value| value.into_string().unwrap())
        };
        let one = ["/b/lib"];
        assert_eq!(value(&one, None).as_deref(), Some("/b/lib"));
        assert_eq!(value(&one, Some("")).as_deref(), Some("/b/lib"));
        assert_eq!(value(&one, Some("/a:/c")).as_deref(), Some("/b/lib:/a:/c"));
        assert_eq!(value(&one, Some("/b/lib:/a")), None);
        assert_eq!(value(&["/a:b/lib"], None), None);
        assert_eq!(value(&[], Some("/a")), None);
        let two = ["/b/lib", "/b/lib/mpich"];
        let both = Some("/b/lib:/b/lib/mpich:/b/lib");
        assert_eq!(value(&two, Some("/b/lib")).as_deref(), both);
        assert_eq!(value(&two, both), None);
    }

    #[test]
    fn a_command_that_is_not_installed_has_no_library() {
        let here = std::env::current_exe().unwrap();
        assert!(folders_of(&here).is_empty());
        assert_eq!(first_of_name(b"libmpi.so.12"), None);
    }

    #[test]
    fn folders_are_those_that_have_their_library() {
        let prefix = tempfile::tempdir().unwrap();
        let mpich = prefix.path().join("lib/mpich");
        std::fs::create_dir_all(&mpich).unwrap();
        let command = prefix.path().join("bin/bcs");
        assert!(folders_of(&command).is_empty());
        std::fs::write(mpich.join("libmpi.so.12"), "").unwrap();
        assert_eq!(folders_of(&command), [mpich]);
    }
}
