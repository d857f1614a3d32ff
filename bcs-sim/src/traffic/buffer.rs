//! Memory for a message: contiguous, or in blocks of any lengths with gaps that must stay
//! untouched.
#![expect(unsafe_code, reason = "the untyped core names buffers by address")]

use bcs_core::reduction::Datatype as Elementary;
use bcs_mpi::mpi::{Buffer, Datatype, Result};
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use std::mem::ManuallyDrop;
use std::ops::Range;

/// The byte where nothing may be written.
const UNTOUCHED: u8 = 0xe7;

/// The limit of a block's length in bytes (exclusive).
const BLOCK: usize = 1_500;

/// The limit of a gap's length in bytes (exclusive).
const GAP: usize = 20;

/// Memory for a message. It is never freed unless the message [is over](Self::release): after an
/// error others may still use it.
#[derive(Debug)]
pub(super) struct MessageBuffer {
    memory: ManuallyDrop<Vec<u8>>,
    /// The ranges of its bytes, in their order.
    blocks: Vec<Range<usize>>,
    datatype: Datatype,
    count: usize,
}

impl MessageBuffer {
    /// Makes room for `len` bytes, in pieces if there is a generator to draw them from.
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

    /// Writes a message there.
    pub(super) fn fill(&mut self, mut bytes: &[u8]) {
        for block in &self.blocks {
            let (these, rest) = bytes.split_at(block.len());
            self.memory[block.clone()].copy_from_slice(these);
            bytes = rest;
        }
    }

    /// Returns the buffer for a send.
    pub(super) fn read_only(&self) -> Buffer {
        // SAFETY: the buffer exists until the operation is over, and nobody else uses it.
        unsafe { Buffer::read_only(self.memory.as_ptr(), self.count, self.datatype.clone()) }
    }

    /// Returns the buffer for a receive.
    pub(super) fn writable(&mut self) -> Buffer {
        // SAFETY: the buffer exists until the operation is over, and nobody else uses it.
        unsafe { Buffer::new(self.memory.as_mut_ptr(), self.count, self.datatype.clone()) }
    }

    /// Frees it: nobody uses it any more.
    pub(super) fn release(self) {
        drop(ManuallyDrop::into_inner(self.memory));
    }

    /// Returns the first byte that differs from the message, or that was written outside of it, and
    /// the expected value.
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
