//! Requests and their completions: how a NIC tells a rank that something it posted is done.

use crate::limits::INLINE_BYTES;

/// Words of a request slot: two cache lines, half of them inline payload.
pub const COMPLETION_WORDS: usize = 8 + INLINE_BYTES / 8;

/// A request slot of a rank, and which use of it this is: a completion of an earlier use can
/// never be taken for this one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct RequestId {
    /// The slot, below [`crate::limits::REQUEST_SLOTS`].
    pub slot: u32,
    /// Counts the uses of the slot, from 1.
    pub generation: u32,
}

impl RequestId {
    /// One word: slot low, generation high.
    #[must_use]
    pub fn word(self) -> u64 {
        u64::from(self.slot) | u64::from(self.generation) << 32
    }

    /// From its word.
    #[must_use]
    pub fn from_word(word: u64) -> Self {
        Self {
            slot: low(word),
            generation: high(word),
        }
    }
}

/// The lower half of a word.
#[must_use]
pub fn low(word: u64) -> u32 {
    (word & 0xffff_ffff) as u32
}

/// The upper half of a word.
#[must_use]
pub fn high(word: u64) -> u32 {
    (word >> 32) as u32
}

/// Why a request failed. Codes are part of the NIC memory layout.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum Failure {
    /// It did not fail.
    #[default]
    None = 0,
    /// The message was longer than the receive buffer: MPI_ERR_TRUNCATE.
    Truncated = 1,
    /// The memory named in the descriptor could not be read or written.
    BadAddress = 2,
    /// A descriptor field had an impossible value.
    BadDescriptor = 3,
    /// The peer, or a member of the collective, is gone.
    PeerGone = 4,
    /// A table of the NIC is full.
    TableFull = 5,
    /// Members of a communicator called different collectives, or with different arguments.
    Mismatch = 6,
    /// The receive was cancelled.
    Cancelled = 7,
    /// The sender's memory could not be read.
    SenderMemory = 8,
    /// Members called different collectives before, when this rank did not wait for the others.
    EarlierMismatch = 9,
    /// Memory that a member of the collective named could not be read or written: which member's, the
    /// completion tells.
    MemberMemory = 10,
}

impl Failure {
    /// From its code; an unknown one is a bad descriptor.
    #[must_use]
    pub fn from_code(code: u8) -> Self {
        use Failure::{
            BadAddress, BadDescriptor, Cancelled, EarlierMismatch, MemberMemory, Mismatch, None,
            PeerGone, SenderMemory, TableFull, Truncated,
        };
        [
            None,
            Truncated,
            BadAddress,
            BadDescriptor,
            PeerGone,
            TableFull,
            Mismatch,
            Cancelled,
            SenderMemory,
            EarlierMismatch,
            MemberMemory,
        ]
        .into_iter()
        .find(|failure| *failure as u8 == code)
        .unwrap_or(BadDescriptor)
    }
}

/// What a completed request came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// Why it failed, if it did.
    pub failure: Failure,
    /// Receives and probes: the world rank of the sender.
    pub source: u32,
    /// Receives and probes: the tag of the message.
    pub tag: i32,
    /// Receives and probes: the length of the message in bytes (of a truncated one: in full). Of a
    /// mismatch: what another rank called. Of a member's memory that is not there: its world rank.
    pub len: u64,
    /// How many bytes of `inline` the rank must copy to its buffer.
    pub inline_len: u8,
    /// Small payload that came with the completion.
    pub inline: [u8; INLINE_BYTES],
}

const DONE: u64 = 1 << 63;

impl Default for Completion {
    fn default() -> Self {
        Self {
            failure: Failure::None,
            source: 0,
            tag: 0,
            len: 0,
            inline_len: 0,
            inline: [0; INLINE_BYTES],
        }
    }
}

impl Completion {
    /// A success without data.
    #[must_use]
    pub fn done() -> Self {
        Self::default()
    }

    /// A failure.
    #[must_use]
    pub fn failed(failure: Failure) -> Self {
        Self {
            failure,
            ..Self::default()
        }
    }

    /// Of a collective that was refused: what another rank called, packed
    /// ([`Call::pack`](crate::descriptor::Call::pack)).
    #[must_use]
    pub fn mismatch(against: u64) -> Self {
        Self {
            len: against,
            ..Self::failed(Failure::Mismatch)
        }
    }

    /// Of a collective that failed because memory which this world rank named is not there.
    #[must_use]
    pub fn member_memory(rank: u32) -> Self {
        Self {
            len: rank.into(),
            ..Self::failed(Failure::MemberMemory)
        }
    }

    /// The inline payload.
    #[must_use]
    pub fn inline_bytes(&self) -> &[u8] {
        &self.inline[..usize::from(self.inline_len).min(INLINE_BYTES)]
    }

    /// Puts up to [`INLINE_BYTES`] bytes inline.
    pub fn set_inline(&mut self, bytes: &[u8]) {
        self.inline[..bytes.len()].copy_from_slice(bytes);
        self.inline_len = u8::try_from(bytes.len()).expect("INLINE_BYTES fits u8");
    }

    pub(crate) fn is_for(first_word: u64, request: RequestId) -> bool {
        first_word == DONE | request.word()
    }

    pub(crate) fn encode(&self, request: RequestId) -> [u64; COMPLETION_WORDS] {
        let mut words = [0; COMPLETION_WORDS];
        words[0] = DONE | request.word();
        words[1] = u64::from(self.source) | u64::from(self.tag.cast_unsigned()) << 32;
        words[2] = self.len;
        words[3] = u64::from(self.failure as u8) | u64::from(self.inline_len) << 8;
        inline_to_words(&self.inline, &mut words[8..]);
        words
    }

    pub(crate) fn decode(words: &[u64; COMPLETION_WORDS]) -> Self {
        let [failure, inline_len, ..] = words[3].to_le_bytes();
        let mut inline = [0; INLINE_BYTES];
        inline_from_words(&words[8..], &mut inline);
        Self {
            failure: Failure::from_code(failure),
            source: low(words[1]),
            tag: high(words[1]).cast_signed(),
            len: words[2],
            inline_len,
            inline,
        }
    }
}

/// Spreads inline payload over words, in memory order.
pub(crate) fn inline_to_words(inline: &[u8; INLINE_BYTES], words: &mut [u64]) {
    for (word, bytes) in words.iter_mut().zip(inline.chunks_exact(8)) {
        *word = u64::from_le_bytes(bytes.try_into().expect("eight bytes"));
    }
}

/// Gathers inline payload from words.
pub(crate) fn inline_from_words(words: &[u64], inline: &mut [u8; INLINE_BYTES]) {
    for (word, bytes) in words.iter().zip(inline.chunks_exact_mut(8)) {
        bytes.copy_from_slice(&word.to_le_bytes());
    }
}
