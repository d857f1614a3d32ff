//! What the file of a program says about a heap that would be preloaded into it.
//!
//! The file is whatever the user names, so everything in it is an allegation: lengths are bounded, and what
//! makes no sense is a program into which nothing is preloaded.

use rustix::fs::FileType;
use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::Path;

/// What is read of one part of a file, at most: names of a large program's libraries and functions take some
/// megabytes.
const MAX_PART_BYTES: u64 = 64 << 20;

/// Bits of a mode.
const SET_ID: u32 = 0o6000;

/// The names of libraries and functions by which a program has a heap that watches its user: libraries begin
/// so, and functions are called so where the library is linked into the program.
const WATCHERS: [&str; 6] = [
    "libasan.so",
    "libtsan.so",
    "liblsan.so",
    "libubsan.so",
    "libhwasan.so",
    "libclang_rt.",
];
const WATCHING: [&str; 6] = [
    "__asan_init",
    "__tsan_init",
    "__lsan_init",
    "__msan_init",
    "__ubsan_handle_type_mismatch_v1",
    "__hwasan_init",
];

/// Why nothing is preloaded into a program, in words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unsuited {
    /// It has no dynamic linker.
    #[error("the program is linked statically")]
    Static,
    /// It runs with the rights of another.
    #[error("the program's file has a set-user-id or set-group-id bit")]
    SetId,
    /// It has a heap of its own, to find errors.
    #[error("the program has a sanitizer's heap")]
    Sanitized,
    /// It is not for this kind of processor or C library.
    #[error("the program has another dynamic linker than bcs")]
    OtherLinker,
    /// It has the heap that would be preloaded.
    #[error("the program has the heap in itself")]
    HasIt,
    /// It cannot be read, or makes no sense.
    #[error("the program's file cannot be read")]
    Unreadable,
}

impl From<io::Error> for Unsuited {
    fn from(_: io::Error) -> Self {
        Self::Unreadable
    }
}

/// Whether a heap can be preloaded into the program in a file. What is no ELF file is a script: the program that
/// its first line names is looked at by nobody.
///
/// # Errors
/// Why not.
pub fn suits(file: &Path) -> Result<(), Unsuited> {
    let file = File::open(file)?;
    let metadata = file.metadata()?;
    if FileType::from_raw_mode(metadata.mode()) != FileType::RegularFile {
        return Err(Unsuited::Unreadable);
    }
    if metadata.mode() & SET_ID != 0 {
        return Err(Unsuited::SetId);
    }
    let Some(elf) = Elf::read(&file)? else {
        return Ok(());
    };
    let linker = elf.linker()?.ok_or(Unsuited::Static)?;
    let bcs = File::open("/proc/self/exe")?;
    let bcs = Elf::read(&bcs)?.ok_or(Unsuited::Unreadable)?;
    let ours = bcs.linker()?.unwrap_or_default();
    if elf.machine != bcs.machine || last_of(&linker) != last_of(&ours) {
        return Err(Unsuited::OtherLinker);
    }
    if elf.has_note()? {
        return Err(Unsuited::HasIt);
    }
    if elf.is_watched()? {
        return Err(Unsuited::Sanitized);
    }
    Ok(())
}

/// The last component of a path.
fn last_of(path: &[u8]) -> Option<&[u8]> {
    path.rsplit(|byte| *byte == b'/').next()
}

/// An ELF file of 64 bits, little-endian.
struct Elf<'a> {
    file: &'a File,
    machine: u16,
    segments: Vec<Segment>,
}

/// A program header: `p_type`, `p_offset`, `p_vaddr`, `p_filesz`.
#[derive(Clone, Copy)]
struct Segment {
    kind: u32,
    offset: u64,
    address: u64,
    bytes: u64,
}

const LOAD: u32 = 1;
const DYNAMIC: u32 = 2;
const INTERPRETER: u32 = 3;
const NOTE: u32 = 4;

/// Tags of the dynamic section: the table of names, and its length.
const STRINGS: u64 = 5;
const STRINGS_BYTES: u64 = 10;

fn number<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..)?.first_chunk().copied()
}

fn word(bytes: &[u8], at: usize) -> Result<u64, Unsuited> {
    let found = number(bytes, at).map(u64::from_le_bytes);
    found.ok_or(Unsuited::Unreadable)
}

fn half(bytes: &[u8], at: usize) -> Result<u32, Unsuited> {
    let found = number(bytes, at).map(u32::from_le_bytes);
    found.ok_or(Unsuited::Unreadable)
}

fn quarter(bytes: &[u8], at: usize) -> Result<u16, Unsuited> {
    let found = number(bytes, at).map(u16::from_le_bytes);
    found.ok_or(Unsuited::Unreadable)
}

fn part(file: &File, offset: u64, bytes: u64) -> Result<Vec<u8>, Unsuited> {
    let length = file.metadata()?.len();
    let is_there = offset.checked_add(bytes).is_some_and(|end| end <= length);
    if !is_there || bytes > MAX_PART_BYTES {
        return Err(Unsuited::Unreadable);
    }
    let bytes = usize::try_from(bytes).map_err(|_| Unsuited::Unreadable)?;
    let mut part = vec![0; bytes];
    file.read_exact_at(&mut part, offset)?;
    Ok(part)
}

impl<'a> Elf<'a> {
    const HEADER_BYTES: usize = 64;
    const SEGMENT_BYTES: u64 = 56;

    /// `None` if it is no ELF file.
    fn read(file: &'a File) -> Result<Option<Self>, Unsuited> {
        let mut header = [0; Self::HEADER_BYTES];
        match file.read_exact_at(&mut header, 0) {
            // Shorter than any program.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
            other => other?,
        }
        let Some(rest) = header.strip_prefix(b"\x7fELF") else {
            return Ok(None);
        };
        if !rest.starts_with(&[2, 1]) {
            return Err(Unsuited::OtherLinker);
        }
        let at = word(&header, 32)?;
        let (bytes, count) = (quarter(&header, 54)?, quarter(&header, 56)?);
        if u64::from(bytes) != Self::SEGMENT_BYTES {
            return Err(Unsuited::Unreadable);
        }
        let table = part(file, at, u64::from(count) * Self::SEGMENT_BYTES)?;
        let segments = table.chunks_exact(usize::from(bytes)).map(|segment| {
            Ok(Segment {
                kind: half(segment, 0)?,
                offset: word(segment, 8)?,
                address: word(segment, 16)?,
                bytes: word(segment, 32)?,
            })
        });
        Ok(Some(Self {
            file,
            machine: quarter(&header, 18)?,
            segments: segments.collect::<Result<_, Unsuited>>()?,
        }))
    }

    fn parts(&self, kind: u32) -> impl Iterator<Item = Result<Vec<u8>, Unsuited>> {
        let segments = self.segments.iter().filter(move |one| one.kind == kind);
        segments.map(|segment| part(self.file, segment.offset, segment.bytes))
    }

    /// The path of the dynamic linker, if there is one.
    fn linker(&self) -> Result<Option<Vec<u8>>, Unsuited> {
        let Some(path) = self.parts(INTERPRETER).next().transpose()? else {
            return Ok(None);
        };
        Ok(path.split(|byte| *byte == 0).next().map(<[u8]>::to_vec))
    }

    /// Whether it has the note of `slot-heap`.
    fn has_note(&self) -> Result<bool, Unsuited> {
        for notes in self.parts(NOTE) {
            let notes = notes?;
            let mut rest = &notes[..];
            while let (Ok(name), Ok(description)) = (half(rest, 0), half(rest, 4)) {
                if rest.get(12..16) == Some(b"BCS\0") && name == 4 {
                    return Ok(true);
                }
                let padded = |bytes: u32| (bytes as usize).next_multiple_of(4);
                rest = match rest.get(12 + padded(name) + padded(description)..) {
                    Some(rest) => rest,
                    None => break,
                };
            }
        }
        Ok(false)
    }

    /// Whether a sanitizer's library or function is among the names that are linked when it starts.
    fn is_watched(&self) -> Result<bool, Unsuited> {
        let Some(dynamic) = self.parts(DYNAMIC).next().transpose()? else {
            return Ok(false);
        };
        let value = |tag| {
            let mut entries = dynamic.chunks_exact(16);
            let entry = entries.find(|entry| word(entry, 0) == Ok(tag))?;
            word(entry, 8).ok()
        };
        let (Some(address), Some(bytes)) = (value(STRINGS), value(STRINGS_BYTES)) else {
            return Ok(false);
        };
        let within = |one: &&Segment| {
            one.kind == LOAD
                && (one.address..one.address.saturating_add(one.bytes)).contains(&address)
        };
        let Some(segment) = self.segments.iter().find(within) else {
            return Err(Unsuited::Unreadable);
        };
        let offset = segment.offset.saturating_add(address - segment.address);
        let names = part(self.file, offset, bytes)?;
        let mut names = names.split(|byte| *byte == 0);
        Ok(names.any(|name| {
            WATCHERS.iter().any(|one| name.starts_with(one.as_bytes()))
                || WATCHING.iter().any(|one| name == one.as_bytes())
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    fn written(bytes: &[u8]) -> tempfile::NamedTempFile {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), bytes).unwrap();
        file
    }

    #[test]
    fn programs_of_this_machine_suit_and_so_do_scripts() {
        assert_eq!(suits("/bin/sh".as_ref()), Ok(()));
        assert_eq!(suits(written(b"#!/bin/sh\n").path()), Ok(()));
        assert_eq!(suits(written(b"").path()), Ok(()));
        assert_eq!(suits("/bin".as_ref()), Err(Unsuited::Unreadable));
        assert_eq!(suits("/no/such".as_ref()), Err(Unsuited::Unreadable));
    }

    #[test]
    fn what_is_changed_in_a_program_is_found() {
        let program = std::fs::read("/bin/sh").unwrap();
        let changed = |change: &dyn Fn(&mut Vec<u8>)| {
            let mut bytes = program.clone();
            change(&mut bytes);
            suits(written(&bytes).path())
        };
        // Its first program headers say where the headers are, and who the linker is.
        let interpreter = usize::try_from(word(&program, 32).unwrap()).unwrap() + 56;
        assert_eq!(half(&program, interpreter), Ok(INTERPRETER));
        let is_none = |bytes: &mut Vec<u8>| bytes[interpreter] = 0;
        assert_eq!(changed(&is_none), Err(Unsuited::Static));
        let is_long = |bytes: &mut Vec<u8>| bytes[interpreter + 39] = 0xff;
        assert_eq!(changed(&is_long), Err(Unsuited::Unreadable));
        let of_32_bits = |bytes: &mut Vec<u8>| bytes[4] = 1;
        assert_eq!(changed(&of_32_bits), Err(Unsuited::OtherLinker));
        let of_another_machine = |bytes: &mut Vec<u8>| bytes[18] ^= 1;
        assert_eq!(changed(&of_another_machine), Err(Unsuited::OtherLinker));
        let place = |bytes: &[u8], text: &[u8]| {
            let mut windows = bytes.windows(text.len());
            windows.position(|window| window == text).unwrap()
        };
        let musl = |bytes: &mut Vec<u8>| {
            let at = place(bytes, b"/ld-linux");
            bytes[at..at + 8].copy_from_slice(b"/ld-musl");
        };
        assert_eq!(changed(&musl), Err(Unsuited::OtherLinker));
        for watched in ["\0libasan.so", "\0__asan_init\0"] {
            let watched = |bytes: &mut Vec<u8>| {
                let at = place(bytes, b"\0libc.so.6\0");
                // Names that follow are written over: nobody starts this.
                bytes[at..at + watched.len()].copy_from_slice(watched.as_bytes());
            };
            assert_eq!(changed(&watched), Err(Unsuited::Sanitized));
        }
        let cut_off = |bytes: &mut Vec<u8>| bytes.truncate(100);
        assert_eq!(changed(&cut_off), Err(Unsuited::Unreadable));
    }

    #[test]
    fn a_file_with_the_rights_of_another_gets_nothing() {
        let file = written(b"#!/bin/sh\n");
        std::fs::set_permissions(file.path(), std::fs::Permissions::from_mode(0o4755)).unwrap();
        assert_eq!(suits(file.path()), Err(Unsuited::SetId));
    }
}
