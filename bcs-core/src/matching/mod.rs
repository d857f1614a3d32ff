//! The matching engine: which message meets which receive.
//!
//! One [`Matcher`] serves one receiving rank. It knows neither slices nor memory. The NIC's Buffer
//! Receiver feeds it in the order that the schedule fixes: (slice, source rank, post sequence).
//! SMARTMAP feeds it in the order in which it drains its queues. The input alone determines the
//! result.
//!
//! # The rules it keeps
//!
//! - *Non-overtaking* (MPI 5.0, 3.5). A receive takes the earliest arrived message that matches it,
//!   and a message takes the earliest posted receive. The caller delivers the messages of one
//!   sender in the order of their sends, hence they are received in this order.
//! - *Wildcards* (3.2.4). A receive may use a wildcard for the source, the tag or both, never for
//!   the context. The rule above holds across patterns: an earlier wildcard receive goes before a
//!   later exact one.
//! - *Fairness*: MPI does not promise it, but it follows. A wildcard receive takes the message that
//!   has waited longest.
//! - *Probe* (3.8.1) finds the message that a receive with its pattern would take; *matched probe*
//!   (3.8.2) takes it out. After that no receive or probe can find it.
//! - *Cancel* (3.8.4) takes out a receive that is not matched yet. A receive is either matched or
//!   cancelled, never both.
//!
//! A message waits only if no posted receive matches it, and a receive only if no message does. So
//! no waiting message ever matches a waiting receive.
//!
//! # How it is fast
//!
//! ```text
//! unexpected message          filed under     exact   any source   any tag   both
//! (context, source, tag)                        │         │           │        │
//!                                             chain     chain       chain    chain
//!                                               │         │           │        │
//! a receive asks for one pattern: the head of one chain is the earliest match
//!
//! posted receive              filed under its own pattern, with a sequence number
//! an arriving message compares the heads of four chains: the least number is the earliest match
//! ```
//!
//! The latest entries stand in a line and are not filed. If the program always requests entries
//! near the beginning of the line, they are never filed ([`table`]). Otherwise every operation
//! looks up at most four chains and links or unlinks at most four, whatever the number of entries
//! and the order in which they are taken. The tables are bounded, take memory as entries come, and
//! never move their entries. Keys come from ranks that are not trusted. A rank that makes them
//! collide slows down its own job and no other.

mod directory;
mod paged_vec;
mod pattern;
mod table;

#[cfg(test)]
mod tests;

use std::fmt;

pub use pattern::{MessageEnvelope, Pattern};

use pattern::WILDCARDS;
use table::{EntryHandle, Table, TableEntry};

/// The messages and receives of one rank that wait for each other.
///
/// `E` is what the caller stores for a message, `R` for a receive.
pub struct Matcher<E, R> {
    unexpected: Table<(MessageEnvelope, E), WILDCARDS>,
    posted: Table<(Pattern, R), 1>,
    /// The number of posted receives by the wildcards they use, so that programs without wildcards
    /// do not pay for them.
    posted_with: [usize; WILDCARDS],
}

/// A posted receive, as a handle to cancel it. The handle goes stale when the receive is matched,
/// and stays so.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ReceiveHandle(EntryHandle);

/// The result of an arrival.
#[derive(Debug, PartialEq, Eq)]
pub enum ArrivalOutcome<E, R> {
    /// The message met the earliest posted receive that matches it.
    Matched {
        /// The message, as it was given.
        envelope: E,
        /// The pattern of the receive.
        pattern: Pattern,
        /// The receive, no longer posted.
        receive: R,
    },
    /// No receive matches the message yet, so it waits.
    Unexpected,
}

/// The result of posting a receive.
#[derive(Debug, PartialEq, Eq)]
pub enum PostOutcome<E, R> {
    /// The receive met the earliest arrived message that matches it.
    Matched {
        /// The envelope of the message, which a receive with wildcards does not know.
        signature: MessageEnvelope,
        /// The message, which no longer waits.
        envelope: E,
        /// The receive, as it was given.
        receive: R,
    },
    /// No message matches the receive yet, so it is posted.
    Waiting(ReceiveHandle),
}

/// A table is full: the program sends far ahead of its receives, or posts far more receives than it
/// gets messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TableFull {
    /// No room for another message.
    #[error(
        "{limit} messages have arrived for which no receive is posted, and no more can be kept"
    )]
    Unexpected {
        /// The number of messages that can wait.
        limit: usize,
    },
    /// No room for another receive.
    #[error(
        "{limit} receives are posted for which no message has arrived, and no more can be kept"
    )]
    Posted {
        /// The number of receives that can wait.
        limit: usize,
    },
}

impl<E> TableEntry<WILDCARDS> for (MessageEnvelope, E) {
    fn patterns(&self) -> [Pattern; WILDCARDS] {
        self.0.patterns()
    }
}

impl<R> TableEntry<1> for (Pattern, R) {
    fn patterns(&self) -> [Pattern; 1] {
        [self.0]
    }
}

impl<E, R> Matcher<E, R> {
    /// Returns an empty matcher with limits for unexpected messages and posted receives. It
    /// allocates memory as they come, and does not free it.
    ///
    /// # Panics
    ///
    /// If a limit is above 2^29.
    #[must_use]
    pub fn new(unexpected_limit: usize, posted_limit: usize) -> Self {
        Self {
            unexpected: Table::new(unexpected_limit),
            posted: Table::new(posted_limit),
            posted_with: [0; WILDCARDS],
        }
    }

    /// Adds an arrived message. It meets the earliest posted receive that matches it, or waits.
    ///
    /// # Errors
    ///
    /// When the message would have to wait and the table is full. Then nothing has changed, except
    /// that `envelope` is dropped.
    pub fn arrive(
        &mut self,
        signature: MessageEnvelope,
        envelope: E,
    ) -> Result<ArrivalOutcome<E, R>, TableFull>
    where
        R: Clone,
    {
        let met = self.take_receive(&signature, |pattern, receive| (*pattern, receive.clone()));
        match met {
            Some((pattern, receive)) => Ok(ArrivalOutcome::Matched {
                envelope,
                pattern,
                receive,
            }),
            None => self
                .add_unexpected(signature, envelope)
                .map(|()| ArrivalOutcome::Unexpected),
        }
    }

    /// Takes out the earliest posted receive that matches. This is the first half of
    /// [`arrive`](Self::arrive), for a caller that has not built the entry of the message yet. It
    /// moves only the part of the receive that the caller wants.
    #[inline(always)]
    pub fn take_receive<W>(
        &mut self,
        signature: &MessageEnvelope,
        wanted: impl FnOnce(&Pattern, &mut R) -> W,
    ) -> Option<W> {
        let handle = self.earliest_receive(signature)?;
        let take = |(pattern, receive): &mut (Pattern, R)| {
            let wanted = wanted(pattern, receive);
            (pattern.wildcards(), wanted)
        };
        let met = self.posted.remove_with(handle, take);
        let (wildcards, wanted) = met.expect("a chain's head is posted");
        self.posted_with[wildcards] -= 1;
        Some(wanted)
    }

    /// Returns the receive that `arrive` would take out, and its pattern.
    pub fn first_for(&mut self, signature: &MessageEnvelope) -> Option<&(Pattern, R)> {
        let handle = self.earliest_receive(signature)?;
        self.posted.get(handle)
    }

    /// Adds a message that has met no receive. This is the second half of `arrive`.
    ///
    /// # Errors
    ///
    /// As [`arrive`](Self::arrive).
    pub fn add_unexpected(
        &mut self,
        signature: MessageEnvelope,
        envelope: E,
    ) -> Result<(), TableFull> {
        let kept = (signature, envelope);
        match self.unexpected.insert(kept) {
            Some(_) => Ok(()),
            None => Err(TableFull::Unexpected {
                limit: self.unexpected.limit(),
            }),
        }
    }

    /// Posts a receive. It meets the earliest arrived message that matches it, or waits.
    ///
    /// # Errors
    ///
    /// When the receive would have to wait and the table is full. Then nothing has changed, except
    /// that `receive` is dropped.
    #[inline(always)]
    pub fn post(&mut self, pattern: Pattern, receive: R) -> Result<PostOutcome<E, R>, TableFull> {
        if let Some((signature, envelope)) = self.take_unexpected(pattern) {
            return Ok(PostOutcome::Matched {
                signature,
                envelope,
                receive,
            });
        }
        self.add_posted(pattern, receive).map(PostOutcome::Waiting)
    }

    /// Posts a receive that is known to match no message. This is the second half of
    /// [`post`](Self::post).
    ///
    /// # Errors
    ///
    /// As [`post`](Self::post).
    #[inline(always)]
    pub fn add_posted(&mut self, pattern: Pattern, receive: R) -> Result<ReceiveHandle, TableFull> {
        match self.posted.insert((pattern, receive)) {
            Some(handle) => {
                self.posted_with[pattern.wildcards()] += 1;
                Ok(ReceiveHandle(handle))
            }
            None => Err(TableFull::Posted {
                limit: self.posted.limit(),
            }),
        }
    }

    /// Takes out a posted receive. Returns `None` if it has been matched or cancelled before.
    pub fn cancel(&mut self, handle: ReceiveHandle) -> Option<R> {
        let (pattern, receive) = self.posted.remove(handle.0)?;
        self.posted_with[pattern.wildcards()] -= 1;
        Some(receive)
    }

    /// Returns the message that a receive with this pattern would take now.
    #[must_use]
    pub fn probe(&self, pattern: Pattern) -> Option<(MessageEnvelope, &E)> {
        let handle = self.earliest_message(&pattern)?;
        self.unexpected
            .get(handle)
            .map(|(signature, envelope)| (*signature, envelope))
    }

    /// Takes out the message that a receive with this pattern would take now (a matched probe).
    #[inline(always)]
    pub fn take_unexpected(&mut self, pattern: Pattern) -> Option<(MessageEnvelope, E)> {
        let wanted = |(signature, _): &(MessageEnvelope, E)| pattern.matches(signature);
        let handle = self.unexpected.find(std::iter::once(&pattern), wanted)?;
        self.unexpected.remove(handle)
    }

    /// Takes out the earliest message with this signature for which `wanted` holds: one that its
    /// sender has cancelled. Other messages with the same signature stay.
    pub fn take_message(
        &mut self,
        signature: MessageEnvelope,
        wanted: impl Fn(&E) -> bool,
    ) -> Option<E> {
        let is_it = |(of, envelope): &(MessageEnvelope, E)| *of == signature && wanted(envelope);
        let handle = self.unexpected.earliest_of(&signature.patterns(), is_it)?;
        self.unexpected.remove(handle).map(|(_, envelope)| envelope)
    }

    /// Returns whether a receive with this pattern would take a message now.
    #[must_use]
    pub fn holds_match_for(&self, pattern: Pattern) -> bool {
        self.earliest_message(&pattern).is_some()
    }

    /// Returns the number of messages that wait for a receive.
    #[must_use]
    pub fn unexpected_len(&self) -> usize {
        self.unexpected.len()
    }

    /// Returns the number of receives that wait for a message.
    #[must_use]
    pub fn posted_len(&self) -> usize {
        self.posted.len()
    }

    /// Returns the messages that wait for a receive, in the order in which they arrived. It sorts
    /// them, so it is for diagnosis only.
    pub fn unexpected(&self) -> impl Iterator<Item = (MessageEnvelope, &E)> {
        self.unexpected
            .in_order()
            .map(|(signature, envelope)| (*signature, envelope))
    }

    /// Returns the receives that wait for a message, in the order in which they were posted. It
    /// sorts them, so it is for diagnosis only.
    pub fn posted(&self) -> impl Iterator<Item = (Pattern, &R)> {
        self.posted
            .in_order()
            .map(|(pattern, receive)| (*pattern, receive))
    }

    fn earliest_message(&self, pattern: &Pattern) -> Option<EntryHandle> {
        let wanted = |(signature, _): &(MessageEnvelope, E)| pattern.matches(signature);
        self.unexpected.earliest(std::iter::once(pattern), wanted)
    }

    /// Finds the earliest posted receive that matches. If it is filed, it has the least sequence
    /// number of up to four heads.
    fn earliest_receive(&mut self, signature: &MessageEnvelope) -> Option<EntryHandle> {
        let patterns = signature.patterns();
        let in_use = patterns
            .iter()
            .zip(self.posted_with)
            .filter(|(_, receives)| *receives > 0)
            .map(|(pattern, _)| pattern);
        let wanted = |(pattern, _): &(Pattern, R)| pattern.matches(signature);
        self.posted.find(in_use, wanted)
    }
}

impl<E, R> fmt::Debug for Matcher<E, R> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Matcher")
            .field("unexpected", &self.unexpected.len())
            .field("posted", &self.posted.len())
            .finish_non_exhaustive()
    }
}
