//! The kernel's query for one mapping of this process (`PROCMAP_QUERY` of `/proc/self/maps`, Linux
//! 6.11 and later). It takes some microseconds, and reading the whole file some ten times as long.

use rustix::io::Result;
use rustix::ioctl::{Opcode, Updater, ioctl, opcode};
use std::fs::File;

/// The request and the answer, `struct procmap_query` of `linux/fs.h`.
#[derive(Debug, Default)]
#[repr(C)]
struct QueryRecord {
    size: u64,
    query_flags: u64,
    query_address: u64,
    start: u64,
    end: u64,
    flags: u64,
    page_size: u64,
    offset: u64,
    inode: u64,
    device: [u32; 2],
    /// Lengths of a name and of a build id that are requested.
    requested: [u32; 2],
    requested_at: [u64; 2],
}

const QUERY: Opcode = opcode::read_write::<QueryRecord>(b'f', 17);

/// The mapping may be read, may be written, and is shared.
const READ_WRITE_SHARED: u64 = 1 | 2 | 8;

/// A part of a file that is mapped.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct FilePart {
    pub(super) start: u64,
    pub(super) end: u64,
    pub(super) offset: u64,
    pub(super) inode: u64,
    /// Whether it is shared, and may be read and written.
    pub(super) is_shared_memory: bool,
}

/// Returns what is mapped at an address, from `/proc/self/maps`.
///
/// # Errors
/// When nothing is mapped there, or the kernel does not know the query.
#[expect(unsafe_code, reason = "a request to the kernel")]
pub(super) fn mapped_at(maps: &File, address: u64) -> Result<FilePart> {
    let mut record = QueryRecord {
        size: size_of::<QueryRecord>() as u64,
        query_address: address,
        ..QueryRecord::default()
    };
    // SAFETY: the number is that of a request that reads and writes such a record.
    let query = unsafe { Updater::<QUERY, _>::new(&mut record) };
    // SAFETY: the kernel writes as many bytes as the record has, and neither a name nor a build id
    // is requested.
    unsafe { ioctl(maps, query) }?;
    Ok(FilePart {
        start: record.start,
        end: record.end,
        offset: record.offset,
        inode: record.inode,
        is_shared_memory: record.flags & READ_WRITE_SHARED == READ_WRITE_SHARED,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_query_says_what_the_list_says() {
        let maps = File::open("/proc/self/maps").unwrap();
        let own = [7_u8; 1 << 20];
        let address = own.as_ptr().addr() as u64;
        let found = match mapped_at(&maps, address) {
            Err(rustix::io::Errno::NOTTY | rustix::io::Errno::INVAL) => return, // An older kernel.
            found => found.unwrap(),
        };
        let line = format!("{:x}-{:x} rw-p ", found.start, found.end);
        let list = std::fs::read_to_string("/proc/self/maps").unwrap();
        assert!(list.contains(&line), "{line} is not in {list}");
        assert!(found.start <= address && found.end > address && !found.is_shared_memory);
        assert_eq!(found.inode, 0);
        assert!(mapped_at(&maps, 0).is_err());
    }
}
