//! The blocks that NICs put into each other's global memory, as bytes: by microphase, a file each.
//!
//! Every block begins with a *stamp* word, which a PUT publishes last: a reader that finds the
//! stamp it waits for has all of the block, and one that finds another has none. The stamp of a
//! lane is slice and count, of a collective part the slice, of the strobe its sequence number.
//! Whoever reads lanes is signalled for each block in one of them. So who was not reads none: to look at all
//! lanes of all nodes in every slice would be n² cache lines.

mod collective_tree_message;
mod completed_send;
mod completions;
mod credits;
mod descriptors;
mod offers;
mod strobe;
mod token;

pub use collective_tree_message::{CollectiveTreeMessage, TreeDirection};
pub use completed_send::CompletedSend;
pub use completions::CompletionBlock;
pub use credits::CreditBlock;
pub use descriptors::{
    BlockHeader, DescriptorBlock, Envelope, EnvelopeRecord, OutsideSliceHeader, SendSummary,
};
pub use offers::{Board, MemoryOffer};
pub use strobe::Microstrobe;
pub use token::{PartContent, StepPart, part_address};

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
