//! The capacities of a NIC's tables and blocks.
//!
//! A job has [`Bounds::default`]: the constants of `bcs_core::limits`, and what fits into a block.
//! No small test program can reach such a bound, so tests make the bounds smaller:
//!
//! ```
//! # use bcs_nic::bounds::Bounds;
//! let bounds = Bounds { envelopes: 16, contexts: 8, ..Bounds::default() };
//! ```
//!
//! All NICs of a job have the same bounds. NIC threads find them in [`NodeConfig::bounds`], where
//! the simulator puts them. OS threads get them from [`NicHostConfig::bounds`].
//!
//! [`NodeConfig::bounds`]: crate::threads::NodeConfig::bounds
//! [`NicHostConfig::bounds`]: crate::driver::NicHostConfig::bounds

use crate::blocks::{CompletionBlock, CreditBlock, DescriptorBlock};
use bcs_core::limits::{
    LONGEST_PUT_BYTES, MAX_CONTEXTS, MAX_ENVELOPES_PER_RANK, MAX_OUTGOING_PER_NODE, REQUEST_SLOTS,
};

/// The capacities of a NIC's tables and blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Envelopes that BR holds for one receiving rank: the pool that its credits divide. At least
    /// one for each node.
    pub envelopes: usize,
    /// Receives that BR holds for one rank.
    pub receives: usize,
    /// Envelopes that BS holds for one destination node, besides those that wait for credit. At
    /// this number it leaves further descriptors in their rings.
    pub outgoing: usize,
    /// Envelopes of one sending rank that BS holds, including those that wait for credit. It leaves
    /// further ones in their ring. A rank may have as many requests, so that none of them waits for
    /// another. Sends without a request may be more.
    pub held: usize,
    /// Envelopes in a descriptor block: at most [`DescriptorBlock::capacity`].
    pub descriptors: usize,
    /// Sends in a completion block: at most [`CompletionBlock::capacity`].
    pub completions: usize,
    /// Receivers in a credit block: at most [`CreditBlock::capacity`].
    pub credits: usize,
    /// Slots of global variables, the world's among them: from 2 to `MAX_CONTEXTS`.
    pub contexts: u32,
    /// The number of a context's first collective. It is 0 except in tests that start at very high
    /// numbers.
    pub first_collective: u64,
    /// Bytes of the longest collective whose data are put through the collective block. Longer data
    /// are pulled.
    pub longest_put: u64,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            envelopes: MAX_ENVELOPES_PER_RANK,
            receives: MAX_ENVELOPES_PER_RANK,
            outgoing: MAX_OUTGOING_PER_NODE,
            held: REQUEST_SLOTS,
            descriptors: DescriptorBlock::capacity(),
            completions: CompletionBlock::capacity(),
            credits: CreditBlock::capacity(),
            contexts: u32::try_from(MAX_CONTEXTS).expect("MAX_CONTEXTS fits u32"),
            first_collective: 0,
            longest_put: LONGEST_PUT_BYTES,
        }
    }
}

impl Bounds {
    /// Returns the share of one source node in a receiver's pool, in a job with this number of
    /// nodes.
    #[must_use]
    pub fn share(&self, nodes: usize) -> u64 {
        (self.envelopes / nodes).max(1) as u64
    }
}
