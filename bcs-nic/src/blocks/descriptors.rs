//! DEM: send descriptors, from the BS of the sender's node to the BR of the receiver's.

use super::{stamp, stamped, to_bytes, to_words};
use bcs_core::descriptor::{BadDescriptor, SendDescriptor};
use bcs_core::fabric::{Block, GlobalAddress, Port};
use bcs_core::job::NodeId;

/// A send descriptor with the sender's name and the place in its order of posts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Envelope {
    /// World rank of the sender.
    pub source: u32,
    /// Counts the sender's posts.
    pub sequence: u64,
    /// What was posted.
    pub send: SendDescriptor,
}

const HEADER_WORDS: usize = 8;
const RECORD_WORDS: usize = SendDescriptor::WORDS;

impl Envelope {
    fn encode(&self) -> [u64; RECORD_WORDS] {
        let mut words = self.send.encode();
        // The send descriptor leaves these two words to the envelope.
        words[6] = u64::from(self.source);
        words[7] = self.sequence;
        words
    }

    fn parse(words: &[u64; RECORD_WORDS]) -> Result<Self, BadDescriptor> {
        let source = u32::try_from(words[6]).map_err(|_| BadDescriptor {
            field: "source",
            value: words[6],
        })?;
        Ok(Self {
            source,
            sequence: words[7],
            send: SendDescriptor::parse(words)?,
        })
    }
}

/// The block one BS puts into one BR's lane in one DEM.
#[derive(Debug)]
pub struct DescriptorBlock;

impl DescriptorBlock {
    pub(crate) const HEADER_BYTES: usize = HEADER_WORDS * 8;
    pub(crate) const RECORD_BYTES: usize = RECORD_WORDS * 8;

    /// How many descriptors a block holds.
    #[must_use]
    pub fn capacity() -> usize {
        Block::Descriptors.bytes() / Self::RECORD_BYTES - 1
    }

    /// As bytes. `held_back` says that BS has more for this node that lack credit.
    #[must_use]
    pub fn encode(slice: u64, envelopes: &[Envelope], held_back: bool) -> Vec<u8> {
        let mut words = vec![0; HEADER_WORDS];
        words[0] = stamp(slice, envelopes.len());
        words[1] = u64::from(held_back);
        words.extend(envelopes.iter().flat_map(Envelope::encode));
        to_bytes(&words)
    }

    /// The envelopes a lane brought in this slice, and whether more are held back.
    ///
    /// # Errors
    /// [`BadDescriptor`]: the fabric brought rubbish.
    pub fn read(
        port: &dyn Port,
        lane: NodeId,
        slice: u64,
    ) -> Result<(Vec<Envelope>, bool), BadDescriptor> {
        let at = GlobalAddress::new(Block::Descriptors, lane);
        let mut header = [0; 16];
        port.read(at, &mut header);
        let header = to_words(&header);
        let Some(count) = stamped(header[0], slice) else {
            return Ok((Vec::new(), false));
        };
        let mut bytes = vec![0; count.min(Self::capacity()) * Self::RECORD_BYTES];
        port.read(at.plus(Self::HEADER_BYTES), &mut bytes);
        let envelopes = to_words(&bytes)
            .chunks_exact(RECORD_WORDS)
            .map(|words| Envelope::parse(words.try_into().expect("a whole record")))
            .collect::<Result<_, _>>()?;
        Ok((envelopes, header[1] != 0))
    }
}
