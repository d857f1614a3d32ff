//! The bytes of a send buffer when its send was posted.

use crate::data::own_memory::{MemoryAccess, is_mapped};
use crate::data::{DataView, gather};
use std::ops::Range;
use xxhash_rust::xxh3::xxh3_64;

/// Messages of at most this many bytes are copied. The first byte that has changed is known then.
const LONGEST_COPY_BYTES: usize = 64 * 1024;

/// Each part of this many bytes of a longer message has a digest. The first part that has changed
/// is known then.
const DIGESTED_BYTES: usize = 4096;

/// The bytes of a send buffer at its post.
#[derive(Debug)]
pub(super) enum SentBytes {
    Copy(Box<[u8]>),
    Digests(Box<[u64]>),
}

impl SentBytes {
    /// Reads a buffer, whose blocks lie in this span of addresses; `None` if it cannot be read. The
    /// operation itself reports that.
    pub(super) fn of(view: &DataView, span: &Range<u64>) -> Option<Self> {
        if !is_readable(span) {
            return None;
        }
        Some(match view.len() {
            0..=LONGEST_COPY_BYTES => {
                let mut copy = vec![0; view.len()];
                gather(view, 0, &mut copy);
                Self::Copy(copy.into())
            }
            _ => Self::Digests(parts(view).map(|part| digest(view, part)).collect()),
        })
    }

    /// Returns the first byte of the message that is not what it was, or the part that has it;
    /// `None` if all are.
    pub(super) fn changed(&self, view: &DataView, span: &Range<u64>) -> Option<Range<usize>> {
        if !is_readable(span) {
            return Some(0..view.len()); // The program has unmapped it.
        }
        match self {
            Self::Copy(copy) => {
                let mut now = vec![0; copy.len()];
                gather(view, 0, &mut now);
                if now[..] == copy[..] {
                    return None;
                }
                let differs = |at: &usize| now[*at] != copy[*at];
                let first = (0..now.len()).find(differs)?;
                Some(first..first + 1)
            }
            Self::Digests(digests) => {
                let mut parts = parts(view).zip(digests);
                let changed = parts.find(|(part, known)| digest(view, part.clone()) != **known);
                changed.map(|(part, _)| part)
            }
        }
    }
}

pub(super) fn is_readable(span: &Range<u64>) -> bool {
    let len = usize::try_from(span.end - span.start);
    len.is_ok_and(|len| is_mapped(span.start, len, MemoryAccess::Read))
}

fn parts(view: &DataView) -> impl Iterator<Item = Range<usize>> {
    let len = view.len();
    let starts = (0..len).step_by(DIGESTED_BYTES);
    starts.map(move |start| start..len.min(start + DIGESTED_BYTES))
}

fn digest(view: &DataView, part: Range<usize>) -> u64 {
    let mut bytes = [0; DIGESTED_BYTES];
    let bytes = &mut bytes[..part.len()];
    gather(view, part.start, bytes);
    xxh3_64(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[expect(unsafe_code, reason = "data are named by address")]
    fn changed(len: usize, write: usize) -> Option<Range<usize>> {
        let mut bytes = vec![7_u8; len];
        let address = bytes.as_mut_ptr().expose_provenance() as u64;
        // SAFETY: the bytes live until the end.
        let view = unsafe { DataView::new(address, len, None) };
        let span = address..address + len as u64;
        let sent = SentBytes::of(&view, &span).unwrap();
        assert_eq!(sent.changed(&view, &span), None);
        bytes[write] = 8;
        sent.changed(&view, &span)
    }

    #[test]
    fn a_written_byte_is_found_in_short_messages_and_its_part_in_long_ones() {
        assert_eq!(changed(100, 40), Some(40..41));
        assert_eq!(changed(LONGEST_COPY_BYTES, 7), Some(7..8));
        assert_eq!(changed(200_000, 9_000), Some(8192..12288));
        assert_eq!(changed(200_000, 199_999), Some(196_608..200_000));
    }

    #[test]
    fn a_buffer_that_is_nowhere_is_not_read() {
        assert!(!is_readable(&(4096..4104)));
    }
}
