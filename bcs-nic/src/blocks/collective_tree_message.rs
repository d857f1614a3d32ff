//! Messages between nodes about a collective outside of the slice: up the tree of its group they
//! report that the members below have arrived, and down the tree they carry the outcome.

use super::PartContent;
use bcs_core::descriptor::BadDescriptor;
use bcs_core::limits::INLINE_BYTES;
use bcs_core::request::{high, low};
use zerocopy::IntoBytes;

/// The direction of a [`CollectiveTreeMessage`] along the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TreeDirection {
    /// From a child: all members of its subtree have arrived.
    Up,
    /// From the parent: all members have arrived.
    Down,
}

/// A message about a collective along the tree of its group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CollectiveTreeMessage {
    /// The context: its first member and its id, of 16 bits.
    pub context: (u32, u32),
    /// Which context with this id it is, in their order.
    pub life: u16,
    /// Which collective of the context.
    pub sequence: u64,
    /// The direction.
    pub way: TreeDirection,
    /// The signature of the members' calls; 0: they differ.
    pub signature: u64,
    /// The subtree's contribution, or the result.
    pub content: PartContent,
}

const HEADER_WORDS: usize = 6;

/// The index of the word that holds the kind of the message. In envelopes
/// ([`super::OutsideSliceHeader`]) that word is 0.
pub(super) const KIND_WORD: usize = 2;
const UP: u64 = 1;
const DOWN: u64 = 2;

impl CollectiveTreeMessage {
    /// Encodes it as words.
    ///
    /// # Panics
    /// When the content is longer than [`INLINE_BYTES`].
    #[must_use]
    pub fn encode(&self) -> Vec<u64> {
        let mut words = [0; HEADER_WORDS + INLINE_BYTES / 8];
        let (first, id) = self.context;
        words[0] = u64::from(first) << 32 | u64::from(self.life) << 16 | u64::from(id);
        words[1] = self.sequence;
        words[KIND_WORD] = match self.way {
            TreeDirection::Up => UP,
            TreeDirection::Down => DOWN,
        };
        words[3] = self.signature;
        let mut len = 0;
        match &self.content {
            Ok(bytes) => {
                len = bytes.len();
                words[HEADER_WORDS..].as_mut_bytes()[..len].copy_from_slice(bytes);
            }
            Err(rank) => words[4] = u64::from(*rank) + 1,
        }
        words[5] = len as u64;
        words[..HEADER_WORDS + len.div_ceil(8)].to_vec()
    }

    /// Parses words that came outside of the slice; `None` if they are envelopes.
    ///
    /// # Errors
    /// [`BadDescriptor`]: the fabric delivered invalid data.
    pub fn parse(words: &[u64]) -> Option<Result<Self, BadDescriptor>> {
        let way = match *words.get(KIND_WORD)? {
            0 => return None,
            UP => TreeDirection::Up,
            DOWN => TreeDirection::Down,
            kind => return Some(rubbish("kind of a part", kind)),
        };
        Some(Self::parse_part(words, way))
    }

    fn parse_part(words: &[u64], way: TreeDirection) -> Result<Self, BadDescriptor> {
        let (header, data) = words.split_at_checked(HEADER_WORDS).unwrap_or_default();
        let &[context, sequence, _, signature, spoilt, len] = header else {
            return rubbish("words of a part", words.len() as u64);
        };
        let content = match spoilt.checked_sub(1) {
            Some(rank) => match u32::try_from(rank) {
                Ok(rank) => Err(rank),
                Err(_) => return rubbish("rank", rank),
            },
            None => {
                let bytes = usize::try_from(len).ok();
                let bytes = bytes.and_then(|len| data.as_bytes().get(..len));
                match bytes.filter(|bytes| bytes.len() <= INLINE_BYTES) {
                    Some(bytes) => Ok(bytes.to_vec()),
                    None => return rubbish("bytes of a part", len),
                }
            }
        };
        Ok(Self {
            context: (high(context), low(context) & 0xffff),
            life: u16::try_from(low(context) >> 16).expect("16 bits"),
            sequence,
            way,
            signature,
            content,
        })
    }
}

fn rubbish<T>(field: &'static str, value: u64) -> Result<T, BadDescriptor> {
    Err(BadDescriptor { field, value })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn parsing_is_total_and_encoding_is_its_inverse(
            mut words in proptest::collection::vec(any::<u64>(), 0..16), kind in 0u64..4, len in 0u64..80, spoilt in 0u64..3,
        ) {
            for (at, value) in [(KIND_WORD, kind), (4, spoilt), (5, len)] {
                words.get_mut(at).into_iter().for_each(|word| *word = value);
            }
            if let Some(Ok(part)) = CollectiveTreeMessage::parse(&words) {
                prop_assert_eq!(CollectiveTreeMessage::parse(&part.encode()), Some(Ok(part)));
            } else if words.len() >= 14 && len <= 64 && (1..=2).contains(&kind) {
                prop_assert!(false, "refused {words:?}");
            }
        }
    }
}
