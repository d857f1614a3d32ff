//! PM: completions of sends, from the DH that moved the data to the SR of the sender's node.

use super::{CompletedSend, stamp, stamped};
use bcs_core::descriptor::BadDescriptor;
use bcs_core::job::NodeId;
use bcs_fabric::{Block, GlobalAddress, Port};
use zerocopy::IntoBytes;

/// The block one DH puts into one SR's lane in one PM.
#[derive(Debug)]
pub struct CompletionBlock;

/// The stamp and an unused word, then the sends.
const HEADER_WORDS: usize = CompletedSend::WORDS;

impl CompletionBlock {
    /// Returns how many units of completions ([`CompletedSend::units`]) a block holds: BR schedules
    /// no more endings for one source node.
    #[must_use]
    pub fn capacity() -> usize {
        (Block::Completions.bytes() / 8 - HEADER_WORDS) / CompletedSend::WORDS
    }

    /// Encodes it as words.
    #[must_use]
    pub fn encode(slice: u64, sends: &[CompletedSend]) -> Vec<u64> {
        let mut words = Vec::with_capacity(HEADER_WORDS + sends.len() * CompletedSend::WORDS);
        words.extend([0, 0]);
        sends.iter().for_each(|send| send.push_words(&mut words));
        let units = words.len() / CompletedSend::WORDS - 1;
        words[0] = stamp(slice, units);
        words
    }

    /// Adds the sends that a lane completed in this slice.
    ///
    /// # Errors
    /// [`BadDescriptor`]: the fabric delivered invalid data.
    pub fn read(
        port: &dyn Port,
        lane: NodeId,
        slice: u64,
        sends: &mut Vec<CompletedSend>,
    ) -> Result<(), BadDescriptor> {
        let at = GlobalAddress::new(Block::Completions, lane);
        let mut header = 0_u64;
        port.read(at, header.as_mut_bytes());
        let Some(count) = stamped(header, slice) else {
            return Ok(());
        };
        let mut words = vec![[0_u64; CompletedSend::WORDS]; count.min(Self::capacity())];
        port.read(at.plus(HEADER_WORDS * 8), words.as_mut_bytes());
        sends.extend(CompletedSend::from_units(&words)?);
        Ok(())
    }
}
