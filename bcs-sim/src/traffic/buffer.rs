//! Memory for a message: side by side, or in blocks of any lengths with gaps, which nobody may touch.
#![expect(unsafe_code, reason = "the untyped core names buffers by address")]

use bcs_core::reduction::Datatype as Elementary;
use bcs_mpi::mpi::{Buffer, Datatype, Result};
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use std::mem::ManuallyDrop;
use std::ops::Range;

/// What is in memory that nobody may write.
const UNTOUCHED: u8 = 0xe7;

/// Blocks have fewer bytes.
const BLOCK: usize = 1_500;

/// Gaps have fewer bytes.
const GAP: usize = 20;

/// Memory for a message. It stays for good unless the message [is over](Self::release): after an error others may be
/// about to use it.
#[derive(Debug)]
pub(super) struct MessageBuffer {
    memory: ManuallyDrop<Vec<u8>>,
    /// Where its bytes are, in their order.
    blocks: Vec<Range<usize>>,
    datatype: Datatype,
    count: usize,
}

impl MessageBuffer {
    /// Room for so many bytes, in pieces if there is something to draw them from.
    pub(super) fn new(len: usize, random: Option<ChaCha8Rng>) -> Result<Self> {
        let Some(mut random) = random else {
            return Ok(Self {
                memory: ManuallyDrop::new(vec![UNTOUCHED; len]),
                blocks: std::iter::once(0..len).collect(),
                datatype: Datatype::BYTE,
                count: len,
            });
        };
        let (mut blocks, mut at, mut left) = (Vec::new(), 0, len);
        while left > 0 {
            at += random.random_range(0..GAP);
            let block = random.random_range(1..BLOCK).min(left);
            blocks.push(at..at + block);
            at += block;
            left -= block;
        }
        let number = |bytes: usize| i64::try_from(bytes).expect("small");
        let lengths: Vec<i64> = blocks.iter().map(|block| number(block.len())).collect();
        let starts: Vec<i64> = blocks.iter().map(|block| number(block.start)).collect();
        let datatype = Datatype::predefined(Elementary::Byte).indexed(&lengths, &starts)?;
        datatype.commit()?;
        Ok(Self {
            memory: ManuallyDrop::new(vec![UNTOUCHED; at]),
            blocks,
            datatype,
            count: 1,
        })
    }

    /// Puts a message there.
    pub(super) fn fill(&mut self, mut bytes: &[u8]) {
        for block in &self.blocks {
            let (these, rest) = bytes.split_at(block.len());
            self.memory[block.clone()].copy_from_slice(these);
            bytes = rest;
        }
    }

    /// For a send.
    pub(super) fn read_only(&self) -> Buffer {
        // SAFETY: it stays, and nobody else uses it, until the operation is over.
        unsafe { Buffer::read_only(self.memory.as_ptr(), self.count, self.datatype.clone()) }
    }

    /// For a receive.
    pub(super) fn writable(&mut self) -> Buffer {
        // SAFETY: it stays, and nobody else uses it, until the operation is over.
        unsafe { Buffer::new(self.memory.as_mut_ptr(), self.count, self.datatype.clone()) }
    }

    /// Nobody uses it any more.
    pub(super) fn release(self) {
        drop(ManuallyDrop::into_inner(self.memory));
    }

    /// The first byte at which it has not the message, or something else was written, and what should be there.
    pub(super) fn first_difference(&self, message: &[u8]) -> Option<(usize, u8, u8)> {
        let mut expected = vec![UNTOUCHED; self.memory.len()];
        let places = self.blocks.iter().flat_map(Clone::clone);
        for (place, &byte) in places.zip(message) {
            expected[place] = byte;
        }
        let bytes = self.memory.iter().zip(expected).enumerate();
        let mut wrong = bytes.filter(|(_, (found, expected))| *found != expected);
        wrong
            .next()
            .map(|(at, (&found, expected))| (at, found, expected))
    }
}
