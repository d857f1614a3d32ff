//! How much the tables and the blocks of a NIC hold.
//!
//! A job has [`Bounds::default`]: what `bcs_core::limits` says, and what fits into a block. What happens
//! at such a bound no test could bring about with a small program, so a test makes them smaller:
//!
//! ```
//! # use bcs_nic::bounds::Bounds;
//! let bounds = Bounds { envelopes: 16, contexts: 8, ..Bounds::default() };
//! ```
//!
//! All NICs of a job have the same. NIC threads find them in [`NodeConfig::bounds`], where the
//! simulator puts them; OS threads are given them by [`NicHostConfig::bounds`].
//!
//! [`NodeConfig::bounds`]: crate::threads::NodeConfig::bounds
//! [`NicHostConfig::bounds`]: crate::driver::NicHostConfig::bounds

use crate::blocks::{CompletionBlock, CreditBlock, DescriptorBlock};
use bcs_core::limits::{
    LONGEST_PUT_BYTES, MAX_CONTEXTS, MAX_ENVELOPES_PER_RANK, MAX_OUTGOING_PER_NODE, REQUEST_SLOTS,
};

/// How much the tables and the blocks of a NIC hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Envelopes that BR keeps for one receiving rank: the pool that its credits divide. At least one
    /// for each node.
    pub envelopes: usize,
    /// Receives that BR keeps for one rank.
    pub receives: usize,
    /// Envelopes that BS keeps for one destination node, beside those that wait for credit, before it
    /// leaves descriptors in their rings.
    pub outgoing: usize,
    /// Envelopes of one sending rank that BS keeps, those that wait for credit among them, before it
    /// leaves the others in their ring. As many as a rank may have requests, so that none of those waits
    /// for another; sends that nobody waits for may be more.
    pub held: usize,
    /// Envelopes in a descriptor block: at most [`DescriptorBlock::capacity`].
    pub descriptors: usize,
    /// Sends in a completion block: at most [`CompletionBlock::capacity`].
    pub completions: usize,
    /// Receivers in a credit block: at most [`CreditBlock::capacity`].
    pub credits: usize,
    /// Slots of global variables, the world's among them: from 2 to `MAX_CONTEXTS`.
    pub contexts: u32,
    /// The number of the first collective of a context. It is 0 but in tests of what comes after very many.
    pub first_collective: u64,
    /// Bytes of the longest collective that is put through the collective block. The data of longer ones
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
    /// A source node's share of a receiver's pool, in a job of so many nodes.
    #[must_use]
    pub fn share(&self, nodes: usize) -> u64 {
        (self.envelopes / nodes).max(1) as u64
    }
}
