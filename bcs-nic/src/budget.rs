//! The budget of a link: how many bytes may enter a node in one slice (docs/slice.md).
//!
//! What counts is the data of messages and collectives. Descriptors with their at most 64 inline
//! bytes are control traffic, bounded by the size of their block. Data in pieces count for more than
//! their bytes, because to move them takes longer.

use bcs_core::job::Settings;
use bcs_core::limits::{COLLECTIVE_TOKENS, MAX_TOKEN_BYTES};

/// How a slice's budget is divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quota {
    /// Bytes that may enter a node in one slice.
    pub budget: u64,
    /// Collective tokens a node has in one slice.
    pub tokens: u64,
    /// Bytes one token brings into a node.
    pub token_bytes: u64,
    /// Bytes that could move in the time that one piece of data in pieces takes beside its bytes.
    pub piece_bytes: u64,
}

/// The least a token may bring: smaller steps would be mostly headers.
const MIN_TOKEN_BYTES: u64 = 1024;

/// What the kernel takes to find one more piece of a rank's memory; measured: 115 to 230 ns on a busy
/// machine. It need not be exact; without it a message of single numbers would take a hundred
/// times its share of a slice, and all others would wait for it.
const PIECE_NS: u64 = 100;

impl Quota {
    /// The quota of a job: at most half of the budget belongs to the collectives' tokens.
    #[must_use]
    pub fn new(settings: &Settings) -> Self {
        let budget = settings.budget();
        let half = budget / 2;
        let tokens = (half / MIN_TOKEN_BYTES).clamp(1, COLLECTIVE_TOKENS);
        let token_bytes = (half / tokens).min(MAX_TOKEN_BYTES as u64) & !63;
        Self {
            budget,
            tokens,
            token_bytes,
            // MAX_LINK_BANDWIDTH keeps this within 64 bits.
            piece_bytes: settings.link_bandwidth * PIECE_NS / 1_000_000_000,
        }
    }

    /// Bytes of one step of a broadcast.
    #[must_use]
    pub fn broadcast_step(&self) -> u64 {
        self.token_bytes
    }

    /// Bytes of one step of a reduction over so many nodes: an inner node takes in one part from
    /// each of its children, and the result.
    #[must_use]
    pub fn reduce_step(&self, nodes: usize) -> u64 {
        let parts = u64::from(nodes.next_power_of_two().trailing_zeros()) + 1;
        (self.token_bytes / parts).max(64) & !63
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bcs_core::limits::{MAX_NODES, MIN_BUDGET};

    #[test]
    fn tokens_never_take_more_than_half_of_the_budget() {
        for bandwidth in [1, 10_000_000, 100_000_000, 1_000_000_000, 1 << 40] {
            let settings = Settings {
                link_bandwidth: bandwidth,
                ..Settings::default()
            };
            let quota = Quota::new(&settings);
            assert!(
                quota.tokens * quota.token_bytes <= quota.budget / 2,
                "{quota:?}"
            );
            assert!(quota.budget >= MIN_BUDGET);
            for nodes in 1..=MAX_NODES {
                let parts = u64::from(nodes.next_power_of_two().trailing_zeros()) + 1;
                assert!(
                    quota.reduce_step(nodes) * parts <= quota.token_bytes,
                    "{nodes} {quota:?}"
                );
            }
        }
    }
}
