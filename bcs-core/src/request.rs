//! Requests and their completions: how a NIC notifies a rank that an operation is done.

use crate::check_bits::CheckBits;
use crate::limits::INLINE_BYTES;

/// Words of a request slot: two cache lines, because lines are fetched in pairs and no two slots
/// should share a pair.
pub const COMPLETION_WORDS: usize = 16;

/// The inline payload directly follows the fields: a completion with up to 32 bytes of it is one
/// cache line.
const INLINE_WORD: usize = 4;

const _: () = assert!(INLINE_WORD + INLINE_BYTES / 8 <= COMPLETION_WORDS);

/// A request slot of a rank, and the use of the slot: a completion of an earlier use can never be
/// taken for this one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct RequestId {
    /// The slot, below [`crate::limits::REQUEST_SLOTS`].
    pub slot: u32,
    /// The number of this use of the slot, from 1.
    pub generation: u32,
}

impl RequestId {
    /// The request of operations that need no completion. Its slot is never used otherwise, so a
    /// completion does no harm.
    pub const NOBODY: Self = Self {
        slot: 0,
        generation: 0,
    };

    /// Returns one word: slot low, generation high.
    #[must_use]
    pub fn word(self) -> u64 {
        u64::from(self.slot) | u64::from(self.generation) << 32
    }

    /// Decodes a word.
    #[must_use]
    pub fn from_word(word: u64) -> Self {
        Self {
            slot: low(word),
            generation: high(word),
        }
    }
}

/// Returns the lower half of a word.
#[must_use]
pub fn low(word: u64) -> u32 {
    (word & 0xffff_ffff) as u32
}

/// Returns the upper half of a word.
#[must_use]
pub fn high(word: u64) -> u32 {
    (word >> 32) as u32
}

/// The reason why a request failed. Codes are part of the NIC memory layout.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum RequestFailure {
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
    /// Members called different collectives earlier, when this rank did not wait for the others.
    EarlierMismatch = 9,
    /// Memory of a member of the collective could not be read or written. The completion holds the
    /// member.
    MemberMemory = 10,
    /// Memory of the target of a one-sided operation could not be read or written.
    TargetMemory = 11,
}

impl RequestFailure {
    /// Decodes a code; an unknown one gives a bad descriptor.
    #[must_use]
    pub fn from_code(code: u8) -> Self {
        use RequestFailure::{
            BadAddress, BadDescriptor, Cancelled, EarlierMismatch, MemberMemory, Mismatch, None,
            PeerGone, SenderMemory, TableFull, TargetMemory, Truncated,
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
            TargetMemory,
        ]
        .into_iter()
        .find(|failure| *failure as u8 == code)
        .unwrap_or(BadDescriptor)
    }
}

/// The result of a completed request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// The reason of the failure, if it failed.
    pub failure: RequestFailure,
    /// Receives and probes: the world rank of the sender.
    pub source: u32,
    /// Receives and probes: the tag of the message.
    pub tag: i32,
    /// Receives and probes: the length of the message in bytes (in full, if it was truncated). For
    /// a mismatch: another rank's call. For inaccessible memory of a member: its world rank.
    pub len: u64,
    /// Receives: the bits that a checked job sent with the message.
    pub check_bits: CheckBits,
    /// The number of bytes of `inline` that the rank must copy to its buffer.
    pub inline_len: u8,
    /// A small payload that came with the completion.
    pub inline: [u8; INLINE_BYTES],
}

const DONE: u64 = 1 << 63;

impl Default for Completion {
    fn default() -> Self {
        Self {
            failure: RequestFailure::None,
            source: 0,
            tag: 0,
            len: 0,
            check_bits: CheckBits::NONE,
            inline_len: 0,
            inline: [0; INLINE_BYTES],
        }
    }
}

impl Completion {
    /// Returns a success without data.
    #[must_use]
    pub fn done() -> Self {
        Self::default()
    }

    /// Returns a failure.
    #[must_use]
    pub fn failed(failure: RequestFailure) -> Self {
        Self {
            failure,
            ..Self::default()
        }
    }

    /// Returns the completion of a refused collective, with another rank's call, packed
    /// ([`NicCollectiveCall::pack`](crate::descriptor::NicCollectiveCall::pack)).
    #[must_use]
    pub fn mismatch(against: u64) -> Self {
        Self {
            len: against,
            ..Self::failed(RequestFailure::Mismatch)
        }
    }

    /// Returns the completion of a collective that failed because memory of this world rank is
    /// inaccessible.
    #[must_use]
    pub fn member_memory(rank: u32) -> Self {
        Self {
            len: rank.into(),
            ..Self::failed(RequestFailure::MemberMemory)
        }
    }

    /// Returns the inline payload.
    #[must_use]
    pub fn inline_bytes(&self) -> &[u8] {
        &self.inline[..usize::from(self.inline_len).min(INLINE_BYTES)]
    }

    /// Puts up to [`INLINE_BYTES`] bytes inline.
    pub fn set_inline(&mut self, bytes: &[u8]) {
        self.inline[..bytes.len()].copy_from_slice(bytes);
        self.inline_len = u8::try_from(bytes.len()).expect("INLINE_BYTES fits u8");
    }

    #[inline]
    pub(crate) fn is_for(first_word: u64, request: RequestId) -> bool {
        first_word == Self::first_word(request)
    }

    /// Returns the first word of its request slot, which is written last.
    #[inline]
    pub(crate) fn first_word(request: RequestId) -> u64 {
        DONE | request.word()
    }

    /// Writes the other words of its request slot. The rest of the slot after its payload stays as
    /// it was.
    #[inline]
    pub(crate) fn encode(&self, mut write: impl FnMut(usize, u64)) {
        write(
            1,
            u64::from(self.source) | u64::from(self.tag.cast_unsigned()) << 32,
        );
        write(2, self.len);
        write(
            3,
            u64::from(self.failure as u8)
                | u64::from(self.inline_len) << 8
                | u64::from(self.check_bits.bits()) << 32,
        );
        let used = inline_words(self.inline_len);
        for (index, bytes) in self.inline.chunks_exact(8).take(used).enumerate() {
            let word = u64::from_le_bytes(bytes.try_into().expect("eight bytes"));
            write(INLINE_WORD + index, word);
        }
    }

    /// Decodes the words of a request slot. It requests each word at most once.
    #[inline]
    pub(crate) fn decode(word: impl Fn(usize) -> u64) -> Self {
        let how = word(3);
        let [failure, inline_len, ..] = how.to_le_bytes();
        let mut inline = [0; INLINE_BYTES];
        let used = inline_words(inline_len);
        for (index, bytes) in inline.chunks_exact_mut(8).take(used).enumerate() {
            bytes.copy_from_slice(&word(INLINE_WORD + index).to_le_bytes());
        }
        let from = word(1);
        Self {
            failure: RequestFailure::from_code(failure),
            source: low(from),
            tag: high(from).cast_signed(),
            len: word(2),
            check_bits: CheckBits::new(high(how)),
            inline_len,
            inline,
        }
    }
}

/// Returns the number of words for `len` bytes of inline payload, limited to those that fit.
fn inline_words(len: u8) -> usize {
    usize::from(len).min(INLINE_BYTES).div_ceil(8)
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
