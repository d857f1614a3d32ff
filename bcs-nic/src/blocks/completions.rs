//! PM: completions of sends, from the DH that moved the data to the SR of the sender's node.

use super::{stamp, stamped};
use bcs_core::fabric::{Block, GlobalAddress, Port};
use bcs_core::job::NodeId;
use bcs_core::request::{Failure, RequestId, low};
use zerocopy::IntoBytes;

/// The block one DH puts into one SR's lane in one PM.
#[derive(Debug)]
pub struct CompletionBlock;

/// Stamp, then per send: rank and failure, request.
const RECORD_WORDS: usize = 2;

impl CompletionBlock {
    /// How many completions a block holds: BR schedules no more endings for one source node.
    #[must_use]
    pub fn capacity() -> usize {
        Block::Completions.bytes() / 8 / RECORD_WORDS - 1
    }

    /// As words.
    #[must_use]
    pub fn encode(slice: u64, sends: &[(u32, RequestId, Failure)]) -> Vec<u64> {
        let mut words = Vec::with_capacity((1 + sends.len()) * RECORD_WORDS);
        words.extend([stamp(slice, sends.len()), 0]);
        for (rank, request, failure) in sends {
            words.push(u64::from(*rank) | u64::from(*failure as u8) << 32);
            words.push(request.word());
        }
        words
    }

    /// The sends a lane completed in this slice.
    #[must_use]
    pub fn read(port: &dyn Port, lane: NodeId, slice: u64) -> Vec<(u32, RequestId, Failure)> {
        let at = GlobalAddress::new(Block::Completions, lane);
        let mut header = 0_u64;
        port.read(at, header.as_mut_bytes());
        let Some(count) = stamped(header, slice) else {
            return Vec::new();
        };
        let mut words = vec![0_u64; count.min(Self::capacity()) * RECORD_WORDS];
        port.read(at.plus(RECORD_WORDS * 8), words.as_mut_bytes());
        words
            .chunks_exact(RECORD_WORDS)
            .map(|record| {
                let failure = u8::try_from(record[0] >> 32 & 0xff).expect("8 bits");
                (
                    low(record[0]),
                    RequestId::from_word(record[1]),
                    Failure::from_code(failure),
                )
            })
            .collect()
    }
}
