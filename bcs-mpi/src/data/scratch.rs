//! Scratch memory of a collective.
#![expect(unsafe_code, reason = "memory is named by address")]

use super::{ByteRange, DataView};

/// Scratch memory of a schedule. It stays in place when the schedule moves, and is aligned for
/// every datatype, since functions of the program read it.
#[derive(Debug, Default)]
pub(crate) struct Scratch(Vec<Vec<Aligned>>);

/// The strictest alignment of a datatype, which is that of `long double`.
#[derive(Clone, Copy, Debug)]
#[repr(align(16))]
struct Aligned {
    _bytes: [u8; 16],
}

impl Scratch {
    pub(crate) fn piece(&mut self, len: usize) -> DataView {
        self.plain(len).into()
    }

    pub(crate) fn plain(&mut self, len: usize) -> ByteRange {
        if len == 0 {
            return ByteRange::EMPTY;
        }
        let mut bytes = vec![Aligned { _bytes: [0; 16] }; len.div_ceil(size_of::<Aligned>())];
        let address = bytes.as_mut_ptr().expose_provenance() as u64;
        self.0.push(bytes);
        // SAFETY: only its collective uses it, and keeps it until the collective is over, or leaks
        // it.
        unsafe { ByteRange::new(address, len) }
    }

    /// Leaks the memory until the process ends, because others may still write to it.
    pub(crate) fn leave(&mut self) {
        std::mem::forget(std::mem::take(&mut self.0));
    }
}
