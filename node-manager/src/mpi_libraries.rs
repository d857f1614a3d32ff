//! Libraries of MPIs: which ones a process has mapped, and which one a program is linked with.
//!
//! Our libraries of other ABIs have the names of those MPIs' libraries. A file is known as ours by
//! functions and variables that only ours has.

use crate::library_path;
use crate::program_file;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

/// The number of processes of a rank to look at: a script's, its children's, and so on.
const PROCESSES: usize = 32;

/// Libraries of MPIs, without `.so` and the rest. Ours is `libmpi_abi`.
const LIBRARIES: [&str; 7] = [
    "libmpi",
    "libmpich",
    "libmpicxx",
    "libmpichcxx",
    "libmpifort",
    "libmpichfort",
    "libmpitrampoline",
];

/// The beginning of the names of a vendor's libraries for one compiler (`libmpi_intel`) or
/// language.
const VARIANT: &str = "libmpi_";

/// The library of the standard ABI: ours, and that of other MPIs.
const ABI: &str = "libmpi_abi";

/// Its file, whose name goes on with a version.
const ABI_FILE: &[u8] = b"libmpi_abi.so";

/// Names that ours have in addition to MPI's: a function of `bcs.h`, and the variable of the
/// library of MPICH's ABI (`mpich-abi/src/variables.rs`).
const OWN_NAMES: [&[u8]; 2] = [b"bcs_barrier", b"bcs_mpich_abi"];

/// Returns whether a library's file name is that of another MPI.
fn is_foreign(name: &[u8]) -> bool {
    let Ok(name) = std::str::from_utf8(name) else {
        return false;
    };
    let Some((stem, version)) = name.split_once(".so") else {
        return false;
    };
    let is_library = version.is_empty() || version.starts_with('.');
    // Some packagers append a hash to the name (`libmpi-1a2b3c4d.so.12`).
    let stem = stem.split_once('-').map_or(stem, |(stem, _)| stem);
    let is_mpi = LIBRARIES.contains(&stem) || stem.starts_with(VARIANT) && stem != ABI;
    is_library && is_mpi
}

/// Finds the library of another MPI that a running process or one of its descendants has mapped.
pub(crate) fn mapped(pid: i32) -> Option<String> {
    let mut waiting = vec![pid];
    let mut known = BTreeSet::new();
    while let Some(pid) = waiting.pop() {
        if known.len() < PROCESSES && known.insert(pid) {
            let maps = std::fs::read(format!("/proc/{pid}/maps")).unwrap_or_default();
            if let Some(library) = in_maps(&maps) {
                return Some(library);
            }
            let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"));
            let children = children.unwrap_or_default();
            let children = children.split_ascii_whitespace();
            waiting.extend(children.filter_map(|child| child.parse::<i32>().ok()));
        }
    }
    None
}

/// Returns whether a library of this file name was installed with the command, and is still ours.
#[must_use]
pub fn provides(name: &[u8]) -> bool {
    let found = library_path::first_of_name(name);
    found.is_some_and(|path| is_ours(path.as_os_str().as_bytes()))
}

/// Finds the library of another MPI that a program is linked with. It is ours if we provide one of
/// this name, unless the program names folders that the linker searches before ours.
pub(crate) fn linked_with(program: &Path) -> Option<String> {
    let library = program_file::names(program, is_foreign).ok()??;
    let finds_ours = provides(&library) && !program_file::has_rpath(program).unwrap_or_default();
    (!finds_ours).then(|| String::from_utf8_lossy(&library).into_owned())
}

fn in_maps(maps: &[u8]) -> Option<String> {
    let lines = maps.split(|&byte| byte == b'\n');
    let mut paths = lines.filter_map(|line| {
        let path = line.iter().position(|&byte| byte == b'/')?;
        Some(&line[path..])
    });
    let path = paths.find(|path| {
        let name = path.rsplit(|&byte| byte == b'/').next().unwrap_or_default();
        (is_foreign(name) || name.starts_with(ABI_FILE)) && !is_ours(path)
    })?;
    Some(String::from_utf8_lossy(path).into_owned())
}

/// Returns whether a library has a name that only ours have.
fn is_ours(path: &[u8]) -> bool {
    let is_own_name = |name: &[u8]| OWN_NAMES.contains(&name);
    let found = program_file::names(Path::new(OsStr::from_bytes(path)), is_own_name);
    match found {
        Ok(found) => found.is_some(),
        // A file that cannot be read tells its name alone. The standard ABI's may be ours.
        Err(_) => {
            let name = path.rsplit(|&byte| byte == b'/').next();
            name.is_some_and(|name| name.starts_with(ABI_FILE))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_of_other_mpis_are_known_by_their_names() {
        for name in [
            "libmpi.so.12",
            "libmpi.so",
            "libmpi.so.40.30.6",
            "libmpich.so.12",
            "libmpi_cxx.so.40",
            "libmpi_gnu_91.so.12",
            "libmpifort.so.12",
            "libmpi-1a2b3c.so.12",
        ] {
            assert!(is_foreign(name.as_bytes()), "{name}");
        }
        for name in [
            "libmpi_abi.so.1",
            "libmpi_abi.so",
            "libmpir.so.23",
            "libmpiP.so",
            "libmpi",
            "libmpi.source",
            "libm.so.6",
        ] {
            assert!(!is_foreign(name.as_bytes()), "{name}");
        }
    }

    #[test]
    fn they_are_found_among_what_is_mapped() {
        let maps = b"7f00-7f01 r-xp 00000000 08:01 12 /usr/lib/libm.so.6\n\
                     7f01-7f02 rw-p 00000000 00:00 0 \n\
                     7f02-7f03 r-xp 00000000 08:01 12 /opt/my mpi/lib/libmpi.so.40.1\n";
        assert_eq!(in_maps(maps).unwrap(), "/opt/my mpi/lib/libmpi.so.40.1");
        assert_eq!(in_maps(&maps[..90]), None);
        let directory = tempfile::tempdir().unwrap();
        let library = directory.path().join("libmpi_abi.so.1");
        std::fs::copy("/bin/sh", &library).unwrap();
        let maps = format!("7f00-7f01 r-xp 00000000 08:01 12 {}\n", library.display());
        assert!(in_maps(maps.as_bytes()).is_some(), "it lacks our own calls");
        std::fs::remove_file(library).unwrap();
        assert_eq!(in_maps(maps.as_bytes()), None, "nobody knows");
        assert_eq!(
            mapped(rustix::process::getpid().as_raw_nonzero().get()),
            None
        );
    }
}
