//! Reading this process's own memory where an address may be wrong: the kernel refuses it then.

use std::fs::File;
use std::os::unix::fs::FileExt;

/// This process's memory, as a file.
pub(super) struct OwnMemory(File);

impl OwnMemory {
    pub(super) fn open() -> Option<Self> {
        File::open("/proc/self/mem").ok().map(Self)
    }

    /// Reads bytes at an address. Returns `None` if they are not all mapped.
    pub(super) fn bytes(&self, address: usize, len: usize) -> Option<Vec<u8>> {
        let mut bytes = vec![0; len];
        let read = self.0.read_exact_at(&mut bytes, address as u64);
        read.ok().map(|()| bytes)
    }

    /// Reads a word.
    pub(super) fn word(&self, address: usize) -> Option<usize> {
        let bytes = self.bytes(address, size_of::<usize>())?;
        Some(usize::from_ne_bytes(bytes.try_into().ok()?))
    }

    /// Reads an `int`.
    pub(super) fn int(&self, address: usize) -> Option<i32> {
        let bytes = self.bytes(address, size_of::<i32>())?;
        Some(i32::from_ne_bytes(bytes.try_into().ok()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_mapped_cannot_be_read() {
        let memory = OwnMemory::open().unwrap();
        let words = [7_usize, 8];
        let address = words.as_ptr().addr();
        assert_eq!(memory.word(address), Some(7));
        assert_eq!(memory.word(address + size_of::<usize>()), Some(8));
        assert_eq!(memory.int(address), Some(7));
        assert_eq!(memory.word(16), None);
        assert_eq!(memory.bytes(usize::MAX - 3, 8), None);
    }
}
