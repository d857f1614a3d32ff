//! The leaks of a rank, which it reports when it finalizes.
//!
//! ```text
//! counts of things, sent │ others │ count of places
//!     │ things, 4 each │ sent, 4 each │ places, 16 each
//! ```

use super::encoding::{PEER_WORDS, decode_peer, encode_peer};
use super::entered_collective::{self, EnteredCollective};
use super::site::{self, Site};
use super::wait::{CALL_MESSAGES, LIBRARY_MESSAGES, MessagePeer};
use crate::coded::coded;
use crate::limits::MAX_LEAKS;
use crate::request::{high, low};

/// A leak.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leak {
    /// A message that has come, but was not received.
    Message(MessagePeer),
    /// A receive that is not complete: mostly no message has met it.
    Receive(MessagePeer),
    /// A message that was longer than the buffer it was received into.
    Truncated(MessagePeer),
    /// A collective that the rank has begun, but that is not complete.
    Collective(EnteredCollective),
    /// A request that is complete, but was not waited for, tested or freed.
    Request,
    /// A communicator that was not freed, by its context.
    Communicator(u32),
    /// Another object that was not freed.
    Object(LeakedObject),
}

coded! { LeakedObject, "a kind of objects":
    Datatype "datatype",
    Operation "operation",
    Persistent "persistent request",
    Group "group",
    Window "window",
    SingleMember "communicator of one rank",
}

/// Objects that a program makes and frees, besides communicators.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeakedObject {
    /// A derived datatype.
    Datatype,
    /// An operation that the program defined.
    Operation,
    /// A persistent request.
    Persistent,
    /// A group.
    Group,
    /// A window.
    Window,
    /// A communicator whose only member is the rank.
    SingleMember,
}

/// A message that lay in a queue to another rank of the node when its sender finalized. It is a
/// leak if that rank has not taken it by the end of the job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UntakenSend {
    /// The receiver's place on the node.
    pub place: u32,
    /// The number of entries that came before it in the queue.
    pub position: u64,
    /// The message, as its receiver sees it.
    pub message: MessagePeer,
}

/// An operation that was posted at a place in the program, as its traces identify it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PostedOperation {
    /// A sent message: context and tag.
    Sent {
        /// The context.
        context: u32,
        /// The tag.
        tag: i32,
    },
    /// A receive.
    Receive(MessagePeer),
    /// A collective: context and number.
    Collective {
        /// The context.
        context: u32,
        /// The number.
        number: u32,
    },
    /// A request that is done.
    Request,
    /// An object that was made there.
    Object(LeakedObject),
}

/// The leaks of a rank.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LeakReport {
    /// Each kind of leak with its count; at most [`MAX_LEAKS`] kinds.
    pub leaks: Vec<(Leak, u32)>,
    /// Sends that may become leaks, the earliest for each place first; at most [`MAX_LEAKS`].
    pub untaken_sends: Vec<UntakenSend>,
    /// Places in the program where possible leaks were posted, here or at the receiver; at most
    /// [`MAX_LEAKS`].
    pub places: Vec<(PostedOperation, Site)>,
    /// The number of other leaks.
    pub more: u64,
}

const HEAD: usize = 3;
const THING_WORDS: usize = 1 + entered_collective::WORDS;
const SENT_WORDS: usize = 2 + PEER_WORDS;
const PLACE_WORDS: usize = 1 + PEER_WORDS + site::WORDS;

impl LeakReport {
    /// Returns whether there is no leak here.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.leaks.is_empty() && self.untaken_sends.is_empty() && self.more == 0
    }

    /// Adds the place of a post, as long as there is room.
    pub fn add_place(&mut self, posted: PostedOperation, site: Site) {
        let place = (posted, site);
        if self.places.len() < MAX_LEAKS && !self.places.contains(&place) {
            self.places.push(place);
        }
    }

    /// Adds `count` leaks of a kind.
    pub fn add(&mut self, thing: Leak, count: u32) {
        // No receive takes the messages that a checked job sends for its own checks.
        let beside = |peer: &MessagePeer| peer.context & LIBRARY_MESSAGES == CALL_MESSAGES;
        if count == 0 || matches!(&thing, Leak::Message(peer) if beside(peer)) {
            return;
        }
        if let Some((_, known)) = self.leaks.iter_mut().find(|(it, _)| *it == thing) {
            *known = known.saturating_add(count);
        } else if self.leaks.len() < MAX_LEAKS {
            self.leaks.push((thing, count));
        } else {
            self.more = self.more.saturating_add(u64::from(count));
        }
    }

    /// Adds a message that may become a leak.
    pub fn add_sent(&mut self, sent: UntakenSend) {
        if self.untaken_sends.len() < MAX_LEAKS {
            self.untaken_sends.push(sent);
        } else {
            self.more = self.more.saturating_add(1);
        }
    }

    /// Adds what another report holds about the same rank.
    pub fn join(&mut self, other: &Self) {
        for &(thing, count) in &other.leaks {
            self.add(thing, count);
        }
        for &(posted, ref site) in &other.places {
            self.add_place(posted, site.clone());
        }
        self.more = self.more.saturating_add(other.more);
    }

    /// Encodes the report as words.
    #[must_use]
    pub fn encode(&self) -> Vec<u64> {
        let (things, sent) = (self.leaks.len(), self.untaken_sends.len());
        let counts = (things as u64) << 32 | sent as u64;
        let mut words = vec![counts, self.more, self.places.len() as u64];
        for &(thing, count) in &self.leaks {
            let (code, rest) = match thing {
                Leak::Message(peer) => (0, of_peer(peer)),
                Leak::Receive(peer) => (1, of_peer(peer)),
                Leak::Truncated(peer) => (2, of_peer(peer)),
                Leak::Collective(entered) => (3, entered.encode()),
                Leak::Request => (4, [0; 3]),
                Leak::Communicator(context) => (5, [u64::from(context), 0, 0]),
                Leak::Object(object) => (6, [object as u64, 0, 0]),
            };
            words.push(u64::from(count) << 32 | code);
            words.extend(rest);
        }
        for sent in &self.untaken_sends {
            words.extend([u64::from(sent.place), sent.position]);
            words.extend(encode_peer(0, sent.message));
        }
        for (posted, site) in &self.places {
            let (code, rest) = match *posted {
                PostedOperation::Sent { context, tag } => {
                    (0, [u64::from(context), u64::from(tag.cast_unsigned())])
                }
                PostedOperation::Receive(peer) => (1, encode_peer(0, peer)),
                PostedOperation::Collective { context, number } => {
                    (2, [u64::from(context), u64::from(number)])
                }
                PostedOperation::Request => (3, [0; PEER_WORDS]),
                PostedOperation::Object(object) => (4, [object as u64, 0]),
            };
            words.push(code);
            words.extend(rest);
            words.extend(site::encode(Some(site)));
        }
        words
    }

    /// Decodes words, or returns `None` if they are invalid.
    #[must_use]
    pub fn decode(words: &[u64]) -> Option<Self> {
        let (&[counts, more, places], rest) = words.split_first_chunk::<HEAD>()?;
        let counts = [high(counts), low(counts), low(places)].map(|count| count as usize);
        if counts.iter().any(|&count| count > MAX_LEAKS) {
            return None;
        }
        let [things, sent, places] = counts;
        let (of_things, rest) = rest.split_at_checked(things * THING_WORDS)?;
        let (of_sent, rest) = rest.split_at_checked(sent * SENT_WORDS)?;
        let of_places = rest.get(..places * PLACE_WORDS)?;
        let things = of_things.chunks_exact(THING_WORDS).map(decode_thing);
        let sent = of_sent.chunks_exact(SENT_WORDS).map(|words| UntakenSend {
            place: low(words[0]),
            position: words[1],
            message: decode_peer(&words[2..]),
        });
        let places = of_places.chunks_exact(PLACE_WORDS).map(decode_place);
        Some(Self {
            leaks: things.collect::<Option<_>>()?,
            untaken_sends: sent.collect(),
            places: places.collect::<Option<_>>()?,
            more,
        })
    }
}

fn of_peer(peer: MessagePeer) -> [u64; entered_collective::WORDS] {
    let [one, other] = encode_peer(0, peer);
    [one, other, 0]
}

fn decode_thing(words: &[u64]) -> Option<(Leak, u32)> {
    let (&head, rest) = words.split_first()?;
    let peer = || decode_peer(rest);
    let thing = match low(head) {
        0 => Leak::Message(peer()),
        1 => Leak::Receive(peer()),
        2 => Leak::Truncated(peer()),
        3 => Leak::Collective(EnteredCollective::decode(rest)?),
        4 => Leak::Request,
        5 => Leak::Communicator(low(rest[0])),
        6 => Leak::Object(object(rest[0])?),
        _ => return None,
    };
    Some((thing, high(head)))
}

fn object(word: u64) -> Option<LeakedObject> {
    LeakedObject::try_from(u8::try_from(word).ok()?).ok()
}

fn decode_place(words: &[u64]) -> Option<(PostedOperation, Site)> {
    let (&[code, one, other], rest) = words.split_first_chunk()?;
    let posted = match code {
        0 => PostedOperation::Sent {
            context: low(one),
            tag: low(other).cast_signed(),
        },
        1 => PostedOperation::Receive(decode_peer(&[one, other])),
        2 => PostedOperation::Collective {
            context: low(one),
            number: low(other),
        },
        3 => PostedOperation::Request,
        4 => PostedOperation::Object(object(one)?),
        _ => return None,
    };
    Some((posted, site::decode(rest.first_chunk()?)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wait_state::{CalledCollective, MessageCollective, SourceLine};
    use proptest::prelude::*;

    fn peer(rank: u32) -> MessagePeer {
        MessagePeer {
            context: 3,
            rank: Some(rank),
            tag: Some(7),
        }
    }

    #[test]
    fn what_is_left_comes_back_from_its_words() {
        let mut left = LeakReport::default();
        assert!(left.is_empty());
        let any = MessagePeer {
            context: 0,
            rank: None,
            tag: None,
        };
        let entered = EnteredCollective {
            context: 1,
            group: 9,
            number: 4,
            called: CalledCollective::Messages(MessageCollective::Gather, Some(2)),
        };
        let things = [
            Leak::Message(peer(1)),
            Leak::Receive(any),
            Leak::Truncated(peer(2)),
            Leak::Collective(entered),
            Leak::Request,
            Leak::Communicator(5),
            Leak::Object(LeakedObject::Operation),
        ];
        for thing in things {
            left.add(thing, 2);
            left.add(thing, 1);
        }
        left.add_sent(UntakenSend {
            place: 3,
            position: 1 << 40,
            message: peer(0),
        });
        let (context, tag, number) = (7, -3, 9);
        let posted = [
            PostedOperation::Sent { context, tag },
            PostedOperation::Receive(any),
            PostedOperation::Collective { context, number },
            PostedOperation::Request,
            PostedOperation::Object(LeakedObject::Window),
        ];
        for posted in posted {
            left.add_place(posted, Site::Line(SourceLine::new("main.c", 17)));
            left.add_place(posted, Site::Address(0x1234));
            left.add_place(posted, Site::Address(0x1234));
        }
        assert_eq!(left.places.len(), 2 * posted.len());
        assert_eq!(left.leaks.len(), things.len());
        assert_eq!(left.leaks[0], (Leak::Message(peer(1)), 3));
        let words = left.encode();
        assert_eq!(LeakReport::decode(&words), Some(left));
        for len in 0..words.len() {
            assert_eq!(LeakReport::decode(&words[..len]), None);
        }
    }

    #[test]
    fn no_more_is_remembered_than_has_room() {
        let mut left = LeakReport::default();
        let many = u32::try_from(MAX_LEAKS).unwrap() + 10;
        for rank in 0..many {
            left.add(Leak::Message(peer(rank)), 2);
            left.add_sent(UntakenSend {
                place: 0,
                position: 0,
                message: peer(rank),
            });
        }
        assert_eq!(
            (left.leaks.len(), left.untaken_sends.len()),
            (MAX_LEAKS, MAX_LEAKS)
        );
        assert_eq!(left.more, 20 + 10);
        assert_eq!(LeakReport::decode(&left.encode()), Some(left));
    }

    proptest! {
        #[test]
        fn any_words_are_read(words in proptest::collection::vec(any::<u64>(), 0..40)) {
            let _total = LeakReport::decode(&words);
        }
    }
}
