//! The memory of the messages.

use std::hint::black_box;

use zerocopy::{FromBytes, IntoBytes};

/// A page: no message shares one with other data, in any MPI.
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes)]
#[repr(C, align(4096))]
struct Page([u8; 4096]);

/// The initial content of buffers. As doubles these bytes are small normal numbers, so sums of them
/// cost as much as any.
const FIRST: u8 = 0x30;

/// The buffers from which messages are sent and into which they are received. Both begin on a page,
/// and each page has been written.
#[derive(Debug)]
pub(super) struct Buffers {
    out: Vec<Page>,
    into: Vec<Page>,
    bytes: usize,
}

impl Buffers {
    /// Allocates two buffers of `bytes` bytes each.
    pub(super) fn new(bytes: usize) -> Buffers {
        let pages = bytes.div_ceil(size_of::<Page>()).max(1);
        let buffer = || vec![Page([FIRST; 4096]); pages];
        Buffers {
            out: buffer(),
            into: buffer(),
            bytes,
        }
    }

    /// Returns the first `bytes` bytes of both buffers.
    pub(super) fn both(&mut self, bytes: usize) -> (&mut [u8], &mut [u8]) {
        assert!(bytes <= self.bytes, "{bytes} of {}", self.bytes);
        let out = self.out.as_mut_slice().as_mut_bytes();
        let into = self.into.as_mut_slice().as_mut_bytes();
        (&mut out[..bytes], &mut into[..bytes])
    }
}

/// Writes all of `data`, with different values in each iteration.
pub(super) fn write(data: &mut [u8], iteration: u64) {
    data.fill(FIRST | (iteration & 0xf) as u8);
    black_box(data);
}

/// Reads all of `data`.
pub(super) fn read(data: &[u8]) {
    let words = data.chunks_exact(8);
    let rest: u64 = words.remainder().iter().map(|byte| u64::from(*byte)).sum();
    let sum = words
        .map(|word| u64::from_ne_bytes(word.try_into().expect("chunks of eight bytes")))
        .fold(rest, u64::wrapping_add);
    black_box(sum);
}

/// Views the bytes of a buffer, a multiple of 8, as doubles.
pub(super) fn doubles(data: &[u8]) -> &[f64] {
    FromBytes::ref_from_bytes(data).expect("buffers begin on a page and hold whole doubles")
}

/// Views the bytes of a buffer as mutable doubles.
pub(super) fn doubles_mut(data: &mut [u8]) -> &mut [f64] {
    FromBytes::mut_from_bytes(data).expect("buffers begin on a page and hold whole doubles")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_begin_on_pages_and_hold_normal_numbers() {
        let mut buffers = Buffers::new(4104);
        let (out, into) = buffers.both(4104);
        assert_eq!(
            (out.as_ptr().addr() % 4096, into.as_ptr().addr() % 4096),
            (0, 0)
        );
        for iteration in [0, 15, 16, u64::MAX] {
            write(out, iteration);
            let (one, all) = (doubles(out)[512], doubles(out));
            assert!(one.is_normal() && all.iter().all(|number| *number == one));
        }
        assert_eq!(doubles_mut(into).len(), 513);
        assert!(Buffers::new(0).both(0).0.is_empty());
    }
}
