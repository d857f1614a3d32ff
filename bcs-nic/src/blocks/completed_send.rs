//! Completed sends, as the receiver's node reports them to the sender's: in a completion block, or
//! outside of the slice.

use super::collective_tree_message::KIND_WORD;
use bcs_core::descriptor::BadDescriptor;
use bcs_core::request::{RequestFailure, RequestId, low};

/// A send that is complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompletedSend {
    /// World rank of the sender.
    pub rank: u32,
    /// Its request.
    pub request: RequestId,
    /// The outcome.
    pub failure: RequestFailure,
}

const HEADER_WORDS: usize = 4;

/// The value of the word [`KIND_WORD`] for completed sends.
const COMPLETED_SENDS: u64 = 3;

impl CompletedSend {
    /// Words of one entry.
    pub(super) const WORDS: usize = 2;

    /// The most that one message reports.
    pub const MAX_PER_MESSAGE: usize = 1024;

    pub(super) fn words(&self) -> [u64; Self::WORDS] {
        let whose = u64::from(self.rank) | u64::from(self.failure as u8) << 32;
        [whose, self.request.word()]
    }

    pub(super) fn from_words(&[whose, request]: &[u64; Self::WORDS]) -> Self {
        Self {
            rank: low(whose),
            request: RequestId::from_word(request),
            failure: RequestFailure::from_code((whose >> 32 & 0xff).to_le_bytes()[0]),
        }
    }

    /// Encodes them as words, to send outside of the slice.
    #[must_use]
    pub fn encode(sends: &[Self]) -> Vec<u64> {
        let mut words = vec![0; HEADER_WORDS];
        words[KIND_WORD] = COMPLETED_SENDS;
        words.extend(sends.iter().flat_map(Self::words));
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
        Some(Ok(records.iter().map(Self::from_words).collect()))
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
