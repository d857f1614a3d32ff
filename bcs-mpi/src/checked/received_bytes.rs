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
pub(super) struct ReceivedBytes {
    /// At the post.
    posted: Box<[u8]>,
    /// When the program asked first and there was a change. It is `posted` if the message had come
    /// then.
    seen: Option<Box<[u8]>>,
    has_come: bool,
}

impl ReceivedBytes {
    /// Reads a buffer, whose blocks lie in this span of addresses; `None` if it is too long, or
    /// cannot be read.
    pub(super) fn of(view: &DataView, span: &Range<u64>, has_come: bool) -> Option<Self> {
        let is_short = view.len() <= LONGEST_BYTES;
        let posted = is_short.then(|| read(view, span)).flatten()?;
        Some(Self {
            posted,
            seen: None,
            has_come,
        })
    }

    /// Reads the buffer again.
    pub(super) fn look(&mut self, view: &DataView, span: &Range<u64>) {
        if self.seen.is_none() && !self.has_come {
            let now = read(view, span);
            self.seen = now.filter(|now| *now != self.posted);
        }
    }

    /// Returns the first byte that the program has written.
    pub(super) fn changed(&self, view: &DataView, span: &Range<u64>) -> Option<Range<usize>> {
        let now = read(view, span)?;
        let wrong = |at: &usize| match &self.seen {
            _ if self.has_come => now[*at] != self.posted[*at],
            Some(seen) => seen[*at] != self.posted[*at] && seen[*at] != now[*at],
            None => false,
        };
        let first = (0..now.len()).find(wrong)?;
        Some(first..first + 1)
    }
}

fn read(view: &DataView, span: &Range<u64>) -> Option<Box<[u8]>> {
    is_readable(span).then(|| {
        let mut bytes = vec![0; view.len()];
        gather(view, 0, &mut bytes);
        bytes.into()
    })
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
        let mut bytes = ReceivedBytes::of(&view, &span, has_come).unwrap();
        write(states[1]);
        bytes.look(&view, &span);
        write(states[2]);
        bytes.changed(&view, &span)
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
