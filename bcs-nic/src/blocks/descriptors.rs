//! Send descriptors, from the BS of the sender's node to the BR of the receiver's: in DEM, or
//! outside of the slice.

use super::collective_tree_message::KIND_WORD;
use super::{stamp, stamped};
use bcs_core::descriptor::{BadDescriptor, Payload, SendDescriptor};
use bcs_core::job::NodeId;
use bcs_core::request::RequestId;
use bcs_fabric::{Block, GlobalAddress, Port};
use zerocopy::IntoBytes;

/// A send descriptor with the sender's rank and its place in the sender's order of posts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Envelope {
    /// World rank of the sender.
    pub source: u32,
    /// Counts the sender's posts.
    pub sequence: u64,
    /// The descriptor that was posted.
    pub send: SendDescriptor,
}

const HEADER_WORDS: usize = 8;
const RECORD_WORDS: usize = SendDescriptor::WORDS;

/// Records that are read at once.
const READ_AT_ONCE: usize = 8;

impl Envelope {
    /// Returns the sender's request to cancel, if this is not a message.
    #[must_use]
    #[inline]
    pub fn cancels(&self) -> Option<RequestId> {
        matches!(self.send.payload, Payload::Cancel).then_some(self.send.request)
    }

    #[inline]
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

/// A valid send descriptor as words, with the sender's rank and its place in the sender's order of
/// posts. BS passes on what the rank has written, and reads little of it.
#[derive(Clone, Copy, Debug)]
pub struct EnvelopeRecord([u64; RECORD_WORDS]);

impl EnvelopeRecord {
    /// Checks what a rank has posted. Returns it with the facts that BS needs.
    ///
    /// # Errors
    /// [`BadDescriptor`]: the rank has posted invalid data.
    #[inline]
    pub fn new(
        mut words: [u64; RECORD_WORDS],
        source: u32,
        sequence: u64,
    ) -> Result<(Self, SendSummary), BadDescriptor> {
        let send = SendDescriptor::parse(&words)?;
        // The send descriptor leaves these two words to the envelope.
        words[6] = u64::from(source);
        words[7] = sequence;
        let heading = SendSummary {
            destination: send.destination,
            owed: send.needs_completion.then_some(send.request),
            eager: match send.payload {
                Payload::Slot { slot, address } => Some((slot, address, send.len)),
                Payload::Inline(_) | Payload::Memory(_) | Payload::Cancel => None,
            },
            cancels: matches!(send.payload, Payload::Cancel).then_some(send.request),
        };
        Ok((Self(words), heading))
    }
}

/// The data of a send that BS needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SendSummary {
    /// World rank of the receiver.
    pub destination: u32,
    /// The sender's request, if the sender waits for a completion.
    pub owed: Option<RequestId>,
    /// Its payload slot, if the message is in one, with the address at which the sender sees it and
    /// the bytes there.
    pub eager: Option<(u32, u64, u64)>,
    /// The sender's request to cancel, if this is not a message.
    pub cancels: Option<RequestId>,
}

/// The header of a block of this slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockHeader {
    count: usize,
    /// Whether BS holds back more envelopes for this node, for lack of credit.
    pub held_back: bool,
    /// How many envelopes it has sent to this node outside of the slice so far: they are in this
    /// slice's cut or in an earlier one.
    pub ahead: u64,
}

/// Where envelopes that were sent outside of the slice belong in the order of those in blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutsideSliceHeader {
    /// The slice of the last block to the same node: its envelopes come before these.
    pub after: u64,
    /// How many envelopes were sent outside of the slice to this node before these.
    pub first: u64,
}

/// The block that one BS puts into one BR's lane in one DEM, while BS fills it. BS reuses one
/// block.
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

    /// Returns how many descriptors a block can hold.
    #[must_use]
    pub fn capacity() -> usize {
        Block::Descriptors.bytes() / Self::RECORD_BYTES - 1
    }

    /// Returns how many descriptors are in it.
    #[must_use]
    pub fn len(&self) -> usize {
        (self.words.len() - HEADER_WORDS) / RECORD_WORDS
    }

    /// Whether it holds no descriptors.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.words.len() == HEADER_WORDS
    }

    /// Empties it.
    pub fn clear(&mut self) {
        self.words.truncate(HEADER_WORDS);
    }

    /// Adds a descriptor.
    #[inline]
    pub fn push(&mut self, EnvelopeRecord(words): &EnvelopeRecord) {
        self.words.extend_from_slice(words);
    }

    /// Returns its words. `held_back` tells whether BS holds back more envelopes for this node, for
    /// lack of credit; `ahead`, how many it has sent there outside of the slice so far.
    pub fn seal(&mut self, slice: u64, held_back: bool, ahead: u64) -> &[u64] {
        self.words[0] = stamp(slice, self.len());
        self.words[1] = u64::from(held_back);
        self.words[2] = ahead;
        &self.words
    }

    /// Returns its words, to send outside of the slice.
    pub fn seal_ahead(&mut self, header: OutsideSliceHeader) -> &[u64] {
        self.words[0] = header.after;
        self.words[1] = header.first;
        self.words[KIND_WORD] = 0;
        &self.words
    }

    /// Adds envelopes that were sent outside of the slice to `all`.
    ///
    /// # Errors
    /// [`BadDescriptor`]: the fabric delivered invalid data.
    pub fn read_ahead(
        words: &[u64],
        all: &mut Vec<Envelope>,
    ) -> Result<OutsideSliceHeader, BadDescriptor> {
        let (header, records) = words.split_at_checked(HEADER_WORDS).unwrap_or_default();
        let &[after, first, ..] = header else {
            let (field, value) = ("words of a block", words.len() as u64);
            return Err(BadDescriptor { field, value });
        };
        for record in records.chunks(RECORD_WORDS) {
            let record = record.try_into().map_err(|_| BadDescriptor {
                field: "words of a descriptor",
                value: record.len() as u64,
            })?;
            all.push(Envelope::parse(record)?);
        }
        Ok(OutsideSliceHeader { after, first })
    }

    /// Returns the header of the block that a lane brought in this slice, if it brought one.
    #[must_use]
    pub fn header(port: &dyn Port, lane: NodeId, slice: u64) -> Option<BlockHeader> {
        let mut header = [0_u64; 3];
        let at = GlobalAddress::new(Block::Descriptors, lane);
        port.read(at, header.as_mut_bytes());
        let [stamp, held_back, ahead] = header;
        Some(BlockHeader {
            count: stamped(stamp, slice)?.min(Self::capacity()),
            held_back: held_back != 0,
            ahead,
        })
    }

    /// Adds the envelopes of that block to `all`.
    ///
    /// # Errors
    /// [`BadDescriptor`]: the fabric delivered invalid data.
    pub fn read(
        port: &dyn Port,
        lane: NodeId,
        header: &BlockHeader,
        all: &mut Vec<Envelope>,
    ) -> Result<(), BadDescriptor> {
        let at = GlobalAddress::new(Block::Descriptors, lane);
        let before = all.len();
        let mut records = [[0_u64; RECORD_WORDS]; READ_AT_ONCE];
        for first in (0..header.count).step_by(READ_AT_ONCE) {
            let records = &mut records[..(header.count - first).min(READ_AT_ONCE)];
            let at = at.plus(Self::HEADER_BYTES + first * Self::RECORD_BYTES);
            port.read(at, records.as_mut_bytes());
            for words in records {
                match Envelope::parse(words) {
                    Ok(envelope) => all.push(envelope),
                    Err(bad) => {
                        all.truncate(before);
                        return Err(bad);
                    }
                }
            }
        }
        Ok(())
    }
}
