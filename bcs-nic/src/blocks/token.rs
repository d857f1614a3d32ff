//! BBM and RM: the parts of collective steps.
//!
//! In a slice a token's place in the collective block belongs to one step of one collective, on all
//! nodes of its set alike. So a broadcast is one PUT at the same address on all of them. A
//! reduction divides the place into parts: one for each child in the tree, the last for the result.

use bcs_core::job::NodeId;
use bcs_core::limits::TOKEN_HEADER_BYTES;
use bcs_fabric::{Block, GlobalAddress, Port};
use zerocopy::IntoBytes;

/// The content of one part of a step: its bytes or, where they are missing, the world rank whose
/// memory is not there. The rank travels in place of the bytes, so all that wait for them are
/// notified.
pub type PartContent = Result<Vec<u8>, u32>;

/// The data of one part of a token's place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepPart {
    /// The slice it was put in.
    pub slice: u64,
    /// The context's slot.
    pub slot: u32,
    /// Which collective of the context.
    pub sequence: u64,
    /// Which step of it.
    pub step: u64,
    /// The bytes, if they are there.
    pub content: PartContent,
}

/// Returns the address of part `part` of a token's place, when each part has `part_bytes` of data.
#[must_use]
pub fn part_address(token: u64, part: usize, part_bytes: u64) -> GlobalAddress {
    let token = usize::try_from(token).expect("tokens are few");
    let part_bytes = usize::try_from(part_bytes).expect("parts are small");
    GlobalAddress::new(Block::Collective, NodeId(0))
        .plus(token * Block::TOKEN_STRIDE + part * (part_bytes + TOKEN_HEADER_BYTES))
}

impl StepPart {
    /// Encodes it as bytes.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut words = [0_u64; TOKEN_HEADER_BYTES / 8];
        words[0] = self.slice;
        words[1] = u64::from(self.slot);
        words[2] = self.sequence;
        words[3] = self.step;
        match &self.content {
            Ok(bytes) => words[4] = bytes.len() as u64,
            Err(rank) => words[5] = u64::from(*rank) + 1,
        }
        let content = self.content.as_deref().unwrap_or_default();
        [words.as_bytes(), content].concat()
    }

    /// Returns the part at an address, if it was put there in this slice. `max` bounds its length.
    #[must_use]
    pub fn read(port: &dyn Port, at: GlobalAddress, slice: u64, max: u64) -> Option<Self> {
        let mut header = [0_u64; TOKEN_HEADER_BYTES / 8];
        port.read(at, header.as_mut_bytes());
        if header[0] != slice || header[4] > max {
            return None;
        }
        let slot = u32::try_from(header[1]).ok()?;
        let content = match header[5].checked_sub(1) {
            Some(rank) => Err(u32::try_from(rank).ok()?),
            None => {
                let mut bytes = vec![0; usize::try_from(header[4]).expect("checked")];
                port.read(at.plus(TOKEN_HEADER_BYTES), &mut bytes);
                Ok(bytes)
            }
        };
        Some(Self {
            slice,
            slot,
            sequence: header[2],
            step: header[3],
            content,
        })
    }
}
