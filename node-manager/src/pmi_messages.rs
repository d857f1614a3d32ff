//! The messages about PMI between a node manager and `bcs run`.

use serde::{Deserialize, Serialize};

/// A message of a node manager.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum PmiRequest {
    /// All its ranks of a group have entered the group's barrier.
    Barrier {
        /// The group, as ranks name it; empty for all ranks of the job.
        group: String,
        /// The number of ranks in the group.
        members: usize,
        /// The number of its own ranks among them.
        entered: usize,
        /// The pairs that its ranks have put since the last message.
        pairs: Vec<(String, String)>,
    },
    /// A rank publishes a name.
    Publish {
        /// The rank.
        rank: u32,
        /// The name.
        service: String,
        /// The text that others find by it.
        port: String,
    },
    /// A rank looks a name up.
    Lookup {
        /// The rank.
        rank: u32,
        /// The name.
        service: String,
    },
    /// A rank withdraws a name.
    Unpublish {
        /// The rank.
        rank: u32,
        /// The name.
        service: String,
    },
}

/// A message of `bcs run`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum PmiAnswer {
    /// All ranks of a group have entered the group's barrier. Each node manager gets this, so that
    /// all have the pairs.
    Released {
        /// The group.
        group: String,
        /// The new pairs of all node managers that have ranks in the group.
        pairs: Vec<(String, String)>,
    },
    /// The answer to a request about a name.
    Name {
        /// The rank that asked.
        rank: u32,
        /// The text that was found, published or withdrawn; or the reason why not, a word.
        port: Result<String, String>,
    },
}

/// How many requests a node manager has answered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PmiTraffic {
    /// Gets, all answered by its own copy of the key-value space.
    pub gets: u64,
    /// Messages to `bcs run`.
    pub upward: u64,
}
