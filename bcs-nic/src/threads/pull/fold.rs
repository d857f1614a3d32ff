//! Folds contributions where they are, a block at a time: each byte is read once, combined while it
//! is in the first-level cache, and written once to each rank that wants the result here.

use super::fold_order::FoldInstruction;
use crate::blocks::MemoryOffer;
use crate::threads::arithmetic::Arithmetic;
use crate::threads::{NicThreadContext, NodeConfig};
use bcs_core::limits::FOLD_BLOCK_BYTES;
use bcs_fabric::{Event, FabricError, Ticket};
use std::ops::Range;

/// The progress of a fold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FoldProgress {
    /// A contribution is in flight.
    Waiting,
    /// Everything is folded and written.
    Done,
}

/// A part of a vector that this node folds.
#[derive(Debug)]
pub(super) struct PartFold {
    arithmetic: Arithmetic,
    notes: Vec<FoldInstruction>,
    /// The addresses for the result, with their ranks of this node.
    outputs: Vec<(u32, u64)>,
    /// Bytes of the vector that are still to be folded.
    left: Range<u64>,
    /// The next note for the block at the beginning of `left`.
    next: usize,
    /// Partial results.
    stack: Vec<Vec<u8>>,
    /// A contribution of another node in flight.
    fetching: Option<Ticket>,
    /// Buffers to reuse.
    spare: Vec<Vec<u8>>,
}

impl PartFold {
    pub(super) fn new(
        arithmetic: Arithmetic,
        notes: Vec<FoldInstruction>,
        outputs: Vec<(u32, u64)>,
        part: Range<u64>,
    ) -> Self {
        Self {
            arithmetic,
            notes,
            outputs,
            left: part,
            next: 0,
            stack: Vec::new(),
            fetching: None,
            spare: Vec::new(),
        }
    }

    /// Whether another node's bytes are in flight to this one.
    pub(super) fn is_waiting(&self) -> bool {
        self.fetching.is_some()
    }

    /// Lets the bytes in flight arrive, and drops them.
    pub(super) fn drain(&mut self, context: &mut NicThreadContext<'_>) {
        if let Some(ticket) = self.fetching
            && context.port.test_event(ticket) != Event::Pending
        {
            context.port.take_fetched(ticket);
            self.fetching = None;
        }
    }

    /// Advances as far as possible.
    ///
    /// # Errors
    /// The rank whose memory is not there: then nothing is under way any more.
    pub(super) fn advance(
        &mut self,
        config: &NodeConfig,
        context: &mut NicThreadContext<'_>,
    ) -> Result<FoldProgress, u32> {
        while !self.left.is_empty() {
            let Some(&note) = self.notes.get(self.next) else {
                self.write(context)?;
                continue;
            };
            match note {
                FoldInstruction::Begin(offer) => match self.read(&offer, config, context)? {
                    Some(bytes) => self.stack.push(bytes),
                    None => return Ok(FoldProgress::Waiting),
                },
                FoldInstruction::Fold(offer) => match self.read(&offer, config, context)? {
                    Some(bytes) => self.combine(bytes),
                    None => return Ok(FoldProgress::Waiting),
                },
                FoldInstruction::Join => {
                    let latest = self.stack.pop().expect("two have begun");
                    self.combine(latest);
                }
            }
            self.next += 1;
        }
        Ok(FoldProgress::Done)
    }

    fn block(&self) -> usize {
        let left = self.left.end - self.left.start;
        usize::try_from(left).map_or(FOLD_BLOCK_BYTES, |left| left.min(FOLD_BLOCK_BYTES))
    }

    /// Returns a block of a contribution once it has come; `None` while it is in flight.
    fn read(
        &mut self,
        offer: &MemoryOffer,
        config: &NodeConfig,
        context: &mut NicThreadContext<'_>,
    ) -> Result<Option<Vec<u8>>, u32> {
        let rank = offer.rank;
        if self.fetching.is_none() {
            let mut bytes = self.spare.pop().unwrap_or_default();
            bytes.resize(self.block(), 0);
            if config.local(rank).is_some() {
                let address = offer.input + self.left.start;
                let read = context.memory.read(rank, address, &mut bytes);
                return read.map(|()| Some(bytes)).map_err(|_| rank);
            }
            self.fetch(offer, bytes, context);
        }
        let ticket = self.fetching.expect("just begun");
        let event = context.port.test_event(ticket);
        if event == Event::Pending {
            return Ok(None);
        }
        self.fetching = None;
        let bytes = context.port.take_fetched(ticket);
        match event {
            Event::Failed(FabricError::Lost) => {
                self.fetch(offer, bytes, context);
                Ok(None)
            }
            Event::Failed(FabricError::PeerGone) => Ok(None), // the caller checks for dead nodes
            Event::Failed(_) => Err(rank),
            _ => Ok(Some(bytes)),
        }
    }

    fn fetch(&mut self, offer: &MemoryOffer, into: Vec<u8>, context: &mut NicThreadContext<'_>) {
        let address = offer.input + self.left.start;
        self.fetching = Some(context.port.fetch(offer.rank, address, into));
    }

    /// Combines these bytes into the latest partial result.
    fn combine(&mut self, bytes: Vec<u8>) {
        let partial = self.stack.last_mut().expect("one has begun");
        let combined = self.arithmetic.combine(partial, &bytes);
        combined.expect("BR has looked at the operation, and blocks have whole elements");
        self.spare.push(bytes);
    }

    /// Writes a folded block to all addresses that want it.
    fn write(&mut self, context: &mut NicThreadContext<'_>) -> Result<(), u32> {
        let result = self.stack.pop().expect("a score has a contribution");
        for &(rank, output) in &self.outputs {
            let address = output + self.left.start;
            let written = context.memory.write(rank, address, &result);
            written.map_err(|_| rank)?;
        }
        self.left.start += result.len() as u64;
        self.next = 0;
        self.spare.push(result);
        Ok(())
    }
}
