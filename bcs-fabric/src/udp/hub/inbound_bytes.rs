//! How bytes of transfers come to where they belong.

use serde::{Deserialize, Serialize};
use std::fmt;

/// Bytes of transfers that have come, each counted once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct InboundBytes {
    /// The kernel has put them into the memory of their rank: they were copied once.
    pub placed: u64,
    /// They were copied there from where the kernel had put them, or by the kernel once more.
    pub copied: u64,
}

impl InboundBytes {
    /// All of them.
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
