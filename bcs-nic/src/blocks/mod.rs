//! The blocks that NICs put into each other's global memory, as bytes: by microphase, a file each.
//!
//! Every block begins with a *stamp* word, which a PUT publishes last. A reader that finds the
//! stamp it waits for has all of the block, and one that finds another stamp has none of it. The
//! stamp of a lane is slice and count, of a collective part the slice, of the strobe its sequence
//! number. The readers of a lane are signalled for each block in it, so a reader without a signal
//! reads nothing. To poll all lanes of all nodes in every slice would touch n² cache lines.

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

/// Returns the stamp of a block: its slice and its number of records.
#[must_use]
pub(crate) fn stamp(slice: u64, count: usize) -> u64 {
    slice << 16 | (count as u64 & 0xffff)
}

/// Returns how many records a block has, if it belongs to this slice.
#[must_use]
pub(crate) fn stamped(stamp: u64, slice: u64) -> Option<usize> {
    (stamp >> 16 == slice).then(|| usize::try_from(stamp & 0xffff).expect("16 bits"))
}
