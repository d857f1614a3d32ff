//! The matching engine: which message meets which receive.
//!
//! One [`Matcher`] stands for one receiving rank. It knows neither slices nor memory: the NIC's
//! Buffer Receiver feeds it in the order that the schedule fixes, (slice, source rank, post
//! sequence); SMARTMAP in the order in which it drains its queues. What it is fed determines what it
//! answers.
//!
//! # The rules it keeps
//!
//! - *Non-overtaking* (MPI 5.0, 3.5). Of messages that match a receive the earliest arrived is taken;
//!   of receives that match a message the earliest posted. Messages of one sender arrive in the
//!   order of their sends (that is the caller's part), hence they are received in this order.
//! - *Wildcards* (3.2.4). A receive may leave open source, tag or both, never the context. The rule
//!   above holds across patterns: an earlier wildcard receive goes before a later exact one.
//! - *Fairness* is not promised by MPI, but follows: a wildcard receive takes what has waited longest.
//! - *Probe* (3.8.1) finds the message that a receive with its pattern would take; *matched probe*
//!   (3.8.2) takes it out, after which no receive nor probe can find it.
//! - *Cancel* (3.8.4) takes a receive out that no message has met: either it is matched or it is
//!   cancelled, never both.
//!
//! A message waits only if no posted receive matches it, and a receive only if no message does. So
//! never is there a waiting message that matches a waiting receive.
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
//! an arriving message looks at the heads of four chains: the least number is the earliest match
//! ```
//!
//! The latest entries are in a line and not filed, as long as what is asked for is at its beginning:
//! then they never are ([`table`]). Otherwise
//! every operation looks up at most four chains, links or unlinks at most four, and is done,
//! however many entries there are and in whatever order they are taken. The tables are bounded, take
//! memory as entries come, and never move what they hold. Keys come from ranks that are not trusted;
//! a rank that makes them collide slows down its own job and no other.

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
/// `E` is what the caller keeps of a message, `R` of a receive.
pub struct Matcher<E, R> {
    unexpected: Table<(MessageEnvelope, E), WILDCARDS>,
    posted: Table<(Pattern, R), 1>,
    /// Posted receives by the wildcards they use, so that programs without pay for none.
    posted_with: [usize; WILDCARDS],
}

/// A posted receive, to cancel it. It goes stale when the receive is matched, and stays so.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ReceiveHandle(EntryHandle);

/// What became of an arrived message.
#[derive(Debug, PartialEq, Eq)]
pub enum ArrivalOutcome<E, R> {
    /// It met the earliest posted receive that matches it.
    Matched {
        /// The message, as it was given.
        envelope: E,
        /// What the receive asked for.
        pattern: Pattern,
        /// The receive, no longer posted.
        receive: R,
    },
    /// No receive matches it yet: it is kept.
    Unexpected,
}

/// What became of a receive.
#[derive(Debug, PartialEq, Eq)]
pub enum PostOutcome<E, R> {
    /// It met the earliest arrived message that matches it.
    Matched {
        /// What the message bears: a receive with wildcards did not know.
        signature: MessageEnvelope,
        /// The message, no longer kept.
        envelope: E,
        /// The receive, as it was given.
        receive: R,
    },
    /// No message matches it yet: it is posted.
    Waiting(ReceiveHandle),
}

/// A table is full: the program sends far ahead of its receives, or posts far more than it gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TableFull {
    /// No room for another message.
    #[error(
        "{limit} messages have arrived for which no receive is posted, and no more can be kept"
    )]
    Unexpected {
        /// The number of messages that can be kept.
        limit: usize,
    },
    /// No room for another receive.
    #[error(
        "{limit} receives are posted for which no message has arrived, and no more can be kept"
    )]
    Posted {
        /// The number of receives that can be kept.
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
    /// An empty matcher for at most so many unexpected messages and posted receives. It takes memory
    /// as they come, and keeps it.
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

    /// A message has arrived: it meets the earliest posted receive that matches it, or is kept.
    ///
    /// # Errors
    ///
    /// When it would have to be kept and the table is full. Nothing has changed then, but `envelope`
    /// is dropped.
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

    /// The first half of [`arrive`](Self::arrive), for a message that is not yet what is kept of it:
    /// takes out the earliest posted receive that matches. Nothing of it is moved but what is wanted.
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

    /// The receive that this would take out, and what it asks for.
    pub fn first_for(&mut self, signature: &MessageEnvelope) -> Option<&(Pattern, R)> {
        let handle = self.earliest_receive(signature)?;
        self.posted.get(handle)
    }

    /// The second half: keeps a message that has met no receive.
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

    /// A receive: it meets the earliest arrived message that matches it, or is posted.
    ///
    /// # Errors
    ///
    /// When it would have to be posted and the table is full. Nothing has changed then, but
    /// `receive` is dropped.
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

    /// The second half of [`post`](Self::post), for a receive of which it is known that no message matches it: it is
    /// posted.
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

    /// Takes out a posted receive. None if it has been matched or cancelled before.
    pub fn cancel(&mut self, handle: ReceiveHandle) -> Option<R> {
        let (pattern, receive) = self.posted.remove(handle.0)?;
        self.posted_with[pattern.wildcards()] -= 1;
        Some(receive)
    }

    /// The message that a receive with this pattern would take now.
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

    /// Takes out the earliest message with this signature that is `wanted`: one that its sender has cancelled.
    /// Others with the same signature stay, before and behind it.
    pub fn take_message(
        &mut self,
        signature: MessageEnvelope,
        wanted: impl Fn(&E) -> bool,
    ) -> Option<E> {
        let is_it = |(of, envelope): &(MessageEnvelope, E)| *of == signature && wanted(envelope);
        let handle = self.unexpected.earliest_of(&signature.patterns(), is_it)?;
        self.unexpected.remove(handle).map(|(_, envelope)| envelope)
    }

    /// Is there a message that a receive with this pattern would take now?
    #[must_use]
    pub fn holds_match_for(&self, pattern: Pattern) -> bool {
        self.earliest_message(&pattern).is_some()
    }

    /// Messages that wait for a receive.
    #[must_use]
    pub fn unexpected_len(&self) -> usize {
        self.unexpected.len()
    }

    /// Receives that wait for a message.
    #[must_use]
    pub fn posted_len(&self) -> usize {
        self.posted.len()
    }

    /// The messages that wait for a receive, in the order in which they arrived. This sorts them: it
    /// is for diagnosis ("who waits for whom").
    pub fn unexpected(&self) -> impl Iterator<Item = (MessageEnvelope, &E)> {
        self.unexpected
            .in_order()
            .map(|(signature, envelope)| (*signature, envelope))
    }

    /// The receives that wait for a message, in the order in which they were posted. This sorts
    /// them: it is for diagnosis.
    pub fn posted(&self) -> impl Iterator<Item = (Pattern, &R)> {
        self.posted
            .in_order()
            .map(|(pattern, receive)| (*pattern, receive))
    }

    fn earliest_message(&self, pattern: &Pattern) -> Option<EntryHandle> {
        let wanted = |(signature, _): &(MessageEnvelope, E)| pattern.matches(signature);
        self.unexpected.earliest(std::iter::once(pattern), wanted)
    }

    /// The earliest posted receive that matches: if it is filed, the least sequence number of up to four
    /// heads.
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
