//! Transfers whose chunks were requested outside of the slice.
//!
//! A transfer may have several chunks in flight at once, which end in any order. So it is complete
//! when all have ended and none follows. A failed transfer is reported when no more of it can come,
//! since its ranks may then use their memory again. DH moves chunks and reports the outcome of
//! each. This module decides the outcome of the transfer, because it knows its other chunks.

use crate::blocks::CompletedSend;
use crate::mail::{Chunk, ChunkOutcome, TransferCompletion};
use crate::threads::NicThreadContext;
use bcs_core::job::NodeId;
use bcs_fabric::FabricError;
use std::collections::{BTreeMap, HashMap};

/// A transfer with requested chunks.
#[derive(Debug)]
struct InFlightTransfer {
    /// The first chunk: it names the receiver and the sender.
    chunk: Chunk,
    /// Chunks in flight.
    count: usize,
    /// The outcome if no chunk follows these.
    ending: Option<TransferCompletion>,
    failed: Option<FabricError>,
}

/// The transfers whose chunks were requested outside of the slice; see the module.
#[derive(Debug, Default)]
pub(super) struct InFlightTransfers {
    moving: HashMap<u64, InFlightTransfer>,
    /// The cost in the budget of the chunks in flight.
    cost: u64,
    /// Completed sends of other nodes.
    told: BTreeMap<NodeId, Vec<CompletedSend>>,
}

impl InFlightTransfers {
    pub(super) fn len(&self) -> usize {
        self.moving.len()
    }

    /// Returns the cost in the budget of the chunks in flight.
    pub(super) fn cost(&self) -> u64 {
        self.cost
    }

    /// Registers requested chunks. Returns those that DH must move: the bytes of the others came
    /// with the descriptor.
    pub(super) fn begin(
        &mut self,
        chunks: Vec<Chunk>,
        context: &mut NicThreadContext<'_>,
    ) -> Vec<Chunk> {
        let mut to_move = Vec::with_capacity(chunks.len());
        for chunk in chunks {
            let moving = self
                .moving
                .entry(chunk.transfer)
                .or_insert(InFlightTransfer {
                    chunk,
                    count: 0,
                    ending: None,
                    failed: None,
                });
            moving.ending = chunk.last;
            if chunk.copy.is_some() {
                moving.count += 1;
                self.cost += chunk.cost;
                to_move.push(chunk);
            } else {
                self.end(chunk.transfer, context);
            }
        }
        to_move
    }

    /// Ends a chunk. Returns whether its transfer has failed by that, so that nothing more of it
    /// may be scheduled.
    pub(super) fn handle_outcome(
        &mut self,
        moved: &ChunkOutcome,
        context: &mut NicThreadContext<'_>,
    ) -> bool {
        let moving = self.moving.get_mut(&moved.transfer);
        let moving = moving.expect("it ends when all its chunks have");
        self.cost -= moved.cost;
        moving.count -= 1;
        let fails = moving.failed.is_none() && moved.failed.is_some();
        moving.failed = moving.failed.or(moved.failed);
        self.end(moved.transfer, context);
        fails
    }

    /// Completes a transfer if nothing more of it can come.
    fn end(&mut self, transfer: u64, context: &mut NicThreadContext<'_>) {
        let moving = &self.moving[&transfer];
        let (receive, send) = match (moving.count, moving.failed, moving.ending) {
            (0, Some(error), _) => moving.chunk.failure_outcome(error),
            (0, None, Some(ending)) => (ending.receive, ending.send),
            _ => return,
        };
        let chunk = moving.chunk;
        self.moving.remove(&transfer);
        context.out.complete_receive(&chunk, receive);
        if let Some((node, told)) = chunk.completed_send(&receive, send) {
            self.told.entry(node).or_default().push(told);
        }
    }

    /// Notifies the senders' nodes.
    pub(super) fn report_completed_sends(&mut self, context: &mut NicThreadContext<'_>) {
        for (node, told) in std::mem::take(&mut self.told) {
            for some in told.chunks(CompletedSend::MAX_PER_MESSAGE) {
                context
                    .port
                    .send_outside_slice(node, &CompletedSend::encode(some));
            }
        }
    }
}
