//! The microstrobe: from SS to all SRs, the beginning of a microphase (paper section 4.2).

use bcs_core::job::{Microphase, NodeId, NodeSet};
use bcs_core::limits::MAX_NODES;
use bcs_fabric::{Block, GlobalAddress, Port};
use zerocopy::IntoBytes;

/// A microstrobe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Microstrobe {
    /// Counts microstrobes from 1: the value that a node reports when it has finished.
    pub sequence: u64,
    /// The slice.
    pub slice: u64,
    /// The microphase that begins.
    pub phase: Microphase,
    /// The nodes that live.
    pub alive: NodeSet,
    /// Whether somebody has demanded the slice; otherwise the clock strikes it.
    pub demanded: bool,
}

const SET_WORDS: usize = MAX_NODES / 64;
const WORDS: usize = 3 + SET_WORDS;

/// The words of a set that every microstrobe carries: with them it is a cache line.
const LEAST_SET_WORDS: usize = 4;

/// A flag beside the number of the microphase.
const DEMANDED: u64 = 1 << 32;

impl Microstrobe {
    /// Returns its address in global memory.
    #[must_use]
    pub fn address() -> GlobalAddress {
        GlobalAddress::new(Block::Strobe, NodeId(0))
    }

    /// Encodes it as words of global memory.
    #[must_use]
    pub fn encode(&self) -> [u64; WORDS] {
        let mut words = [0; WORDS];
        words[0] = self.sequence;
        words[1] = self.slice;
        words[2] = self.phase.index() as u64 | if self.demanded { DEMANDED } else { 0 };
        words[3..].copy_from_slice(&self.alive.words());
        words
    }

    /// Returns how many of these words say something in a job of this many nodes. Only these are
    /// sent: the others are 0 in global memory from its beginning.
    #[must_use]
    pub fn words_among(nodes: usize) -> usize {
        3 + nodes.div_ceil(64).clamp(LEAST_SET_WORDS, SET_WORDS)
    }

    /// Returns the microstrobe in a node's global memory, once there is one.
    #[must_use]
    pub fn read(port: &dyn Port) -> Option<Self> {
        let mut words = [0_u64; WORDS];
        port.read(Self::address(), words.as_mut_bytes());
        let mut alive = [0; SET_WORDS];
        alive.copy_from_slice(&words[3..]);
        let phase = Microphase::from_index(words[2] & !DEMANDED)?;
        let strobe = Self {
            sequence: words[0],
            slice: words[1],
            phase,
            alive: NodeSet::from_words(alive),
            demanded: words[2] & DEMANDED != 0,
        };
        (strobe.sequence > 0).then_some(strobe)
    }
}
