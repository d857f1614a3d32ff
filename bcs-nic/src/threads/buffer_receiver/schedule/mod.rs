//! The transfers of a node, and when each part of them moves.
//!
//! Transfers from nodes of this machine go in slices: [`TransferSchedule::chunks_of_slice`] returns
//! what moves in one, within its budget. Transfers from remote nodes, under elastic strobes, go
//! [outside of the slice](super::outside_slice) as soon as they have met their receives: all that a
//! slice decides is decided then. [`TransferSchedule::chunks_outside_slice`] returns the chunks to
//! request next. It keeps the budget in another way: no more than that is *in flight* at once. The
//! same rules determine whose turn it is.
//!
//! | file | content |
//! |---|---|
//! | `transfer.rs` | a message in flight |
//! | `turns.rs` | whose turn it is |
//! | `in_flight.rs` | the transfers whose chunks were requested outside of the slice |

mod in_flight;
mod transfer;
mod turns;

use crate::budget::Quota;
use crate::mail::{Chunk, ChunkOutcome};
use crate::threads::NicThreadContext;
use bcs_core::job::NodeSet;
use bcs_core::request::{Completion, RequestFailure};
use in_flight::InFlightTransfers;
pub(super) use transfer::{Transfer, completion_if_inline};
pub(super) use turns::bytes;
use turns::{QUANTUM, TransferTurns};

/// The transfers of one node.
#[derive(Debug)]
pub(super) struct TransferSchedule {
    ids: u64,
    /// Transfers that wait for slices.
    near: TransferTurns,
    /// Transfers that need no slice.
    far: TransferTurns,
    under_way: InFlightTransfers,
}

impl TransferSchedule {
    /// Creates the schedule of a node whose completion blocks have room for `completions` sends.
    pub(super) fn new(quota: Quota, completions: usize) -> Self {
        Self {
            ids: 0,
            near: TransferTurns::new(quota, completions),
            // Completions outside of the slice go by messages, and there may be any number of
            // these.
            far: TransferTurns::new(quota, usize::MAX),
            under_way: InFlightTransfers::default(),
        }
    }

    /// Adds a message that has met its receive. It goes outside of the slice, or in slices. Returns
    /// the number of its transfer.
    pub(super) fn add(&mut self, mut transfer: Transfer, ahead: bool) -> u64 {
        self.ids += 1;
        transfer.id = self.ids;
        transfer.ahead = ahead;
        let turns = if ahead { &mut self.far } else { &mut self.near };
        turns.add(transfer);
        self.ids
    }

    /// Whether any transfer waits for a slice.
    pub(super) fn needs_slices(&self) -> bool {
        self.near.has_transfers()
    }

    /// Returns how many transfers wait for slices.
    pub(super) fn in_slices(&self) -> usize {
        self.near.len()
    }

    /// Returns the number of transfers that have not ended.
    pub(super) fn len(&self) -> usize {
        self.near.len() + self.far.len() + self.under_way.len()
    }

    /// Returns the number of bytes that must still be scheduled.
    pub(super) fn left(&self) -> u64 {
        self.near.left() + self.far.left()
    }

    /// Returns the chunks of one slice in which messages may bring in `budget` bytes.
    pub(super) fn chunks_of_slice(&mut self, budget: u64) -> Vec<Chunk> {
        let on_its_way = self.under_way.cost();
        self.near.next(budget.saturating_sub(on_its_way), 0)
    }

    /// Returns the next chunks to request outside of the slice, where at most `window` bytes may be
    /// in flight.
    pub(super) fn chunks_outside_slice(
        &mut self,
        window: u64,
        context: &mut NicThreadContext<'_>,
    ) -> Vec<Chunk> {
        if !self.far.has_transfers() {
            return Vec::new();
        }
        let room = window.saturating_sub(self.under_way.cost());
        // Without this minimum a small chunk that has come would make room for another small chunk,
        // and so on.
        let least = QUANTUM.min(window / 4);
        let chunks = self.far.next(room, least);
        self.under_way.begin(chunks, context)
    }

    /// Handles chunks that have moved or failed, and completes the requests that end with them.
    pub(super) fn handle_outcomes(
        &mut self,
        moved: &[ChunkOutcome],
        context: &mut NicThreadContext<'_>,
    ) {
        for one in moved {
            if self.under_way.handle_outcome(one, context) {
                self.far.remove(|transfer| transfer.id == one.transfer);
            }
        }
    }

    /// Notifies remote senders of their completed sends.
    pub(super) fn report_completed_sends(&mut self, context: &mut NicThreadContext<'_>) {
        self.under_way.report_completed_sends(context);
    }

    /// Drops the rest of a transfer that failed in a slice.
    pub(super) fn drop_transfer(&mut self, id: u64) {
        self.near.remove(|transfer| transfer.id == id);
    }

    /// Fails transfers from dead nodes. (The death of a remote node ends the job.)
    pub(super) fn handle_lost_nodes(&mut self, lost: NodeSet, context: &mut NicThreadContext<'_>) {
        let is_lost = |transfer: &Transfer| lost.contains(transfer.source_node);
        for transfer in self.near.remove(is_lost) {
            let gone = Completion::failed(RequestFailure::PeerGone);
            let request = transfer.receive.request;
            context.out.complete(transfer.receiver, request, gone);
        }
    }
}
