//! Finds out what installed files need of a machine.
//!
//! The GNU C library gives each function the version in which it was last changed. A program asks
//! for the versions of the functions that it calls, so the newest of them is the oldest C library
//! with which the program runs.

use std::collections::BTreeSet;
use std::fs;

use anyhow::{Context, Result, ensure};
use object::Endianness;
use object::elf::FileHeader64;
use object::read::elf::{Dyn as _, FileHeader as _};

use super::tree::{EntryKind, TreeEntry};

/// A version of the GNU C library.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct GlibcVersion {
    pub(super) major: u32,
    pub(super) minor: u32,
}

/// Libraries that every machine with the GNU C library has (PEP 600 lists them for wheels).
const EVERYWHERE: [&str; 9] = [
    "ld-linux-x86-64.so.2",
    "libc.so.6",
    "libdl.so.2",
    "libgcc_s.so.1",
    "libm.so.6",
    "libpthread.so.0",
    "libresolv.so.2",
    "librt.so.1",
    "libutil.so.1",
];

/// Returns the oldest C library with which all files run.
///
/// # Errors
///
/// A file cannot be read, or needs a library that not every machine has.
pub(super) fn oldest_glibc(entries: &[TreeEntry]) -> Result<GlibcVersion> {
    let mut oldest = GlibcVersion {
        major: 2,
        minor: 17,
    };
    let ours: BTreeSet<&str> = entries
        .iter()
        .filter_map(|entry| entry.path.rsplit('/').next())
        .collect();
    for entry in entries {
        let EntryKind::File { at, .. } = &entry.kind else {
            continue;
        };
        let context = || format!("failed to read what {} needs", at.display());
        let bytes = fs::read(at).with_context(context)?;
        if !bytes.starts_with(b"\x7fELF") {
            continue;
        }
        let needs = ElfNeeds::of(&bytes).with_context(context)?;
        for library in needs.libraries {
            ensure!(
                EVERYWHERE.contains(&library.as_str()) || ours.contains(library.as_str()),
                "{} needs {library}, which not every machine has",
                at.display()
            );
        }
        oldest = needs.versions.into_iter().fold(oldest, Ord::max);
    }
    Ok(oldest)
}

/// The needs of one file.
#[derive(Debug, Default)]
struct ElfNeeds {
    libraries: Vec<String>,
    versions: Vec<GlibcVersion>,
}

impl ElfNeeds {
    fn of(bytes: &[u8]) -> Result<Self> {
        let header = FileHeader64::<Endianness>::parse(bytes)?;
        let endian = header.endian()?;
        let sections = header.sections(endian, bytes)?;
        let mut needs = Self::default();
        if let Some((dynamic, strings)) = sections.dynamic(endian, bytes)? {
            let strings = sections.strings(endian, bytes, strings)?;
            for entry in dynamic {
                if entry.tag(endian) == object::elf::DT_NEEDED {
                    let name = entry.string(endian, strings)?;
                    needs
                        .libraries
                        .push(String::from_utf8_lossy(name).into_owned());
                }
            }
        }
        if let Some((mut verneeds, strings)) = sections.gnu_verneed(endian, bytes)? {
            let strings = sections.strings(endian, bytes, strings)?;
            while let Some((_, mut versions)) = verneeds.next()? {
                while let Some(version) = versions.next()? {
                    let name = String::from_utf8_lossy(version.name(endian, strings)?);
                    needs.versions.extend(parse(&name));
                }
            }
        }
        Ok(needs)
    }
}

/// Parses the name of a version. Versions of other libraries, and private ones, are `None`.
fn parse(name: &str) -> Option<GlibcVersion> {
    let mut numbers = name.strip_prefix("GLIBC_")?.split('.');
    let major = numbers.next()?.parse().ok()?;
    let minor = numbers.next()?.parse().ok()?;
    Some(GlibcVersion { major, minor })
}

/// Returns the needs of one file, for tests.
#[cfg(test)]
fn needs_of(path: &std::path::Path) -> ElfNeeds {
    ElfNeeds::of(&fs::read(path).expect("it can be read")).expect("it is an ELF file")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_as_numbers() {
        let older = parse("GLIBC_2.9").unwrap();
        let newer = parse("GLIBC_2.34").unwrap();
        assert!(older < newer);
        assert_eq!(
            parse("GLIBC_2.3.4"),
            Some(GlibcVersion { major: 2, minor: 3 })
        );
        assert_eq!(parse("GLIBC_PRIVATE"), None);
        assert_eq!(parse("GCC_3.0"), None);
    }

    #[test]
    fn this_test_needs_the_c_library_of_a_version() {
        let needs = needs_of(&std::env::current_exe().unwrap());
        assert!(
            needs.libraries.contains(&"libc.so.6".to_owned()),
            "{needs:?}"
        );
        assert!(!needs.versions.is_empty());
    }

    #[test]
    fn a_library_that_not_every_machine_has_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let source = folder.path().join("a.c");
        fs::write(&source, "int a(void) { return 1; }\n").unwrap();
        let build = |words: &[&str]| {
            let mut cc = std::process::Command::new("cc");
            let built = cc.current_dir(folder.path()).args(words).status();
            assert!(built.expect("cc runs").success());
        };
        build(&["-shared", "-o", "libodd.so", "a.c"]);
        build(&[
            "-shared",
            "-Wl,--no-as-needed",
            "-o",
            "libuser.so",
            "a.c",
            "-L.",
            "-lodd",
        ]);
        let entry = |name: &str| TreeEntry {
            path: format!("lib/{name}"),
            kind: EntryKind::File {
                at: folder.path().join(name),
                executable: true,
            },
        };
        let alone = oldest_glibc(&[entry("libuser.so")]).unwrap_err();
        assert!(alone.to_string().contains("needs libodd.so"), "{alone}");
        oldest_glibc(&[entry("libuser.so"), entry("libodd.so")]).expect("it brings its own");
    }
}
