//! The transfers of a node, and what of them goes when.
//!
//! From nodes of this machine they go in slices: [`TransferSchedule::chunks_of_slice`] says what moves in one, as far as its budget goes. From far
//! nodes, under elastic strobes, they go [ahead of the beat](super::corrupt_words) as soon as they have met their receives: what a
//! slice decides is decided then. [`TransferSchedule::chunks_outside_slice`] says what is asked for next. It keeps the budget in another way: no
//! more of it is *on its way* at once. Who has a turn goes by the same rules.
//!
//! | file | has |
//! |---|---|
//! | `transfer.rs` | a message on its way |
//! | `turns.rs` | whose turn it is |
//! | `under_way.rs` | what was asked for ahead of the beat |

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
    /// Those that wait for slices.
    near: TransferTurns,
    /// Those that need none.
    far: TransferTurns,
    under_way: InFlightTransfers,
}

impl TransferSchedule {
    /// For a node whose completion blocks have room for so many sends.
    pub(super) fn new(quota: Quota, completions: usize) -> Self {
        Self {
            ids: 0,
            near: TransferTurns::new(quota, completions),
            // What goes ahead is told by messages, of which there may be as many as are needed.
            far: TransferTurns::new(quota, usize::MAX),
            under_way: InFlightTransfers::default(),
        }
    }

    /// A message has met its receive. It goes ahead of the beat, or in slices.
    pub(super) fn add(&mut self, mut transfer: Transfer, ahead: bool) {
        self.ids += 1;
        transfer.id = self.ids;
        transfer.ahead = ahead;
        let turns = if ahead { &mut self.far } else { &mut self.near };
        turns.add(transfer);
    }

    /// Whether any waits for a slice.
    pub(super) fn needs_slices(&self) -> bool {
        self.near.has_transfers()
    }

    /// How many wait for slices.
    pub(super) fn in_slices(&self) -> usize {
        self.near.len()
    }

    /// Transfers that have not ended.
    pub(super) fn len(&self) -> usize {
        self.near.len() + self.far.len() + self.under_way.len()
    }

    /// Bytes that have still to be scheduled.
    pub(super) fn left(&self) -> u64 {
        self.near.left() + self.far.left()
    }

    /// The chunks of one slice, in which messages may bring so many bytes.
    pub(super) fn chunks_of_slice(&mut self, budget: u64) -> Vec<Chunk> {
        let on_its_way = self.under_way.cost();
        self.near.next(budget.saturating_sub(on_its_way), 0)
    }

    /// What is asked for next ahead of the beat, where at most so many bytes may be on their way.
    pub(super) fn chunks_outside_slice(
        &mut self,
        window: u64,
        context: &mut NicThreadContext<'_>,
    ) -> Vec<Chunk> {
        if !self.far.has_transfers() {
            return Vec::new();
        }
        let room = window.saturating_sub(self.under_way.cost());
        // Else what has just come would let go as little again, and so on.
        let least = QUANTUM.min(window / 4);
        let chunks = self.far.next(room, least);
        self.under_way.begin(chunks, context)
    }

    /// These have moved, or cannot. What is complete by that is told.
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

    /// What senders of far nodes are to be told.
    pub(super) fn report_completed_sends(&mut self, context: &mut NicThreadContext<'_>) {
        self.under_way.report_completed_sends(context);
    }

    /// A transfer failed in a slice: whatever it still had to move is not scheduled.
    pub(super) fn drop_transfer(&mut self, id: u64) {
        self.near.remove(|transfer| transfer.id == id);
    }

    /// Transfers from dead nodes fail. (The death of a far node ends the job.)
    pub(super) fn handle_lost_nodes(&mut self, lost: NodeSet, context: &mut NicThreadContext<'_>) {
        let is_lost = |transfer: &Transfer| lost.contains(transfer.source_node);
        for transfer in self.near.remove(is_lost) {
            let gone = Completion::failed(RequestFailure::PeerGone);
            let request = transfer.receive.request;
            context.out.complete(transfer.receiver, request, gone);
        }
    }
}
