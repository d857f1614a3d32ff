//! Staging buffers of a collective that does not block.
//!
//! Members write into each other's receive buffers, and reductions write them several times, so
//! nobody could tell such a write from one by the program. So a short receive buffer is replaced by
//! a staging buffer until the collective is complete. Nothing but the program can write the receive
//! buffer meanwhile.
#![expect(unsafe_code, reason = "a staging buffer is named by address")]

use super::pending_buffers::span;
use super::sent_bytes::is_readable;
use crate::data::own_memory::{MemoryAccess, is_mapped};
use crate::data::{ByteRange, DataView, DataViews, EvenBlocks, Scratch, copy, gather};
use std::ops::Range;

/// Longer receive buffers of one call are not replaced: they are copied twice.
const LONGEST_BYTES: usize = 1 << 16;

/// The staging buffers of one call. Others may write them until it is complete.
#[derive(Debug, Default)]
pub(crate) struct StagedBuffers {
    memory: Scratch,
    blocks: Vec<StagedBlock>,
    /// The bytes of all blocks.
    bytes: usize,
}

#[derive(Debug)]
struct StagedBlock {
    /// The program's buffer.
    buffer: DataView,
    /// Its bytes when the collective was posted.
    posted: Box<[u8]>,
    staging: DataView,
    /// Bytes of one element of its datatype; 0 if elements differ.
    element: usize,
}

/// The first bytes of a receive buffer that the program has written, and the bytes of an element.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WrittenBytes {
    pub(crate) bytes: Range<usize>,
    pub(crate) element: usize,
}

/// Without [`deliver`](StagedBuffers::deliver) the collective may still be under way, since its
/// request was freed. Then others may still write the memory, so it is leaked.
impl Drop for StagedBuffers {
    fn drop(&mut self) {
        self.memory.leave();
    }
}

impl StagedBuffers {
    /// Returns the buffer that the collective uses in place of this one: the same if it is empty,
    /// too long, or cannot be read and written.
    pub(crate) fn stage(&mut self, buffer: DataView, element: usize) -> DataView {
        let is_usable = is_usable(&buffer);
        match is_usable.then(|| self.room_for(buffer.len())).flatten() {
            None => buffer,
            Some(staging) => self.add(buffer, staging, element),
        }
    }

    /// Returns the blocks that the collective uses in place of these.
    pub(crate) fn stage_blocks(
        &mut self,
        blocks: DataViews,
        count: usize,
        element: usize,
    ) -> DataViews {
        let row = match blocks {
            DataViews::Row(row) => row,
            DataViews::Each(blocks) => {
                let blocks = blocks.into_iter();
                let staged = blocks.map(|block| self.stage(block, element));
                return DataViews::Each(staged.collect());
            }
        };
        let len = row.first().len();
        let is_usable = (0..count).all(|block| is_usable(&blocks.of(block)));
        let staging = len
            .checked_mul(count)
            .filter(|_| is_usable)
            .and_then(|bytes| self.room_for(bytes));
        let Some(staging) = staging else {
            return blocks;
        };
        for block in 0..count {
            let part = staging.part(block * len..(block + 1) * len);
            self.add(blocks.of(block), part, element);
        }
        let distance = i64::try_from(len).expect("it is short");
        // SAFETY: the blocks lie side by side in the staging buffer.
        DataViews::Row(unsafe { EvenBlocks::new(staging.part(0..len), distance) })
    }

    fn room_for(&mut self, bytes: usize) -> Option<ByteRange> {
        let sum = self.bytes.checked_add(bytes)?;
        if bytes == 0 || sum > LONGEST_BYTES {
            return None;
        }
        self.bytes = sum;
        Some(self.memory.plain(bytes))
    }

    /// Fills a staging buffer for a buffer of the program, and returns it.
    fn add(&mut self, buffer: DataView, staging: ByteRange, element: usize) -> DataView {
        let staging = DataView::from(staging);
        let mut posted = vec![0; buffer.len()].into_boxed_slice();
        gather(&buffer, 0, &mut posted);
        copy(&buffer, &staging);
        self.blocks.push(StagedBlock {
            buffer,
            posted,
            staging: staging.clone(),
            element,
        });
        staging
    }

    /// Copies all that was received into the program's buffers. The collective is complete. Returns
    /// the first bytes that the program has written meanwhile.
    pub(crate) fn deliver(&mut self) -> Option<WrittenBytes> {
        let mut written = None;
        for block in std::mem::take(&mut self.blocks) {
            written = written.or_else(|| block.written());
            copy(&block.staging, &block.buffer);
        }
        self.memory = Scratch::default();
        self.bytes = 0;
        written
    }
}

impl StagedBlock {
    fn written(&self) -> Option<WrittenBytes> {
        if !span(&self.buffer).is_some_and(|span| is_readable(&span)) {
            return None;
        }
        let mut now = vec![0; self.posted.len()];
        gather(&self.buffer, 0, &mut now);
        let first = (0..now.len()).find(|&at| now[at] != self.posted[at])?;
        Some(WrittenBytes {
            bytes: first..first + 1,
            element: self.element,
        })
    }
}

/// Returns whether a buffer has bytes, and all can be read and written.
fn is_usable(buffer: &DataView) -> bool {
    let Some(span) = span(buffer) else {
        return false;
    };
    let len = usize::try_from(span.end - span.start);
    let is = |access, len| is_mapped(span.start, len, access);
    len.is_ok_and(|len| is(MemoryAccess::Read, len) && is(MemoryAccess::Write, len))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::scatter;
    use bcs_core::layout::LayoutBuilder;
    use std::sync::Arc;

    /// Returns every second word of these bytes.
    fn even_words(bytes: &mut [u8]) -> DataView {
        let (address, len) = (bytes.as_mut_ptr().expose_provenance() as u64, bytes.len());
        let words = len / 16;
        let strip = LayoutBuilder::block(0, 8).repeat(words as u64, 16).unwrap();
        let layout = strip.finish(i64::try_from(len).unwrap());
        // SAFETY: the bytes outlive the view in these tests.
        unsafe { DataView::new(address, words * 8, Some(Arc::new(layout))) }
    }

    #[test]
    fn what_is_received_comes_at_the_end_and_a_write_before_is_found() {
        let mut bytes = vec![1; 64];
        let buffer = even_words(&mut bytes);
        let mut staged = StagedBuffers::default();
        for written in [None, Some(17)] {
            let staging = staged.stage(buffer.clone(), 8);
            assert_ne!(staging.address(), buffer.address());
            scatter(&staging, 0, &[5; 32]);
            if let Some(at) = written {
                scatter(&buffer, at, &[9]);
            }
            let found = written.map(|at| WrittenBytes {
                bytes: at..at + 1,
                element: 8,
            });
            assert_eq!(staged.deliver(), found);
        }
        for (word, bytes) in bytes.chunks(8).enumerate() {
            assert_eq!(bytes, [if word % 2 == 0 { 5 } else { 1 }; 8]);
        }
    }

    fn fill(place: usize) -> u8 {
        u8::try_from(place).unwrap()
    }

    #[test]
    fn a_row_stays_a_row() {
        let mut bytes = vec![3_u8; 64];
        let address = bytes.as_mut_ptr().expose_provenance() as u64;
        // SAFETY: the bytes live until the end.
        let first = unsafe { ByteRange::new(address, 4) };
        // SAFETY: so do those of all four blocks.
        let row = unsafe { EvenBlocks::new(first, 16) };
        let mut staged = StagedBuffers::default();
        let blocks = staged.stage_blocks(DataViews::Row(row), 4, 4);
        assert!(matches!(blocks, DataViews::Row(_)));
        for place in 0..4 {
            assert_ne!(blocks.of(place).address(), address + 16 * place as u64);
            scatter(&blocks.of(place), 0, &[fill(place); 4]);
        }
        assert_eq!(staged.deliver(), None);
        for (place, bytes) in bytes.chunks(16).enumerate() {
            assert_eq!(bytes[..4], [fill(place); 4]);
            assert_eq!(bytes[4..], [3; 12]);
        }
    }

    #[test]
    fn long_and_unmapped_buffers_are_used_as_they_are() {
        let mut long = vec![0_u8; 2 * (LONGEST_BYTES + 8)];
        let mut staged = StagedBuffers::default();
        // SAFETY: nobody reads it.
        let nowhere = unsafe { DataView::new(4096, 8, None) };
        for buffer in [even_words(&mut long), nowhere, DataView::EMPTY] {
            assert_eq!(staged.stage(buffer.clone(), 1), buffer);
        }
        assert_eq!(staged.deliver(), None);
    }
}
