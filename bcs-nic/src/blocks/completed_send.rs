//! Completed sends, as the receiver's node reports them to the sender's: in a completion block, or
//! outside of the slice. A one-sided operation may bring bytes back to its origin this way.

use super::collective_tree_message::KIND_WORD;
use bcs_core::descriptor::BadDescriptor;
use bcs_core::limits::INLINE_BYTES;
use bcs_core::request::{Completion, RequestFailure, RequestId, low};

/// A send that is complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompletedSend {
    /// World rank of the sender.
    pub rank: u32,
    /// Its request.
    pub request: RequestId,
    /// The outcome.
    pub failure: RequestFailure,
    /// The number of bytes that come back.
    pub returned_len: u8,
    /// These bytes.
    pub returned: [u8; INLINE_BYTES],
}

const HEADER_WORDS: usize = 4;

/// The value of the word [`KIND_WORD`] for completed sends.
const COMPLETED_SENDS: u64 = 3;

impl CompletedSend {
    /// Words of one that brings nothing back. Each further [unit](Self::units) has as many bytes.
    pub(super) const WORDS: usize = 2;

    /// The most that one message reports.
    pub const MAX_PER_MESSAGE: usize = 1024;

    /// Creates the completion of a message's send.
    #[must_use]
    pub fn new(rank: u32, request: RequestId, failure: RequestFailure) -> Self {
        Self {
            rank,
            request,
            failure,
            returned_len: 0,
            returned: [0; INLINE_BYTES],
        }
    }

    /// Creates the completion of an operation that may be one-sided. A one-sided operation meets no
    /// receive. Bytes that it brings back are inline in the completion that a receive would have.
    #[must_use]
    pub fn of_transfer(
        (rank, request): (u32, RequestId),
        failure: RequestFailure,
        (receive, completion): (RequestId, &Completion),
    ) -> Self {
        let mut sent = Self::new(rank, request, failure);
        if receive == RequestId::NOBODY && failure == RequestFailure::None {
            sent.returned_len = completion.inline_len;
            sent.returned = completion.inline;
        }
        sent
    }

    /// Returns the completion for its sender.
    #[must_use]
    pub fn completion(&self) -> Completion {
        Completion {
            failure: self.failure,
            inline_len: self.returned_len,
            inline: self.returned,
            ..Completion::default()
        }
    }

    /// Returns the units of words that a completion takes in a block.
    #[must_use]
    pub fn units(returned_len: u8) -> usize {
        1 + usize::from(returned_len).div_ceil(Self::WORDS * 8)
    }

    pub(super) fn push_words(&self, words: &mut Vec<u64>) {
        let len = u64::from(self.returned_len);
        let whose = u64::from(self.rank) | u64::from(self.failure as u8) << 32 | len << 40;
        words.extend([whose, self.request.word()]);
        let more = (Self::units(self.returned_len) - 1) * Self::WORDS;
        let returned = self.returned.chunks_exact(8).take(more);
        words.extend(returned.map(|word| u64::from_le_bytes(word.try_into().expect("a word"))));
    }

    /// Parses the units of a block.
    pub(super) fn from_units(units: &[[u64; Self::WORDS]]) -> Result<Vec<Self>, BadDescriptor> {
        let mut sends = Vec::with_capacity(units.len());
        let mut rest = units.iter();
        while let Some(&[whose, request]) = rest.next() {
            let [failure, returned_len, ..] = (whose >> 32).to_le_bytes();
            let failure = RequestFailure::from_code(failure);
            let mut sent = Self::new(low(whose), RequestId::from_word(request), failure);
            if usize::from(returned_len) > INLINE_BYTES {
                let (field, value) = ("bytes that come back", u64::from(returned_len));
                return Err(BadDescriptor { field, value });
            }
            sent.returned_len = returned_len;
            let more = Self::units(returned_len) - 1;
            let words = rest.by_ref().take(more).flatten();
            let mut chunks = sent.returned.chunks_exact_mut(8);
            let copied = words.zip(&mut chunks).map(|(word, bytes)| {
                bytes.copy_from_slice(&word.to_le_bytes());
            });
            if copied.count() < more * Self::WORDS {
                let (field, value) = ("words of sends", units.len() as u64);
                return Err(BadDescriptor { field, value });
            }
            sends.push(sent);
        }
        Ok(sends)
    }

    /// Encodes them as words, to send outside of the slice.
    #[must_use]
    pub fn encode(sends: &[Self]) -> Vec<u64> {
        let mut words = vec![0; HEADER_WORDS];
        words[KIND_WORD] = COMPLETED_SENDS;
        sends.iter().for_each(|send| send.push_words(&mut words));
        words
    }

    /// Parses words that came outside of the slice; `None` if they are something else.
    ///
    /// # Errors
    /// [`BadDescriptor`]: the fabric delivered invalid data.
    pub fn parse(words: &[u64]) -> Option<Result<Vec<Self>, BadDescriptor>> {
        if *words.get(KIND_WORD)? != COMPLETED_SENDS {
            return None;
        }
        let records = words.get(HEADER_WORDS..).unwrap_or_default();
        let (records, rest) = records.as_chunks();
        if !rest.is_empty() {
            let (field, value) = ("words of sends", words.len() as u64);
            return Some(Err(BadDescriptor { field, value }));
        }
        Some(Self::from_units(records))
    }
}

#[cfg(test)]
mod tests {
    use super::super::CollectiveTreeMessage;
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn parsing_is_total_and_encoding_is_its_inverse(words in proptest::collection::vec(any::<u64>(), 0..16), is_told: bool) {
            let mut words = words;
            words.get_mut(KIND_WORD).into_iter().for_each(|word| *word = if is_told { COMPLETED_SENDS } else { *word });
            if let Some(Ok(told)) = CompletedSend::parse(&words) {
                let encoded = CompletedSend::encode(&told);
                prop_assert_eq!(CompletedSend::parse(&encoded), Some(Ok(told)));
                prop_assert!(!matches!(CollectiveTreeMessage::parse(&encoded), Some(Ok(_))));
            }
        }
    }
}
