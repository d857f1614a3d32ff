//! The mail between NIC threads of one node.
//!
//! ```text
//!   SR  ── Phase ──────────────────────► the threads of a microphase
//!   SR  ── NodesLost ──────────────────► all others
//!   any ── Finished, Completed ────────► SR
//!   BS  ── Arrived, EarlyArrivals ─────► BR
//!   BS  ── Awaited ────────────────────► SR
//!   SR  ── AwaitedSendsCompleted ──────► BS
//!   BR  ── Chunks, ChunksOutsideSlice ─► DH
//!   DH  ── Dropped, ChunkOutcomes,
//!          Operand ────────────────────► BR
//!   BR  ── SendsCompleted ─────────────► SR
//!   BR  ── Ready, GivenUp ─────────────► CH, RH
//!   CH, RH ── CollectiveOver ──────────► BR
//! ```

use crate::blocks::CompletedSend;
use crate::collective::ReadyCollective;
use bcs_core::descriptor::CollectiveDescriptor;
use bcs_core::job::{Microphase, NicThreadId, NodeId, NodeSet};
use bcs_core::request::{Completion, RequestFailure, RequestId};
use bcs_fabric::{DestinationSpan, FabricError, SourceSpan};
use std::sync::Arc;

/// The positions up to which the rings of a node's ranks belong to a slice: the entries before them
/// were posted before the strobe. For each of the node's ranks in order: send, receive, collective
/// ring.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cut(pub Vec<[u64; 3]>);

/// A request of a rank of this node, and its outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestCompletion {
    /// World rank.
    pub rank: u32,
    /// Its request.
    pub request: RequestId,
    /// The outcome.
    pub completion: Completion,
}

/// Part of a message, scheduled for this slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chunk {
    /// The transfer of BR that it belongs to.
    pub transfer: u64,
    /// The bytes to move, and their destination; `None` when all bytes came with the descriptor.
    pub copy: Option<(SourceSpan, DestinationSpan)>,
    /// The bytes that it counts for in the budget.
    pub cost: u64,
    /// The operations that are complete once this chunk has moved.
    pub last: Option<TransferCompletion>,
    /// The receive, in case the chunk fails. A one-sided operation that sends has none
    /// ([`RequestId::NOBODY`]).
    pub receiver: (u32, RequestId),
    /// The sender's node, rank and request, if the sender waits for a completion.
    pub sender: Option<(NodeId, u32, RequestId)>,
    /// Whether the bytes go to BR, as a piece of the operand of an update, and not to the receiver.
    pub is_operand: bool,
}

/// Bytes of an operand that DH has fetched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OperandPiece {
    /// The transfer.
    pub transfer: u64,
    /// World rank of the origin.
    pub origin: u32,
    /// World rank of the target.
    pub target: u32,
    /// The first byte of the operand.
    pub offset: u64,
    /// The bytes, or why they could not be fetched.
    pub bytes: Result<Vec<u8>, FabricError>,
}

impl Chunk {
    /// Returns whether it belongs to a receive, and to no one-sided operation that sends.
    pub(crate) fn has_receive(&self) -> bool {
        self.receiver.1 != RequestId::NOBODY
    }

    /// Returns the completion of its send for the sender's node, if the sender waits for one.
    pub(crate) fn completed_send(
        &self,
        receive: &Completion,
        failure: RequestFailure,
    ) -> Option<(NodeId, CompletedSend)> {
        let (node, rank, request) = self.sender?;
        let receive = (self.receiver.1, receive);
        let sent = CompletedSend::of_transfer((rank, request), failure, receive);
        Some((node, sent))
    }

    /// Returns the outcome of its receive and its send if it cannot be moved.
    #[must_use]
    pub fn failure_outcome(&self, error: FabricError) -> (Completion, RequestFailure) {
        let (receive, send) = match error {
            FabricError::DestinationMemory if !self.has_receive() => {
                (RequestFailure::None, RequestFailure::TargetMemory)
            }
            FabricError::SourceMemory => (RequestFailure::SenderMemory, RequestFailure::BadAddress),
            FabricError::DestinationMemory => (RequestFailure::BadAddress, RequestFailure::None),
            FabricError::PeerGone | FabricError::Lost => {
                (RequestFailure::PeerGone, RequestFailure::PeerGone)
            }
        };
        let receive = Completion {
            source: self.copy.map_or(0, |(from, _)| from.rank),
            ..Completion::failed(receive)
        };
        (receive, send)
    }
}

/// A chunk that was requested outside of the slice and has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChunkOutcome {
    /// The transfer.
    pub transfer: u64,
    /// The bytes that the chunk counted for in the budget.
    pub cost: u64,
    /// The reason if it could not be moved.
    pub failed: Option<FabricError>,
}

/// The end of a transfer: the outcomes of the receive and of the send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransferCompletion {
    /// The outcome of the receive.
    pub receive: Completion,
    /// The outcome of the send.
    pub send: RequestFailure,
}

/// The work of a NIC thread in a microphase (paper Table 5.2).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MicrophaseTally {
    /// DEM: descriptors taken of sends (BS) or receives (BR). MSM: messages scheduled.
    pub point_to_point: u64,
    /// DEM: collectives whose last arrival of the node was taken. BBM and RM: collectives that were
    /// granted steps.
    pub collectives: u64,
    /// BBM and RM: collectives whose last steps these were.
    pub ending: u64,
    /// The thread, and the time in its routines since it finished its previous microphase (LTRi).
    /// The driver fills this in, if it is recorded.
    pub worked: Option<(NicThreadId, u64)>,
    /// The backlog of BR, if it is recorded.
    pub queues: Option<Box<ReceiverBacklog>>,
}

/// The backlog of BR when it has finished a microphase (paper Table 5.2, extended).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReceiverBacklog {
    /// Bytes of messages that may move into the node in this slice.
    pub budget_bytes: u64,
    /// Bytes of messages that were scheduled to move into it.
    pub scheduled_bytes: u64,
    /// Bytes of messages that were left for later slices.
    pub carried_bytes: u64,
    /// Receives that have not met a message.
    pub receives: u64,
    /// Messages that have not met a receive.
    pub messages: u64,
    /// Collectives that had been entered and were not fully granted before this slice.
    pub collectives: u64,
}

/// Counts of the collectives of CH or RH that advance in a slice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct GrantedCounts {
    /// Collectives that were granted steps.
    granted: u64,
    /// Collectives among them whose last steps these are.
    ending: u64,
}

impl GrantedCounts {
    /// Counts a collective with `done` of `all` steps done, of which `granted` more are granted.
    pub(crate) fn count(&mut self, done: u64, granted: u64, all: u64) {
        self.granted += u64::from(granted > 0);
        self.ending += u64::from(granted > 0 && done + granted >= all);
    }

    /// Returns the tally for SR.
    pub(crate) fn tally(self) -> MicrophaseTally {
        MicrophaseTally {
            collectives: self.granted,
            ending: self.ending,
            ..MicrophaseTally::default()
        }
    }
}

/// Collectives that will never go, though the local members have arrived at them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AbandonedCollectives {
    /// The context's slot.
    pub slot: u32,
    /// The collective of the context; `None`: all, because a member has gone.
    pub sequence: Option<u64>,
    /// The outcome for the members.
    pub completion: Completion,
}

impl AbandonedCollectives {
    /// Whether a collective is among them.
    #[must_use]
    pub fn is_about(&self, collective: &ReadyCollective) -> bool {
        let is_it = |sequence| sequence == collective.sequence;
        self.slot == collective.slot && self.sequence.is_none_or(is_it)
    }
}

/// A piece of mail.
#[derive(Clone, Debug)]
pub enum Mail {
    /// SR → the threads of a microphase: it has begun.
    Phase {
        /// The slice.
        slice: u64,
        /// The microphase.
        phase: Microphase,
        /// The cut, in DEM.
        cut: Option<Arc<Cut>>,
    },
    /// Any → SR: this thread has finished the microphase, and which later ones the node needs
    /// because of it.
    Finished {
        /// The microphase.
        phase: Microphase,
        /// Which later microphases the node needs, by [`Microphase::index`].
        work: [bool; 5],
        /// The tally of the thread's work in it.
        tally: MicrophaseTally,
    },
    /// Any → SR: requests to complete.
    Completed(Vec<RequestCompletion>),
    /// SR → all: these nodes are dead.
    NodesLost(NodeSet),
    /// BS → BR: collective descriptors of this slice, by rank. Sent in every DEM, so that BR
    /// knows when it has them all.
    Arrived(Vec<(u32, CollectiveDescriptor)>),
    /// BS → BR: collective descriptors that were taken before their slice, by rank.
    EarlyArrivals(Vec<(u32, CollectiveDescriptor)>),
    /// BR → DH: the schedule of this slice.
    Chunks(Vec<Chunk>),
    /// DH → BR: a transfer failed; do not schedule more of it.
    Dropped(u64),
    /// BR → DH: chunks to move now, independent of the slice.
    ChunksOutsideSlice(Vec<Chunk>),
    /// DH → BR: a piece of the operand of an update.
    Operand(Box<OperandPiece>),
    /// DH → BR: the outcomes of these chunks.
    ChunkOutcomes(Vec<ChunkOutcome>),
    /// BR → SR: sends to remote nodes that are complete.
    SendsCompleted(Vec<CompletedSend>),
    /// BR → CH or RH: all local ranks have arrived.
    Ready(Box<ReadyCollective>),
    /// CH or RH → BR: a collective of the context with this first member and id is over.
    CollectiveOver((u32, u32)),
    /// BR → CH and RH: collectives that will never go.
    GivenUp(Box<AbandonedCollectives>),
    /// BS → SR, before it has finished DEM: the number of new sends whose completions other nodes
    /// will report.
    Awaited(usize),
    /// SR → BS: sends to other nodes that are complete.
    AwaitedSendsCompleted(Vec<(u32, RequestId)>),
}
