//! DEM: send descriptors, from the BS of the sender's node to the BR of the receiver's.

use super::{stamp, stamped};
use bcs_core::descriptor::{BadDescriptor, SendDescriptor};
use bcs_core::fabric::{Block, GlobalAddress, Port};
use bcs_core::job::NodeId;
use zerocopy::IntoBytes;

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

/// The block one BS puts into one BR's lane in one DEM, as it is being made. One is used again and again.
#[derive(Debug)]
pub struct DescriptorBlock {
    words: Vec<u64>,
}

impl Default for DescriptorBlock {
    fn default() -> Self {
        Self {
            words: vec![0; HEADER_WORDS],
        }
    }
}

impl DescriptorBlock {
    pub(crate) const HEADER_BYTES: usize = HEADER_WORDS * 8;
    pub(crate) const RECORD_BYTES: usize = RECORD_WORDS * 8;

    /// How many descriptors a block holds.
    #[must_use]
    pub fn capacity() -> usize {
        Block::Descriptors.bytes() / Self::RECORD_BYTES - 1
    }

    /// How many descriptors are in it.
    #[must_use]
    pub fn len(&self) -> usize {
        (self.words.len() - HEADER_WORDS) / RECORD_WORDS
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.words.len() == HEADER_WORDS
    }

    /// Empties it.
    pub fn clear(&mut self) {
        self.words.truncate(HEADER_WORDS);
    }

    /// Adds a descriptor.
    pub fn push(&mut self, envelope: &Envelope) {
        self.words.extend_from_slice(&envelope.encode());
    }

    /// Its words. `held_back` says that BS has more for this node that lack credit.
    pub fn seal(&mut self, slice: u64, held_back: bool) -> &[u64] {
        self.words[0] = stamp(slice, self.len());
        self.words[1] = u64::from(held_back);
        &self.words
    }

    /// Adds the envelopes that a lane brought in this slice to `all`; returns whether more are held back.
    ///
    /// # Errors
    /// [`BadDescriptor`]: the fabric brought rubbish.
    pub fn read(
        port: &dyn Port,
        lane: NodeId,
        slice: u64,
        all: &mut Vec<Envelope>,
    ) -> Result<bool, BadDescriptor> {
        let at = GlobalAddress::new(Block::Descriptors, lane);
        let mut header = [0_u64; 2];
        port.read(at, header.as_mut_bytes());
        let Some(count) = stamped(header[0], slice) else {
            return Ok(false);
        };
        let before = all.len();
        for record in 0..count.min(Self::capacity()) {
            let mut words = [0_u64; RECORD_WORDS];
            let at = at.plus(Self::HEADER_BYTES + record * Self::RECORD_BYTES);
            port.read(at, words.as_mut_bytes());
            match Envelope::parse(&words) {
                Ok(envelope) => all.push(envelope),
                Err(bad) => {
                    all.truncate(before);
                    return Err(bad);
                }
            }
        }
        Ok(header[1] != 0)
    }
}
