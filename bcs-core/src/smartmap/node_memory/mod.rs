//! Node memory: what the ranks of one node share with each other.
//!
//! ```text
//! desks                      transfers                    queues
//! one for each rank:         so many for each rank:       one for each ordered pair of ranks:
//! bell, process id, news,    what became of its sends     head │ wants room │ entries │ payload
//! introductions
//!
//! collective info
//! one record for each context and rank: areas │ step │ listening, and their payload
//! ```
//!
//! **What is not used is not touched**: a page that anybody has looked at is memory. So a receiver looks at
//! the queues of those that have introduced themselves ([`introductions`](super::introductions)), and nobody
//! at the records of contexts that it is not in. Records of a context lie side by side, since whoever looks at
//! one of them looks at others, and an entry in a table of pages for each would cost more than they do.
//!
//! One sealed memfd per node, made by its node manager and mapped by its ranks. The paper has the send
//! queues in the slot of the receiver. They lie here because a slot is a rank's heap, which a program
//! has or has not, and which exists only when the rank has said hello: so a slot holds nothing but what
//! the program put there, and queues are there from the start.
//!
//! Every rank of the node can write all of it. A rank that scribbles over it can spoil its own
//! job's messages, as it can by scribbling over its own; no rank follows an address from here
//! without checking that it lies in the memory of the rank that alleges it.

mod layout;
mod queues;
mod rank_areas;
mod records;
#[cfg(test)]
mod tests;
mod transfers;

pub use rank_areas::{READ_ONLY, RankArea};
pub use records::MappedRecord;

use crate::memory::{MapError, MappedWords, Mapping, sealed_memfd};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

/// Node memory, mapped by this process. Ranks of the node are named by their *place* on it, from 0.
#[derive(Clone, Debug)]
pub struct NodeMemory {
    words: MappedWords,
    ranks: usize,
}

impl NodeMemory {
    /// Bytes of the memory of a node with so many ranks. Only what is used is ever touched.
    #[must_use]
    pub fn bytes(ranks: usize) -> usize {
        layout::bytes(ranks)
    }

    /// Makes the memory of a node with so many ranks: the file descriptor goes to all of them.
    ///
    /// # Errors
    /// As [`MapError`] says.
    pub fn create(ranks: usize) -> Result<(OwnedFd, Self), MapError> {
        let fd = sealed_memfd("bcs-node-memory", Self::bytes(ranks))?;
        let memory = Self::map(&fd, ranks)?;
        Ok((fd, memory))
    }

    /// Maps the memory of a node with so many ranks.
    ///
    /// # Errors
    /// As [`MapError`] says.
    pub fn map(fd: impl AsFd, ranks: usize) -> Result<Self, MapError> {
        let mapping = Mapping::shared(fd, Self::bytes(ranks))?;
        Ok(Self::over(mapping, ranks))
    }

    /// Memory that only this process sees (tests).
    ///
    /// # Errors
    /// As [`MapError`] says.
    pub fn private(ranks: usize) -> Result<Self, MapError> {
        let mapping = Mapping::private(Self::bytes(ranks))?;
        Ok(Self::over(mapping, ranks))
    }

    fn over(mapping: Mapping, ranks: usize) -> Self {
        let words = MappedWords(Arc::new(mapping));
        Self { words, ranks }
    }

    fn mapping(&self) -> &Mapping {
        &self.words.0
    }

    /// Ranks of the node.
    #[must_use]
    pub fn ranks(&self) -> usize {
        self.ranks
    }
}
