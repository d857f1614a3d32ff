//! Whereabouts: what a blocked rank says about where it is.
//!
//! A rank that is about to sleep in a call writes into its NIC memory what it waits for, and which
//! collectives it has entered and not left ([`NicMemory::say_where`]). Nobody looks while all goes
//! well. `bcs run` asks node managers for it once a second: so a hang has words, and ranks that called
//! different collectives of one communicator are found even where no message ever crosses between
//! them (MPI 5.0, 6.14: they must call the same in the same order).
//!
//! All of it is an allegation of the rank's. It is decoded by total functions, and the worst that
//! a wrong one does is to have the rank's own job say something wrong, or end.
//!
//! [`NicMemory::say_where`]: crate::memory::NicMemory::say_where

use crate::descriptor::{Call, CollectiveKind};
use crate::fingerprint;
use crate::matching::Pattern;
use std::fmt;

/// What one rank says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Whereabouts {
    /// What the thread that said it waits for.
    pub wait: Wait,
    /// Collectives that the rank has entered and not left; the one it waits for first, if it waits
    /// for one, then the oldest.
    pub entered: Vec<Entered>,
}

/// What a thread waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// A message.
    Receive(Peer),
    /// A message, to look at it.
    Probe(Peer),
    /// That a message is received.
    Send(Peer),
    /// The first of the collectives that it has entered.
    Collective,
    /// Any of several requests.
    Any,
    /// MPI_Finalize: that what was sent has been taken.
    Sends,
    /// Something that only takes NICs (a communicator that is made or freed).
    Nic,
}

/// The other side of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peer {
    /// Context id of the communicator.
    pub context: u32,
    /// World rank; `None` for any.
    pub rank: Option<u32>,
    /// `None` for any.
    pub tag: Option<i32>,
}

impl From<Pattern> for Peer {
    fn from(pattern: Pattern) -> Self {
        Self {
            context: pattern.context,
            rank: pattern.source,
            tag: pattern.tag,
        }
    }
}

/// A collective that a rank has entered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entered {
    /// Context id of the communicator. Communicators without a rank in common may have the same.
    pub context: u32,
    /// Which ranks they are ([`fingerprint()`]); 0 for the world.
    pub group: u32,
    /// How many collectives this rank has entered on this communicator before.
    pub number: u32,
    /// What it called.
    pub called: Called,
}

/// What a rank called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Called {
    /// A collective of the NICs.
    Nic {
        /// Which one.
        kind: CollectiveKind,
        /// Length of the data in bytes, as in [`Call`].
        bytes: u64,
    },
    /// A collective that is made of messages.
    Messages(Exchange, Option<u32>),
}

/// Collectives that are made of messages. Those that differ only in how their arguments are
/// given (MPI_Gather, MPI_Gatherv) are one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exchange {
    /// From a root.
    Scatter,
    /// To a root.
    Gather,
    /// To all.
    Allgather,
    /// From all to all.
    Alltoall,
    /// An inclusive scan.
    Scan,
    /// An exclusive scan.
    Exscan,
    /// A reduction by an operation that the program made.
    Reduce,
    /// The same, of which everybody gets a block.
    ReduceScatter,
    /// Among the neighbours of a topology.
    Neighbors,
    /// From a root to the other group of an intercommunicator. (What NICs do otherwise is made of
    /// messages there.)
    BroadcastBetween,
    /// A reduction of what the other group gives.
    ReduceBetween,
    /// The same, of which everybody gets a block.
    ReduceScatterBetween,
}

impl Exchange {
    const ALL: [Self; 12] = [
        Self::Scatter,
        Self::Gather,
        Self::Allgather,
        Self::Alltoall,
        Self::Scan,
        Self::Exscan,
        Self::Reduce,
        Self::ReduceScatter,
        Self::Neighbors,
        Self::BroadcastBetween,
        Self::ReduceBetween,
        Self::ReduceScatterBetween,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::Scatter => "a scatter",
            Self::Gather => "a gather",
            Self::Allgather => "an allgather",
            Self::Alltoall => "an all-to-all",
            Self::Scan => "a scan",
            Self::Exscan => "an exclusive scan",
            Self::Reduce => "a reduction by an operation of the program's",
            Self::ReduceScatter => "a reduce-scatter by an operation of the program's",
            Self::Neighbors => "an exchange among neighbours",
            Self::BroadcastBetween => "a broadcast between two groups",
            Self::ReduceBetween => "a reduction between two groups",
            Self::ReduceScatterBetween => "a reduce-scatter between two groups",
        }
    }
}

/// What stands for the ranks of a communicator; never 0.
#[must_use]
pub fn fingerprint(members: &[u32]) -> u32 {
    let all = fingerprint::fingerprint(members.iter().map(|&rank| u64::from(rank)));
    u32::try_from(all >> 32).expect("half a word").max(1)
}

impl Entered {
    /// Whether this and what another rank has entered cannot both be right: of one communicator's
    /// collectives the same one by number, and not the same by what was called. NICs compare
    /// those that are theirs, and know how to go on after it.
    #[must_use]
    pub fn contradicts(&self, other: &Self) -> bool {
        let of = |entered: &Self| (entered.context, entered.group, entered.number);
        let nic = |called| matches!(called, Called::Nic { .. });
        of(self) == of(other)
            && self.called != other.called
            && !(nic(self.called) && nic(other.called))
    }
}

impl Called {
    /// In one word. Those of the NIC are as [`Call`] packs them, and no other is like one.
    #[must_use]
    pub fn pack(self) -> u64 {
        match self {
            Self::Nic { kind, bytes } => {
                let rank = 0;
                Call { rank, kind, bytes }.pack()
            }
            Self::Messages(exchange, root) => {
                let root = root.map_or(0, |root| u64::from(root) + 1);
                MESSAGES | u64::from(exchange as u8) << 32 | root
            }
        }
    }

    /// From its word; `None` if that is none.
    #[must_use]
    pub fn unpack(word: u64) -> Option<Self> {
        if word & MESSAGES != MESSAGES {
            let Call { kind, bytes, .. } = Call::unpack(word)?;
            return Some(Self::Nic { kind, bytes });
        }
        let exchange = usize::try_from(word >> 32 & 0xff).expect("a byte");
        let root = u32::try_from(word & u64::from(u32::MAX)).expect("half a word");
        let &exchange = Exchange::ALL.get(exchange)?;
        Some(Self::Messages(exchange, root.checked_sub(1)))
    }
}

/// What a rank called that is told to one which has not called the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Objection {
    /// The rank, in the world.
    pub rank: u32,
    /// What it called.
    pub called: Called,
}

const RANK_BITS: u32 = 15;

impl Objection {
    /// In one word. That of a collective of the NIC is the word of its [`Call`].
    #[must_use]
    pub fn pack(self) -> u64 {
        let rank = self.rank;
        match self.called {
            Called::Nic { kind, bytes } => Call { rank, kind, bytes }.pack(),
            // A root is in the lower half of the word, the exchange in the byte above it.
            called @ Called::Messages(..) => called.pack() | u64::from(rank) << (32 + 8),
        }
    }

    /// From its word; `None` if that is none.
    #[must_use]
    pub fn unpack(word: u64) -> Option<Self> {
        if word & MESSAGES != MESSAGES {
            let Call { rank, kind, bytes } = Call::unpack(word)?;
            let called = Called::Nic { kind, bytes };
            return Some(Self { rank, called });
        }
        let rank = (word & !MESSAGES) >> (32 + 8);
        Some(Self {
            rank: u32::try_from(rank).expect("less than half a word"),
            called: Called::unpack(word)?,
        })
    }
}

const _: () = assert!(crate::limits::MAX_RANKS < 1 << RANK_BITS && 32 + 8 + RANK_BITS <= 62);

/// The top two bits, which [`Call`] never sets both.
const MESSAGES: u64 = 3 << 62;

impl fmt::Display for Called {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Nic { kind, bytes } => {
                let rank = 0;
                Call { rank, kind, bytes }.fmt(f)
            }
            Self::Messages(exchange, root) => {
                f.write_str(exchange.name())?;
                match (exchange, root) {
                    (_, None) => Ok(()),
                    (Exchange::Scatter | Exchange::BroadcastBetween, Some(root)) => {
                        write!(f, " from rank {root}")
                    }
                    (_, Some(root)) => write!(f, " to rank {root}"),
                }
            }
        }
    }
}

impl fmt::Display for Entered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { number, called, .. } = self;
        write!(
            f,
            "{called} (collective {number} of {})",
            Name(self.context)
        )
    }
}

/// A communicator, by the context of its messages or of its collectives.
struct Name(u32);

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 & 0x00ff_ffff {
            0 => f.write_str("MPI_COMM_WORLD"),
            context => write!(f, "the communicator with context {context}"),
        }
    }
}

impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.rank {
            Some(rank) => write!(f, "rank {rank}")?,
            None => f.write_str("any rank")?,
        }
        match self.tag {
            Some(tag) => write!(f, " with tag {tag}")?,
            None => f.write_str(" with any tag")?,
        }
        write!(f, " in {}", Name(self.context))
    }
}

impl fmt::Display for Whereabouts {
    /// "waits for a message from rank 1 with tag 5 in MPI_COMM_WORLD"
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.wait, self.entered.first()) {
            (Wait::Receive(peer), _) => write!(f, "waits for a message from {peer}"),
            (Wait::Probe(peer), _) => write!(f, "probes for a message from {peer}"),
            (Wait::Send(peer), _) => write!(f, "waits until its message is received by {peer}"),
            (Wait::Collective, Some(entered)) => write!(f, "waits in {entered}"),
            (Wait::Collective, None) => f.write_str("waits in a collective"),
            (Wait::Any, _) => f.write_str("waits for any of several requests"),
            (Wait::Sends, _) => f.write_str("waits in MPI_Finalize for its messages to be taken"),
            (Wait::Nic, _) => f.write_str("waits for the NICs to make or free a communicator"),
        }
    }
}

/// Entered collectives that fit.
const ENTERED: usize = 8;

/// Words of whereabouts: wait, tag, count, three for each collective.
pub const WORDS: usize = 3 + 3 * ENTERED;

const ANY_TAG: u64 = 1 << 32;

impl Whereabouts {
    /// How many of [`entered`](Self::entered) are told.
    pub const ENTERED: usize = ENTERED;

    /// In words.
    #[must_use]
    pub fn encode(&self) -> [u64; WORDS] {
        let mut words = [0; WORDS];
        let (code, peer) = match self.wait {
            Wait::Receive(peer) => (0, Some(peer)),
            Wait::Probe(peer) => (1, Some(peer)),
            Wait::Send(peer) => (2, Some(peer)),
            Wait::Collective => (3, None),
            Wait::Any => (4, None),
            Wait::Sends => (5, None),
            Wait::Nic => (6, None),
        };
        words[0] = code;
        if let Some(Peer { context, rank, tag }) = peer {
            let rank = rank.map_or(0, |rank| u64::from(rank) + 1);
            words[0] |= rank << 8 | (u64::from(context & 0x00ff_ffff) << 40);
            words[1] = tag.map_or(ANY_TAG, |tag| u64::from(tag.cast_unsigned()));
        }
        let told = &self.entered[..self.entered.len().min(ENTERED)];
        words[2] = told.len() as u64;
        for (entered, words) in told.iter().zip(words[3..].chunks_exact_mut(3)) {
            words[0] = u64::from(entered.context) << 32 | u64::from(entered.group);
            words[1] = u64::from(entered.number);
            words[2] = entered.called.pack();
        }
        words
    }

    /// From words; `None` if they make no sense.
    #[must_use]
    pub fn decode(words: &[u64; WORDS]) -> Option<Self> {
        let low = |word: u64| u32::try_from(word & u64::from(u32::MAX)).expect("half a word");
        let peer = Peer {
            context: low(words[0] >> 40),
            rank: low(words[0] >> 8).checked_sub(1),
            tag: (words[1] & ANY_TAG == 0).then(|| low(words[1]).cast_signed()),
        };
        let wait = match words[0] & 0xff {
            0 => Wait::Receive(peer),
            1 => Wait::Probe(peer),
            2 => Wait::Send(peer),
            3 => Wait::Collective,
            4 => Wait::Any,
            5 => Wait::Sends,
            6 => Wait::Nic,
            _ => return None,
        };
        let told = usize::try_from(words[2])
            .ok()
            .filter(|&told| told <= ENTERED)?;
        let entered = words[3..].chunks_exact(3).take(told).map(|words| {
            Some(Entered {
                context: low(words[0] >> 32),
                group: low(words[0]),
                number: low(words[1]),
                called: Called::unpack(words[2])?,
            })
        });
        Some(Self {
            wait,
            entered: entered.collect::<Option<_>>()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn entered(number: u32, called: Called) -> Entered {
        Entered {
            context: 7,
            group: 9,
            number,
            called,
        }
    }

    const BARRIER: Called = Called::Nic {
        kind: CollectiveKind::Barrier,
        bytes: 0,
    };

    /// Ranks compare them: those that another compiler has built must find the same.
    #[test]
    fn fingerprints_are_the_same_whoever_has_compiled_this() {
        assert_eq!(super::fingerprint(&[0, 1, 2]), 0x5def_8c1f);
    }

    #[test]
    fn whereabouts_come_back_from_their_words() {
        let peer = Peer {
            context: 2047,
            rank: Some(16_383),
            tag: Some(i32::MAX),
        };
        let any = Peer {
            context: 0,
            rank: None,
            tag: None,
        };
        let waits = [
            Wait::Receive(peer),
            Wait::Probe(any),
            Wait::Send(peer),
            Wait::Collective,
            Wait::Any,
            Wait::Sends,
            Wait::Nic,
        ];
        let calls = [
            BARRIER,
            Called::Nic {
                kind: CollectiveKind::Broadcast { root: 16_383 },
                bytes: 12,
            },
            Called::Messages(Exchange::Neighbors, None),
            Called::Messages(Exchange::ReduceScatterBetween, None),
            Called::Messages(Exchange::Scatter, Some(16_383)),
        ];
        for wait in waits {
            let entered = (5..).zip(calls).map(|(n, called)| entered(n, called));
            let told = Whereabouts {
                wait,
                entered: entered.collect(),
            };
            assert_eq!(Whereabouts::decode(&told.encode()), Some(told));
        }
        for (rank, called) in [0, 16_383]
            .into_iter()
            .flat_map(|rank| calls.map(|it| (rank, it)))
        {
            let told = Objection { rank, called };
            assert_eq!(Objection::unpack(told.pack()), Some(told));
        }
    }

    #[test]
    fn only_collectives_with_the_same_number_contradict_each_other() {
        let gather = Called::Messages(Exchange::Gather, Some(0));
        let other_root = Called::Messages(Exchange::Gather, Some(1));
        assert!(entered(3, gather).contradicts(&entered(3, other_root)));
        assert!(entered(3, gather).contradicts(&entered(3, BARRIER)));
        assert!(!entered(3, gather).contradicts(&entered(3, gather)));
        assert!(!entered(3, gather).contradicts(&entered(4, BARRIER)));
        let elsewhere = Entered {
            group: 8,
            ..entered(3, BARRIER)
        };
        assert!(!entered(3, gather).contradicts(&elsewhere));
        let bcast = Called::Nic {
            kind: CollectiveKind::Broadcast { root: 0 },
            bytes: 8,
        };
        let nics = entered(3, BARRIER).contradicts(&entered(3, bcast));
        assert!(!nics, "NICs see to that");
    }

    #[test]
    fn it_is_said_in_words() {
        let wait = Wait::Receive(Peer {
            context: 0,
            rank: Some(1),
            tag: None,
        });
        let mut told = Whereabouts {
            wait,
            entered: vec![entered(2, Called::Messages(Exchange::Gather, Some(4)))],
        };
        let said = "waits for a message from rank 1 with any tag in MPI_COMM_WORLD";
        assert_eq!(told.to_string(), said);
        told.wait = Wait::Collective;
        let said = "waits in a gather to rank 4 (collective 2 of the communicator with context 7)";
        assert_eq!(told.to_string(), said);
    }

    proptest! {
        #[test]
        fn rubbish_is_decoded_or_refused(words in proptest::array::uniform27(any::<u64>()), count in 0_u64..10) {
            let mut words = words;
            words[2] = count;
            if let Some(told) = Whereabouts::decode(&words) {
                prop_assert!(told.entered.len() <= ENTERED);
                prop_assert!(!told.to_string().is_empty());
            }
        }
    }
}
