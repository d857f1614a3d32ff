//! The blocks that NICs put into each other's global memory, as bytes: by microphase, a file each.
//!
//! Every block begins with a *stamp* word, which a PUT publishes last: a reader that finds the
//! stamp it waits for has all of the block, and one that finds another has none. The stamp of a
//! lane is slice and count, of a collective part the slice, of the strobe its sequence number.

mod completions;
mod credits;
mod descriptors;
mod offers;
mod strobe;
mod token;

pub use completions::CompletionBlock;
pub use credits::CreditBlock;
pub use descriptors::{DescriptorBlock, Envelope};
pub use offers::{Board, Offer};
pub use strobe::Microstrobe;
pub use token::{Content, Part, part_address};

/// The stamp of a block: which slice it belongs to and how many records it has.
#[must_use]
pub(crate) fn stamp(slice: u64, count: usize) -> u64 {
    slice << 16 | (count as u64 & 0xffff)
}

/// How many records a block has, if it belongs to this slice.
#[must_use]
pub(crate) fn stamped(stamp: u64, slice: u64) -> Option<usize> {
    (stamp >> 16 == slice).then(|| usize::try_from(stamp & 0xffff).expect("16 bits"))
}

/// Words to bytes, in the order of memory.
pub(crate) fn to_bytes(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// Bytes to words.
pub(crate) fn to_words(bytes: &[u8]) -> Vec<u64> {
    bytes
        .chunks_exact(8)
        .map(|word| u64::from_le_bytes(word.try_into().expect("8")))
        .collect()
}
