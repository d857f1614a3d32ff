//! Examines a program's file, to decide whether a heap can be preloaded into it.
//!
//! The user may name any file, so nothing in it is trusted: lengths are bounded, and nothing is
//! preloaded into an invalid file.

use object::elf::{
    DT_RPATH, DT_RUNPATH, DT_STRSZ, DT_STRTAB, Dyn64, DynamicTag, ELFMAG, FileHeader64, Machine,
    PT_DYNAMIC, PT_INTERP, PT_LOAD, PT_NOTE, ProgramHeader64, ProgramType,
};
use object::read::elf::{FileHeader as _, ProgramHeader as _};
use object::{LittleEndian, ReadCache, ReadRef as _};
use rustix::fs::FileType;
use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

/// The most that is read of one part of a file. The names of a large program's libraries and
/// functions take some megabytes.
const MAX_PART_BYTES: u64 = 64 << 20;

/// Bits of a file's mode.
const SET_ID: u32 = 0o6000;

/// Names of libraries and functions of heaps that check their program. Libraries begin with these
/// names. Functions have them if the library is linked into the program.
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

/// A reason, in words, why nothing is preloaded into a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PreloadRefusal {
    /// It has no dynamic linker.
    #[error("the program is linked statically")]
    Static,
    /// It runs with the rights of another user.
    #[error("the program's file has a set-user-id or set-group-id bit")]
    SetId,
    /// It has a heap that finds errors.
    #[error("the program has a sanitizer's heap")]
    Sanitized,
    /// It is for another kind of processor or C library.
    #[error("the program has another dynamic linker than bcs")]
    OtherLinker,
    /// It already contains the heap that would be preloaded.
    #[error("the program has the heap in itself")]
    HasIt,
    /// It cannot be read, or is invalid.
    #[error("the program's file cannot be read")]
    Unreadable,
}

impl From<object::Error> for PreloadRefusal {
    fn from(_: object::Error) -> Self {
        Self::Unreadable
    }
}

impl From<io::Error> for PreloadRefusal {
    fn from(_: io::Error) -> Self {
        Self::Unreadable
    }
}

/// Checks whether a heap can be preloaded into the program in a file. A file that is not ELF is a
/// script: the program that its first line names is not examined.
///
/// # Errors
/// The reason if not.
pub fn suits(file: &Path) -> Result<(), PreloadRefusal> {
    let file = File::open(file)?;
    let metadata = file.metadata()?;
    if FileType::from_raw_mode(metadata.mode()) != FileType::RegularFile {
        return Err(PreloadRefusal::Unreadable);
    }
    if metadata.mode() & SET_ID != 0 {
        return Err(PreloadRefusal::SetId);
    }
    let file = ReadCache::new(file);
    let Some(elf) = Elf::read(&file)? else {
        return Ok(());
    };
    let linker = elf.linker()?.ok_or(PreloadRefusal::Static)?;
    let bcs = ReadCache::new(File::open("/proc/self/exe")?);
    let bcs = Elf::read(&bcs)?.ok_or(PreloadRefusal::Unreadable)?;
    let ours = bcs.linker()?.unwrap_or_default();
    if elf.machine() != bcs.machine() || last_of(linker) != last_of(ours) {
        return Err(PreloadRefusal::OtherLinker);
    }
    if elf.has_note()? {
        return Err(PreloadRefusal::HasIt);
    }
    if elf.is_watched()? {
        return Err(PreloadRefusal::Sanitized);
    }
    Ok(())
}

/// Finds the first of the names in question among the libraries and functions that the program in a
/// file is linked with. A file that is not ELF has none.
///
/// # Errors
/// It cannot be read.
pub(crate) fn names(
    file: &Path,
    is_sought: impl Fn(&[u8]) -> bool,
) -> Result<Option<Vec<u8>>, PreloadRefusal> {
    let file = File::open(file)?;
    if !file.metadata()?.is_file() {
        return Err(PreloadRefusal::Unreadable);
    }
    let file = ReadCache::new(file);
    match Elf::read(&file)? {
        Some(elf) => Ok(elf.find_name(is_sought)?.map(<[u8]>::to_vec)),
        None => Ok(None),
    }
}

/// Returns whether the program in a file names folders that the dynamic linker searches before
/// those of `LD_LIBRARY_PATH`: it has an `RPATH`, and no `RUNPATH`.
///
/// # Errors
/// It cannot be read.
pub(crate) fn has_rpath(file: &Path) -> Result<bool, PreloadRefusal> {
    let file = ReadCache::new(File::open(file)?);
    let Some(elf) = Elf::read(&file)? else {
        return Ok(false);
    };
    let entries = elf.dynamic()?;
    let has = |tag: DynamicTag| entries.iter().any(|one| one.d_tag.get(ORDER) == tag);
    Ok(has(DT_RPATH) && !has(DT_RUNPATH))
}

/// Returns the last component of a path.
fn last_of(path: &[u8]) -> Option<&[u8]> {
    path.rsplit(|byte| *byte == b'/').next()
}

/// An ELF file of 64 bits, little-endian.
struct Elf<'a> {
    file: &'a ReadCache<File>,
    header: &'a FileHeader64<LittleEndian>,
    segments: &'a [ProgramHeader64<LittleEndian>],
}

const ORDER: LittleEndian = LittleEndian;

impl<'a> Elf<'a> {
    /// Reads its header; returns `None` if it is no ELF file.
    fn read(file: &'a ReadCache<File>) -> Result<Option<Self>, PreloadRefusal> {
        if file.read_bytes_at(0, ELFMAG.len() as u64) != Ok(&ELFMAG[..]) {
            return Ok(None);
        }
        let header = FileHeader64::<LittleEndian>::parse(file);
        let header = header.map_err(|_| PreloadRefusal::OtherLinker)?;
        header.endian().map_err(|_| PreloadRefusal::OtherLinker)?;
        let segments = header.program_headers(ORDER, file)?;
        Ok(Some(Self {
            file,
            header,
            segments,
        }))
    }

    fn machine(&self) -> Machine {
        self.header.e_machine(ORDER)
    }

    /// Returns the segments of a kind. None that is longer than the limit is read.
    fn segments(
        &self,
        kind: ProgramType,
    ) -> impl Iterator<Item = Result<&'a ProgramHeader64<LittleEndian>, PreloadRefusal>> {
        let segments = self.segments.iter();
        let segments = segments.filter(move |one| one.p_type(ORDER) == kind);
        segments.map(|one| match one.p_filesz(ORDER) <= MAX_PART_BYTES {
            true => Ok(one),
            false => Err(PreloadRefusal::Unreadable),
        })
    }

    /// Returns the path of the dynamic linker, if there is one.
    fn linker(&self) -> Result<Option<&'a [u8]>, PreloadRefusal> {
        match self.segments(PT_INTERP).next() {
            Some(segment) => Ok(segment?.interpreter(ORDER, self.file)?),
            None => Ok(None),
        }
    }

    /// Returns whether it has the note of `slot-heap`.
    fn has_note(&self) -> Result<bool, PreloadRefusal> {
        for segment in self.segments(PT_NOTE) {
            let Some(mut notes) = segment?.notes(ORDER, self.file)? else {
                continue;
            };
            while let Some(note) = notes.next()? {
                if note.name() == b"BCS" {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    /// Returns whether a sanitizer's library or function is among the names that are linked at its
    /// start.
    fn is_watched(&self) -> Result<bool, PreloadRefusal> {
        let is_watcher = |name: &[u8]| {
            WATCHERS.iter().any(|one| name.starts_with(one.as_bytes()))
                || WATCHING.iter().any(|one| name == one.as_bytes())
        };
        Ok(self.find_name(is_watcher)?.is_some())
    }

    /// Returns what the file tells the dynamic linker.
    fn dynamic(&self) -> Result<&'a [Dyn64<LittleEndian>], PreloadRefusal> {
        match self.segments(PT_DYNAMIC).next().transpose()? {
            Some(dynamic) => Ok(dynamic.dynamic(ORDER, self.file)?.unwrap_or_default()),
            None => Ok(&[]),
        }
    }

    /// Finds the first of the names in question among the libraries and functions that are linked
    /// at its start.
    fn find_name(
        &self,
        is_sought: impl Fn(&[u8]) -> bool,
    ) -> Result<Option<&'a [u8]>, PreloadRefusal> {
        let entries = self.dynamic()?;
        let value = |tag: DynamicTag| {
            let entry = entries.iter().find(|one| one.d_tag.get(ORDER) == tag);
            entry.map(|entry| entry.d_val.get(ORDER))
        };
        let (Some(address), Some(bytes)) = (value(DT_STRTAB), value(DT_STRSZ)) else {
            return Ok(None);
        };
        if bytes > MAX_PART_BYTES {
            return Err(PreloadRefusal::Unreadable);
        }
        let loaded = self
            .segments
            .iter()
            .filter(|one| one.p_type(ORDER) == PT_LOAD);
        let mut names = loaded.map(|one| one.data_range(ORDER, self.file, address, bytes));
        let names = names.find_map(Result::transpose).transpose();
        let names = names.map_err(|()| PreloadRefusal::Unreadable)?;
        let mut names = names
            .ok_or(PreloadRefusal::Unreadable)?
            .split(|byte| *byte == 0);
        Ok(names.find(|name| is_sought(name)))
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
        assert_eq!(suits("/bin".as_ref()), Err(PreloadRefusal::Unreadable));
        assert_eq!(suits("/no/such".as_ref()), Err(PreloadRefusal::Unreadable));
    }

    #[test]
    fn what_is_changed_in_a_program_is_found() {
        let program = std::fs::read("/bin/sh").unwrap();
        let changed = |change: &dyn Fn(&mut Vec<u8>)| {
            let mut bytes = program.clone();
            change(&mut bytes);
            suits(written(&bytes).path())
        };
        // Its first program headers hold the place of the headers, and the linker.
        let headers = u64::from_le_bytes(program[32..40].try_into().unwrap());
        let interpreter = usize::try_from(headers).unwrap() + 56;
        assert_eq!(program[interpreter..][..4], PT_INTERP.0.to_le_bytes());
        let is_none = |bytes: &mut Vec<u8>| bytes[interpreter] = 0;
        assert_eq!(changed(&is_none), Err(PreloadRefusal::Static));
        let is_long = |bytes: &mut Vec<u8>| bytes[interpreter + 39] = 0xff;
        assert_eq!(changed(&is_long), Err(PreloadRefusal::Unreadable));
        let of_32_bits = |bytes: &mut Vec<u8>| bytes[4] = 1;
        assert_eq!(changed(&of_32_bits), Err(PreloadRefusal::OtherLinker));
        let of_another_machine = |bytes: &mut Vec<u8>| bytes[18] ^= 1;
        assert_eq!(
            changed(&of_another_machine),
            Err(PreloadRefusal::OtherLinker)
        );
        let place = |bytes: &[u8], text: &[u8]| {
            let mut windows = bytes.windows(text.len());
            windows.position(|window| window == text).unwrap()
        };
        let musl = |bytes: &mut Vec<u8>| {
            let at = place(bytes, b"/ld-linux");
            bytes[at..at + 8].copy_from_slice(b"/ld-musl");
        };
        assert_eq!(changed(&musl), Err(PreloadRefusal::OtherLinker));
        for watched in ["\0libasan.so", "\0__asan_init\0"] {
            let watched = |bytes: &mut Vec<u8>| {
                let at = place(bytes, b"\0libc.so.6\0");
                // This overwrites the names that follow, but nobody starts this file.
                bytes[at..at + watched.len()].copy_from_slice(watched.as_bytes());
            };
            assert_eq!(changed(&watched), Err(PreloadRefusal::Sanitized));
        }
        let cut_off = |bytes: &mut Vec<u8>| bytes.truncate(100);
        assert_eq!(changed(&cut_off), Err(PreloadRefusal::Unreadable));
    }

    #[test]
    fn a_file_with_the_rights_of_another_gets_nothing() {
        let file = written(b"#!/bin/sh\n");
        std::fs::set_permissions(file.path(), std::fs::Permissions::from_mode(0o4755)).unwrap();
        assert_eq!(suits(file.path()), Err(PreloadRefusal::SetId));
    }
}
