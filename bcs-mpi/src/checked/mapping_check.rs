//! Whether the program sees its slot in a buffer of its heap, as other ranks will that copy there.
//!
//! A preloaded heap intercepts the calls that map memory, and records what is mapped over it
//! ([`bcs_core::memory::slot::remapped`]). A heap that is built into a Rust program does not, and
//! nothing can intercept a system call that the program makes in assembly. So a checked job
//! compares each long buffer with what the kernel has mapped there. This takes some microseconds,
//! and some ten on kernels before 6.11. Short buffers are not compared. They are mostly sent by
//! value.

use super::mapping_query::mapped_at;
use bcs_core::memory::OwnSlot;
use bcs_core::memory::slot::own;
use std::fs::File;
use std::io::Read as _;
use std::ops::Range;

/// Shorter buffers are not [checked](unknown_mapping).
pub(crate) const LEAST_COMPARED_BYTES: usize = 16 * 1024;

/// A mapping of `/proc/self/maps`.
struct MappedArea<'a> {
    addresses: Range<usize>,
    /// The access, such as `rw-s`.
    access: &'a str,
    offset: usize,
    file: u64,
    name: &'a str,
}

impl<'a> MappedArea<'a> {
    /// Parses a line such as `8000000000-10000000000 rw-s 00000000 00:01 1031 /memfd:slot
    /// (deleted)`.
    fn of(line: &'a str) -> Option<Self> {
        let hexadecimal = |word| usize::from_str_radix(word, 16).ok();
        let mut words = line.splitn(6, ' ');
        let (start, end) = words.next()?.split_once('-')?;
        let addresses = hexadecimal(start)?..hexadecimal(end)?;
        let (access, offset) = (words.next()?, hexadecimal(words.next()?)?);
        let (_device, file) = (words.next()?, words.next()?.parse().ok()?);
        Some(Self {
            addresses,
            access,
            offset,
            file,
            name: words.next().unwrap_or_default().trim(),
        })
    }

    fn is_of(&self, own: &OwnSlot, file: u64) -> bool {
        self.file == file
            && self.access.starts_with("rw")
            && self.access.ends_with('s')
            && self.addresses.start.checked_sub(own.slot().base()) == Some(self.offset)
    }
}

/// Returns the other mapping over these bytes of the heap that the heap does not know. Returns
/// `None` if there is none, or the bytes are not in the heap.
#[cold]
pub(crate) fn unknown_mapping(address: u64, len: usize) -> Option<String> {
    let own = own()?.ok()?;
    let address = usize::try_from(address).ok()?;
    if !own.slot().contains(address, len) {
        return None;
    }
    if own.remapped().overlaps(address - own.slot().base(), len) {
        return None; // The heap has recorded this mapping, so other ranks know of it.
    }
    let file = rustix::fs::fstat(own.fd()).ok()?.st_ino;
    let mut list = File::open("/proc/self/maps").ok()?;
    if is_all_slot(&list, address..address + len, own, file) {
        return None;
    }
    let mut maps = String::new();
    list.read_to_string(&mut maps).ok()?;
    otherwise_mapped(&maps, address..address + len, |mapping| {
        mapping.is_of(own, file)
    })
}

/// Returns whether the kernel says at once that these bytes are the slot's.
fn is_all_slot(maps: &File, buffer: Range<usize>, own: &OwnSlot, file: u64) -> bool {
    let (mut at, base) = (buffer.start as u64, own.slot().base() as u64);
    while at < buffer.end as u64 {
        match mapped_at(maps, at) {
            Ok(part)
                if part.inode == file
                    && part.is_shared_memory
                    && part.start.checked_sub(base) == Some(part.offset) =>
            {
                at = part.end;
            }
            _ => return false,
        }
    }
    true
}

fn otherwise_mapped(
    maps: &str,
    buffer: Range<usize>,
    is_slots: impl Fn(&MappedArea<'_>) -> bool,
) -> Option<String> {
    let mut at = buffer.start;
    for mapping in maps.lines().filter_map(MappedArea::of) {
        if mapping.addresses.end <= at {
            continue;
        }
        if at >= buffer.end || mapping.addresses.start > at {
            break;
        }
        if !is_slots(&mapping) {
            let name = match mapping.name {
                "" => "memory without a file",
                name => name,
            };
            return Some(format!("{name} ({}) from {at:#x} on", mapping.access));
        }
        at = mapping.addresses.end;
    }
    (at < buffer.end).then(|| format!("nothing from {at:#x} on"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAPS: &str = "\
1000-3000 r-xp 00000000 fe:00 7                                  /bin/program
8000000000-8000010000 rw-s 00000000 00:01 1031                       /memfd:slot (deleted)
8000010000-8000011000 rw-p 00000000 00:00 0 
8000011000-8000020000 rw-s 00011000 00:01 1031                       /memfd:slot (deleted)
8000020000-8000021000 r--s 00020000 00:01 1031                       /memfd:slot (deleted)
8000021000-8000022000 rw-s 00000000 fe:00 9                          /tmp/a file
8000030000-8000040000 rw-s 00030000 00:01 1031                       /memfd:slot (deleted)
";

    #[test]
    fn what_is_not_the_slots_is_found_and_named() {
        let found = |from: usize, to: usize| {
            let base = 0x80_0000_0000;
            otherwise_mapped(MAPS, base + from..base + to, |mapping| {
                mapping.file == 1031
                    && mapping.access == "rw-s"
                    && mapping.addresses.start - base == mapping.offset
            })
        };
        assert_eq!(found(0, 0x1_0000), None);
        assert_eq!(found(0x1_1000, 0x2_0000), None);
        assert_eq!(found(0x3_0800, 0x3_0900), None);
        for (from, to, name) in [
            (
                0,
                0x1_0001,
                "memory without a file (rw-p) from 0x8000010000 on",
            ),
            (
                0x1_1000,
                0x2_0800,
                "/memfd:slot (deleted) (r--s) from 0x8000020000 on",
            ),
            (
                0x2_1000,
                0x2_1001,
                "/tmp/a file (rw-s) from 0x8000021000 on",
            ),
            (0x3_0000, 0x4_0001, "nothing from 0x8000040000 on"),
            (0x2_8000, 0x2_8001, "nothing from 0x8000028000 on"),
        ] {
            assert_eq!(found(from, to).as_deref(), Some(name));
        }
    }
}
