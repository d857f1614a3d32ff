//! Runs, the elements of a layout.

/// Words in front of the runs.
pub(super) const HEADER_WORDS: usize = 3;
/// Words of a run.
pub(super) const RUN_WORDS: usize = 5;

/// Blocks of one length at equal distances.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockRun {
    /// Bytes of an element that come before the run in a message.
    pub start: u64,
    /// The offset of its first block, in bytes from the start of the element.
    pub offset: i64,
    /// Bytes of a block; not 0.
    pub block: u64,
    /// Bytes from the start of a block to that of the next.
    pub stride: i64,
    /// The number of blocks; not 0.
    pub count: u64,
}

impl BlockRun {
    pub(super) fn words(self) -> [u64; RUN_WORDS] {
        let Self {
            start,
            offset,
            block,
            stride,
            count,
        } = self;
        let (offset, stride) = (offset.cast_unsigned(), stride.cast_unsigned());
        [start, offset, block, stride, count]
    }

    pub(super) fn from_words(words: [u64; RUN_WORDS]) -> Self {
        let [start, offset, block, stride, count] = words;
        let (offset, stride) = (offset.cast_signed(), stride.cast_signed());
        Self {
            start,
            offset,
            block,
            stride,
            count,
        }
    }

    /// Returns the bytes of all its blocks.
    pub(super) fn bytes(&self) -> u64 {
        self.block * self.count
    }
}

/// Words that are no layout, or that cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the layout of a message is not in its rank's memory, or contradicts itself")]
pub struct BadLayout;
