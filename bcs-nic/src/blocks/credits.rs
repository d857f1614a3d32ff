//! MSM: credits, from the BR of a receiver's node back to the BS of a sender's.
//!
//! A BR holds a bounded [number](crate::bounds::Bounds::envelopes) of envelopes for a receiver.
//! That pool is divided evenly among the source nodes, so no two BSs need to agree. Each may have
//! its share of unmatched envelopes at a receiver. A BR returns credits as running totals, so
//! reading a lane twice does no harm.

use super::stamp;
use bcs_core::job::NodeId;
use bcs_fabric::{Block, GlobalAddress, Port};
use zerocopy::IntoBytes;

/// The block one BR puts into one BS's lane.
#[derive(Debug)]
pub struct CreditBlock;

/// The stamp, then per receiver: rank, envelopes matched so far.
const RECORD_WORDS: usize = 2;

impl CreditBlock {
    /// Returns how many records a block holds; the rest go in the next slice.
    #[must_use]
    pub fn capacity() -> usize {
        Block::Credits.bytes() / 8 / RECORD_WORDS - 1
    }

    /// Encodes it as words.
    #[must_use]
    pub fn encode(slice: u64, matched: &[(u32, u64)]) -> Vec<u64> {
        let mut words = vec![stamp(slice, matched.len()), 0];
        words.extend(
            matched
                .iter()
                .flat_map(|&(rank, total)| [u64::from(rank), total]),
        );
        words
    }

    /// Returns the stamp and the records of a lane, if its stamp is not `seen`.
    #[must_use]
    pub fn read(port: &dyn Port, lane: NodeId, seen: u64) -> Option<(u64, Vec<(u32, u64)>)> {
        let at = GlobalAddress::new(Block::Credits, lane);
        let mut found = 0_u64;
        port.read(at, found.as_mut_bytes());
        if found == seen {
            return None;
        }
        let count = usize::try_from(found & 0xffff)
            .expect("16 bits")
            .min(Self::capacity());
        let mut words = vec![0_u64; count * RECORD_WORDS];
        port.read(at.plus(RECORD_WORDS * 8), words.as_mut_bytes());
        let records = words
            .chunks_exact(RECORD_WORDS)
            .filter_map(|record| Some((u32::try_from(record[0]).ok()?, record[1])))
            .collect();
        Some((found, records))
    }
}
