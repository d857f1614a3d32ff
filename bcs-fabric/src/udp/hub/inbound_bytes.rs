//! The paths by which bytes of transfers come to where they belong.

use serde::{Deserialize, Serialize};
use std::fmt;

/// Bytes of transfers that have come, each counted once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct InboundBytes {
    /// Bytes that the kernel has put into the memory of their rank: they were copied once.
    pub placed: u64,
    /// Bytes that were copied there from the kernel's buffer, or by the kernel once more.
    pub copied: u64,
}

impl InboundBytes {
    /// Returns the sum of both.
    #[must_use]
    pub fn all(&self) -> u64 {
        self.placed + self.copied
    }
}

impl fmt::Display for InboundBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (all, placed) = (self.all(), self.placed);
        write!(
            f,
            "{all} bytes of messages from other machines; the kernel put {placed} of them into the memory of their ranks"
        )
    }
}
