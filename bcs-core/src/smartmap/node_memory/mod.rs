//! Node memory: what the ranks of one node share with each other.
//!
//! ```text
//! rank areas                 transfers                    queues
//! one for each rank:         some for each rank:          one for each ordered pair of ranks:
//! bell, process id, events,  the ends of its sends        head │ wants room │ entries │ payload
//! known senders
//!
//! collective info
//! one record for each context and rank: areas │ step │ listening, and their payload
//! ```
//!
//! **Unused parts are not touched**, because each page that a rank reads takes memory. So a
//! receiver polls only the queues of ranks that have introduced themselves
//! ([`known_senders`](super::known_senders)), and a rank reads only the records of its own
//! contexts. Records of a context lie side by side, since a rank that reads one of them reads
//! others, and a page table entry for each would cost more than the records do.
//!
//! Each node has one sealed memfd, made by its node manager and mapped by its ranks. The paper has
//! the send queues in the slot of the receiver. They lie here because a slot is a rank's heap: not
//! every program has one, and it exists only after the rank has sent Hello. So a slot holds only
//! the program's data, and queues exist from the start.
//!
//! Every rank of the node can write all of it. A rank that overwrites it can corrupt its own job's
//! messages, as it can by overwriting its own memory. No rank follows an address from here without
//! a check that it lies in the memory of the rank that wrote it.

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
    /// Returns the bytes of the memory of a node with `ranks` ranks. Only used parts are ever
    /// touched.
    #[must_use]
    pub fn bytes(ranks: usize) -> usize {
        layout::bytes(ranks)
    }

    /// Makes the memory of a node with `ranks` ranks. The file descriptor goes to all of them.
    ///
    /// # Errors
    /// As [`MapError`] says.
    pub fn create(ranks: usize) -> Result<(OwnedFd, Self), MapError> {
        let fd = sealed_memfd("bcs-node-memory", Self::bytes(ranks))?;
        let memory = Self::map(&fd, ranks)?;
        Ok((fd, memory))
    }

    /// Maps the memory of a node with `ranks` ranks.
    ///
    /// # Errors
    /// As [`MapError`] says.
    pub fn map(fd: impl AsFd, ranks: usize) -> Result<Self, MapError> {
        let mapping = Mapping::shared(fd, Self::bytes(ranks))?;
        Ok(Self::over(mapping, ranks))
    }

    /// Makes memory that only this process sees (tests).
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

    /// Returns the number of ranks of the node.
    #[must_use]
    pub fn ranks(&self) -> usize {
        self.ranks
    }
}
