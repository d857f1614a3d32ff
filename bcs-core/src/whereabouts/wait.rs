//! What a rank waits for.

use super::entered::Entered;
use super::name::Name;
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
