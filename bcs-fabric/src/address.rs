//! Global memory: the memory at the same address of every node's NIC (paper section 2).

use bcs_core::job::{Microphase, NodeId};
use bcs_core::limits::{
    COLLECTIVE_TOKENS, COMPLETION_BLOCK_BYTES, CREDIT_BLOCK_BYTES, DESCRIPTOR_BLOCK_BYTES,
    MAX_CONTEXTS, MAX_TOKEN_BYTES, TOKEN_HEADER_BYTES, TOKEN_PARTS,
};
use serde::{Deserialize, Serialize};

/// A global variable, one 64-bit word on every node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Variable {
    /// The last microstrobe the node has finished (SR writes, SS compares).
    Finished,
    /// The last slice in which the node had no work for a microphase (SR writes, SS compares).
    Quiet(Microphase),
    /// The collective tokens taken on the node: twice [`COLLECTIVE_TOKENS`] times the slice, plus
    /// those taken in it (BRs write by Compare-And-Write).
    Tokens,
    /// A context for which its master has found no slot; 0 if there is no such context. The
    /// master's BR writes it by Compare-And-Write, and each BR clears it on its own node.
    Refused,
    /// The context that has a slot of `Arrived`, `Called` and `Go`; 0 if the slot is free. The
    /// master's BR takes a slot on all nodes of a context at once by Compare-And-Write. Each BR
    /// gives it back on its own node.
    Owner(u32),
    /// The collective of a context at which all ranks of the node have arrived, and the signature
    /// of what they called (BR writes, the master's BR compares).
    Arrived(u32),
    /// The number of that collective, from 1; `Arrived` does not hold all of its bits (BR writes,
    /// the master's BR compares).
    Number(u32),
    /// The number of arrivals that the node has there: one if a rank arrives for it (BR writes, the
    /// master's BR compares).
    Arrivals(u32),
    /// The call that a rank of the node made there (BR writes). After the master has refused it,
    /// the call that a rank of another node made instead (the master's BR writes by
    /// Compare-And-Write).
    Called(u32),
    /// The steps that may go, and the collective of a context to which they belong (the master's BR
    /// writes by Compare-And-Write).
    Go(u32),
    /// A variable for the conformance suite.
    Scratch(u8),
}

impl Variable {
    const FIRST_CONTEXT: usize = 16;
    /// The number of variables of a node.
    pub const COUNT: usize = Self::FIRST_CONTEXT + 6 * MAX_CONTEXTS;

    /// Returns the index of the variable.
    #[must_use]
    pub fn index(self) -> usize {
        match self {
            Self::Finished => 0,
            Self::Quiet(phase) => 1 + phase.index(),
            Self::Tokens => 6,
            Self::Refused => 7,
            Self::Scratch(number) => 8 + usize::from(number % 8),
            Self::Arrived(slot) => Self::FIRST_CONTEXT + slot as usize % MAX_CONTEXTS,
            Self::Go(slot) => Self::FIRST_CONTEXT + MAX_CONTEXTS + slot as usize % MAX_CONTEXTS,
            Self::Owner(slot) => {
                Self::FIRST_CONTEXT + 2 * MAX_CONTEXTS + slot as usize % MAX_CONTEXTS
            }
            Self::Called(slot) => {
                Self::FIRST_CONTEXT + 3 * MAX_CONTEXTS + slot as usize % MAX_CONTEXTS
            }
            Self::Arrivals(slot) => {
                Self::FIRST_CONTEXT + 4 * MAX_CONTEXTS + slot as usize % MAX_CONTEXTS
            }
            Self::Number(slot) => {
                Self::FIRST_CONTEXT + 5 * MAX_CONTEXTS + slot as usize % MAX_CONTEXTS
            }
        }
    }
}

/// A kind of block in global memory. Most have one *lane* per source node, so that nodes never
/// overwrite each other's data. Every slice reuses the lanes, for the microphases guarantee that
/// their contents have been consumed. The strobe has one writer. A place in the collective block
/// belongs in each slice to the one collective that took its token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Block {
    /// The microstrobe (SS → SR).
    Strobe,
    /// Send descriptors (BS → BR).
    Descriptors,
    /// Completions of sends (DH → SR of the sender).
    Completions,
    /// Credits given back (BR → BS).
    Credits,
    /// Broadcast data (CH → CH), partial and final results (RH → RH), by token.
    Collective,
}

/// Bytes of the strobe block.
const STROBE_BYTES: usize = 192;
/// The number of tokens, which is the number of places.
#[expect(clippy::cast_possible_truncation, reason = "a small constant")]
const TOKENS: usize = COLLECTIVE_TOKENS as usize;

impl Block {
    /// All blocks with lanes.
    pub const LANED: [Self; 3] = [Self::Descriptors, Self::Completions, Self::Credits];

    /// Bytes of one token's place in the collective block.
    pub const TOKEN_STRIDE: usize = MAX_TOKEN_BYTES + TOKEN_PARTS * TOKEN_HEADER_BYTES;

    /// Bytes of one lane.
    #[must_use]
    pub fn bytes(self) -> usize {
        match self {
            Self::Strobe => STROBE_BYTES,
            Self::Descriptors => DESCRIPTOR_BLOCK_BYTES,
            Self::Completions => COMPLETION_BLOCK_BYTES,
            Self::Credits => CREDIT_BLOCK_BYTES,
            Self::Collective => TOKENS * Self::TOKEN_STRIDE,
        }
    }
}

/// A place in global memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct GlobalAddress {
    /// The block of the place.
    pub block: Block,
    /// The lane, named by its source node.
    pub lane: NodeId,
    /// The byte within the lane.
    pub offset: usize,
}

impl GlobalAddress {
    /// Returns the first byte of a lane. Blocks without lanes ignore the lane.
    #[must_use]
    pub fn new(block: Block, lane: NodeId) -> Self {
        Self {
            block,
            lane,
            offset: 0,
        }
    }

    /// Returns the place that many bytes further on.
    #[must_use]
    pub fn plus(self, bytes: usize) -> Self {
        Self {
            offset: self.offset + bytes,
            ..self
        }
    }

    /// Returns the byte within a node's global memory, where all blocks lie one after the other.
    /// Panics when `len` bytes from here leave the lane.
    #[must_use]
    pub fn byte(self, nodes: usize, len: usize) -> usize {
        assert!(
            self.lane.index() < nodes && self.offset + len <= self.block.bytes(),
            "{len} bytes at {self:?} leave their lane in a job of {nodes} nodes"
        );
        let start = match self.block {
            Block::Strobe => 0,
            Block::Collective => STROBE_BYTES,
            laned => {
                let before = Block::LANED.iter().take_while(|&&block| block != laned);
                let before: usize = before.map(|block| block.bytes() * nodes).sum();
                STROBE_BYTES
                    + Block::Collective.bytes()
                    + before
                    + laned.bytes() * self.lane.index()
            }
        };
        start + self.offset
    }

    /// Returns the bytes of all blocks of one node, in a job of `nodes` nodes.
    #[must_use]
    pub fn total_bytes(nodes: usize) -> usize {
        let lanes: usize = Block::LANED.iter().map(|block| block.bytes()).sum();
        (STROBE_BYTES + Block::Collective.bytes() + lanes * nodes).next_multiple_of(4096)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn each_variable_has_a_word_of_its_own() {
        let slots = 0..u32::try_from(MAX_CONTEXTS).unwrap();
        let of_slots = slots.flat_map(|slot| {
            [
                Variable::Owner(slot),
                Variable::Arrived(slot),
                Variable::Number(slot),
                Variable::Arrivals(slot),
                Variable::Called(slot),
                Variable::Go(slot),
            ]
        });
        let variables = [Variable::Finished, Variable::Tokens, Variable::Refused]
            .into_iter()
            .chain(Microphase::ALL.map(Variable::Quiet))
            .chain((0..8).map(Variable::Scratch))
            .chain(of_slots);
        let mut words = HashSet::new();
        for variable in variables {
            let word = variable.index();
            assert!(word < Variable::COUNT, "{variable:?}");
            assert!(words.insert(word), "{variable:?} shares word {word}");
        }
        assert_eq!(words.len(), Variable::COUNT);
    }

    #[test]
    fn lanes_do_not_overlap_and_fill_the_total() {
        let nodes = 3;
        let collective = GlobalAddress::new(Block::Collective, NodeId(0)).byte(nodes, 1);
        assert_eq!(collective, Block::Strobe.bytes());
        let mut last = collective + Block::Collective.bytes();
        for block in Block::LANED {
            for lane in 0..nodes {
                let at = GlobalAddress::new(block, NodeId::from_index(lane)).byte(nodes, 1);
                assert_eq!(at, last);
                last = at + block.bytes();
            }
        }
        assert!(last <= GlobalAddress::total_bytes(nodes));
    }

    #[test]
    #[should_panic(expected = "leave their lane")]
    fn a_put_may_not_leave_its_lane() {
        let at = GlobalAddress::new(Block::Credits, NodeId(0)).plus(CREDIT_BLOCK_BYTES);
        let _ = at.byte(1, 1);
    }
}
