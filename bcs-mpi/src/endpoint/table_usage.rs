//! The contents of a rank's tables now, in numbers, for monitoring. The query advances nothing.

use super::endpoint::Endpoint;
use crate::transport::smartmap::SmartMap;

/// The contents of a rank's tables, and how often there was no room.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TableUsage {
    /// Bytes of messages of this node that have come before their receive and are stored here.
    pub unexpected_bytes: usize,
    /// How many messages of this node have come before their receive, so far.
    pub unexpected_so_far: u64,
    /// Bytes of copies of messages to ranks of this node, whose senders did not wait.
    pub copied_bytes: usize,
    /// How often a request found no slot, so far.
    pub refusals: u64,
}

impl Endpoint {
    /// Returns the contents of the tables, by some loads under the lock.
    #[must_use]
    pub fn bcs_table_usage(&self) -> TableUsage {
        let state = self.lock();
        let near = state.mux.local.as_ref();
        TableUsage {
            unexpected_bytes: near.map_or(0, SmartMap::kept_bytes),
            unexpected_so_far: near.map_or(0, SmartMap::kept_so_far),
            copied_bytes: near.map_or(0, SmartMap::copied_bytes),
            refusals: state.mux.refusals(),
        }
    }
}
