//! The envelope of a message and the pattern of a receive.

/// The part of an arrived message's envelope that matching uses: MPI 5.0, 3.2.3.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MessageEnvelope {
    /// The communicator and its use (point-to-point, collectives ...). A receive never sees a
    /// message of another context, with or without wildcards.
    pub context: u32,
    /// The sender's rank in that context.
    pub source: u32,
    /// The tag that the sender gave.
    pub tag: i32,
}

/// The pattern of a receive or a probe. Only source and tag have wildcards: MPI 5.0, 3.2.4.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Pattern {
    /// The context, which must equal the message's.
    pub context: u32,
    /// The sender's rank, or `None` for `MPI_ANY_SOURCE`.
    pub source: Option<u32>,
    /// The tag, or `None` for `MPI_ANY_TAG`.
    pub tag: Option<i32>,
}

/// The number of [`Wildcards`].
pub(super) const WILDCARDS: usize = 4;

/// The wildcards that a pattern uses, as an index below [`WILDCARDS`].
pub(super) type Wildcards = usize;

impl Pattern {
    /// Returns whether a receive with this pattern would take this message.
    #[must_use]
    #[inline]
    pub fn matches(&self, signature: &MessageEnvelope) -> bool {
        self.context == signature.context
            && self.source.is_none_or(|source| source == signature.source)
            && self.tag.is_none_or(|tag| tag == signature.tag)
    }

    /// Returns the index of this pattern among the [`MessageEnvelope::patterns`] of any message it
    /// matches.
    pub(super) fn wildcards(&self) -> Wildcards {
        usize::from(self.source.is_none()) | usize::from(self.tag.is_none()) << 1
    }
}

impl MessageEnvelope {
    /// Returns all patterns that match this message.
    pub(super) fn patterns(&self) -> [Pattern; WILDCARDS] {
        let Self {
            context,
            source,
            tag,
        } = *self;
        [
            Pattern {
                context,
                source: Some(source),
                tag: Some(tag),
            },
            Pattern {
                context,
                source: None,
                tag: Some(tag),
            },
            Pattern {
                context,
                source: Some(source),
                tag: None,
            },
            Pattern {
                context,
                source: None,
                tag: None,
            },
        ]
    }
}

/// The pattern without wildcards, which matches only messages of this signature.
impl From<MessageEnvelope> for Pattern {
    fn from(signature: MessageEnvelope) -> Self {
        signature.patterns()[0]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_matches_its_four_patterns_and_each_knows_its_index() {
        let signature = MessageEnvelope {
            context: 7,
            source: 3,
            tag: -5,
        };
        for (index, pattern) in signature.patterns().iter().enumerate() {
            assert!(pattern.matches(&signature));
            assert_eq!(pattern.wildcards(), index);
        }
        assert_eq!(Pattern::from(signature).wildcards(), 0);
    }

    #[test]
    fn what_a_pattern_names_must_be_equal() {
        let signature = MessageEnvelope {
            context: 7,
            source: 3,
            tag: 5,
        };
        for pattern in signature.patterns() {
            assert!(!pattern.matches(&MessageEnvelope {
                context: 8,
                ..signature
            }));
            let other_source = pattern.matches(&MessageEnvelope {
                source: 4,
                ..signature
            });
            assert_eq!(other_source, pattern.source.is_none());
            let other_tag = pattern.matches(&MessageEnvelope {
                tag: 6,
                ..signature
            });
            assert_eq!(other_tag, pattern.tag.is_none());
        }
    }
}
