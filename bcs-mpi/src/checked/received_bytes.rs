//! The bytes of a receive buffer until the program learns that the message has come.
//!
//! A byte of the buffer is what it was at the post, or what the message brings. So if it is neither
//! when the program asks for the message, the program has written it. If the message had come at
//! the post, the byte stays as it is. A byte that the message overwrites later is not seen.

use super::sent_bytes::is_readable;
use crate::data::{DataView, gather};
use std::ops::Range;

/// Longer buffers are not watched: they would be copied several times.
const LONGEST_BYTES: usize = 4096;

/// The bytes of a receive buffer.
#[derive(Debug)]
pub(super) enum ReceivedBytes {
    /// The message had not come at the post.
    Pending {
        /// The bytes at the post.
        posted: Box<[u8]>,
        /// The bytes when the program asked and they were first found changed.
        changed: Option<Box<[u8]>>,
    },
    /// The message had come at the post: its bytes.
    Delivered(Box<[u8]>),
}

impl ReceivedBytes {
    /// Reads a buffer before its message comes. The blocks lie in this span of addresses. Returns
    /// `None` if the buffer is too long, or cannot be read.
    pub(super) fn posted(view: &DataView, span: &Range<u64>) -> Option<Self> {
        let (posted, changed) = (read(view, span)?, None);
        Some(Self::Pending { posted, changed })
    }

    /// Reads a buffer in which the message is.
    pub(super) fn delivered(view: &DataView, span: &Range<u64>) -> Option<Self> {
        read(view, span).map(Self::Delivered)
    }

    /// Reads the buffer again, before the program learns whether the message has come.
    pub(super) fn look(&mut self, view: &DataView, span: &Range<u64>) {
        if let Self::Pending { posted, changed } = self
            && changed.is_none()
        {
            *changed = read(view, span).filter(|now| now != posted);
        }
    }

    /// Returns the first byte that the program has written. The message has come.
    pub(super) fn written(&self, view: &DataView, span: &Range<u64>) -> Option<Range<usize>> {
        let now = read(view, span)?;
        let is_written = |at: &usize| match self {
            Self::Delivered(bytes) => now[*at] != bytes[*at],
            Self::Pending {
                posted,
                changed: Some(changed),
            } => changed[*at] != posted[*at] && changed[*at] != now[*at],
            Self::Pending { changed: None, .. } => false,
        };
        let first = (0..now.len()).find(is_written)?;
        Some(first..first + 1)
    }
}

/// Reads a buffer; `None` if it is too long, or cannot be read.
fn read(view: &DataView, span: &Range<u64>) -> Option<Box<[u8]>> {
    if view.len() > LONGEST_BYTES || !is_readable(span) {
        return None;
    }
    let mut bytes = vec![0; view.len()];
    gather(view, 0, &mut bytes);
    Some(bytes.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the finding for a buffer of three bytes that holds these when it is posted, when the
    /// program asks, and when the message has come.
    #[expect(unsafe_code, reason = "data are named by address")]
    fn found(states: [[u8; 3]; 3], has_come: bool) -> Option<Range<usize>> {
        let mut buffer = states[0];
        let start = buffer.as_mut_ptr();
        let address = start.expose_provenance() as u64;
        // SAFETY: the buffer lives longer than the view.
        let view = unsafe { DataView::new(address, 3, None) };
        let span = address..address + 3;
        // SAFETY: nobody else has the buffer.
        let write = |state: [u8; 3]| unsafe { start.cast::<[u8; 3]>().write_volatile(state) };
        let bytes = match has_come {
            true => ReceivedBytes::delivered(&view, &span),
            false => ReceivedBytes::posted(&view, &span),
        };
        let mut bytes = bytes.unwrap();
        write(states[1]);
        bytes.look(&view, &span);
        write(states[2]);
        bytes.written(&view, &span)
    }

    #[test]
    fn only_what_the_message_does_not_bring_was_written() {
        assert_eq!(found([[1, 2, 3]; 3], false), None);
        assert_eq!(found([[1, 2, 3], [1, 2, 3], [7, 8, 3]], false), None);
        assert_eq!(found([[1, 2, 3], [7, 2, 3], [7, 8, 9]], false), None);
        assert_eq!(found([[1, 2, 3], [1, 5, 3], [7, 8, 9]], false), Some(1..2));
        // It is not known who wrote what the message does not overwrite.
        assert_eq!(found([[1, 2, 3], [1, 2, 5], [7, 8, 5]], false), None);
        assert_eq!(found([[1, 2, 3]; 3], true), None);
        assert_eq!(found([[1, 2, 3], [1, 2, 4], [1, 2, 4]], true), Some(2..3));
    }
}
