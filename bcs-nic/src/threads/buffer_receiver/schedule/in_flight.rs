//! What was asked for ahead of the beat.
//!
//! A transfer may have several chunks on their way at once, which end in any order. So it is complete when all have
//! ended and none follows; and one that fails is told when nothing more of it can come, since whoever is told may use its
//! memory again. DH moves chunks and says of each how it ended: what they come to is decided here, where it is
//! known what else there is of their transfer.

use crate::blocks::CompletedSend;
use crate::mail::{Chunk, ChunkOutcome, TransferCompletion};
use crate::threads::NicThreadContext;
use bcs_core::job::NodeId;
use bcs_fabric::FabricError;
use std::collections::{BTreeMap, HashMap};

/// A transfer of which something was asked for.
#[derive(Debug)]
struct InFlightTransfer {
    /// The first chunk: whose it is.
    chunk: Chunk,
    /// Chunks on their way.
    count: usize,
    /// What its receive comes to, if none follows these.
    ending: Option<TransferCompletion>,
    failed: Option<FabricError>,
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct InFlightTransfers {
    moving: HashMap<u64, InFlightTransfer>,
    /// What is on its way, as it counts in the budget.
    cost: u64,
    /// Sends of other nodes that are complete.
    told: BTreeMap<NodeId, Vec<CompletedSend>>,
}

impl InFlightTransfers {
    pub(super) fn len(&self) -> usize {
        self.moving.len()
    }

    /// What is on its way, as it counts in the budget.
    pub(super) fn cost(&self) -> u64 {
        self.cost
    }

    /// These are asked for. Gives those that DH is to move: of others all bytes came with the descriptor.
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

    /// A chunk has ended. Returns whether its transfer has failed by that, and nothing more of it is to be scheduled.
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

    /// Completes a transfer of which nothing more can come.
    fn end(&mut self, transfer: u64, context: &mut NicThreadContext<'_>) {
        let moving = &self.moving[&transfer];
        let (receive, send) = match (moving.count, moving.failed, moving.ending) {
            (0, Some(error), _) => moving.chunk.failure_outcome(error),
            (0, None, Some(ending)) => (ending.receive, ending.send),
            _ => return,
        };
        let Chunk {
            receiver: (rank, request),
            sender,
            ..
        } = moving.chunk;
        self.moving.remove(&transfer);
        context.out.complete(rank, request, receive);
        if let Some((node, rank, request)) = sender {
            let told = CompletedSend {
                rank,
                request,
                failure: send,
            };
            self.told.entry(node).or_default().push(told);
        }
    }

    /// Tells the senders' nodes.
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
