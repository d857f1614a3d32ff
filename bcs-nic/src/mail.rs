//! What NIC threads of one node tell each other.
//!
//! ```text
//!             Phase                         Chunks
//!   SR ───────────────► BS BR DH CH RH   BR ──────► DH ── Dropped ──► BR
//!      ◄─────────────── Finished, Completed  Ahead        Moved
//!   BS ── Arrived ──► BR ── Ready ──► CH, RH        SR ── Settled ──► BS
//!         Early           GivenUp                   BR ── Told ─────► SR
//!                        ◄── Over ───
//!   SR ── Lost ─────► all others
//! ```

use crate::blocks::CompletedSend;
use crate::collective::ReadyCollective;
use bcs_core::descriptor::CollectiveDescriptor;
use bcs_core::job::{Microphase, NicThreadId, NodeId, NodeSet};
use bcs_core::request::{Completion, RequestFailure, RequestId};
use bcs_fabric::{DestinationSpan, FabricError, SourceSpan};
use std::sync::Arc;

/// The positions up to which the rings of a node's ranks belong to a slice: what was posted
/// before the strobe. In the order of the node's ranks: send, receive,
/// collective ring.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cut(pub Vec<[u64; 3]>);

/// A request of a rank of this node, and what it came to.
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
    /// Which transfer of BR it belongs to.
    pub transfer: u64,
    /// What to move, and where to; `None` when all bytes came with the descriptor.
    pub copy: Option<(SourceSpan, DestinationSpan)>,
    /// What it counts for in the budget, in bytes.
    pub cost: u64,
    /// What is complete once this chunk has moved.
    pub last: Option<TransferCompletion>,
    /// The receive, in case the chunk fails.
    pub receiver: (u32, RequestId),
    /// The sender's node, rank and request, if it is owed a completion.
    pub sender: Option<(NodeId, u32, RequestId)>,
}

impl Chunk {
    /// What its receive and its send come to if it cannot be moved.
    #[must_use]
    pub fn failure_outcome(&self, error: FabricError) -> (Completion, RequestFailure) {
        let (receive, send) = match error {
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

/// A chunk that was asked for ahead of the beat, and has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChunkOutcome {
    /// The transfer.
    pub transfer: u64,
    /// What the chunk counted for in the budget.
    pub cost: u64,
    /// Why it could not be moved, if so.
    pub failed: Option<FabricError>,
}

/// The end of a transfer: the receive's completion, and what its sender is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransferCompletion {
    /// What the receive came to.
    pub receive: Completion,
    /// What the send came to.
    pub send: RequestFailure,
}

/// What a NIC thread did in a microphase (paper Table 5.2).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MicrophaseTally {
    /// DEM: descriptors of sends (BS) or receives (BR) that were taken. MSM: messages that were scheduled.
    pub point_to_point: u64,
    /// DEM: collectives of which the last arrival of the node was taken. BBM and RM: those that were granted steps.
    pub collectives: u64,
    /// BBM and RM: those of them whose last steps these were.
    pub ending: u64,
    /// Which thread it was, and the time in its routines since it finished a microphase before (LTRi). Who runs it
    /// fills it in, if it is recorded.
    pub worked: Option<(NicThreadId, u64)>,
    /// What is left at BR, if it is recorded.
    pub queues: Option<Box<ReceiverBacklog>>,
}

/// What BR holds when it has finished a microphase (paper Table 5.2, as ours goes on).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReceiverBacklog {
    /// What messages may move into the node in this slice.
    pub budget_bytes: u64,
    /// Data of messages that were scheduled to move into it.
    pub scheduled_bytes: u64,
    /// Data that were left for later slices.
    pub carried_bytes: u64,
    /// Receives that no message has met.
    pub receives: u64,
    /// Messages that no receive has met.
    pub messages: u64,
    /// Collectives that were entered and had not been granted in full before this slice.
    pub collectives: u64,
}

/// The collectives of CH or RH that go in a slice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct GrantedCounts {
    /// Those that were granted steps.
    granted: u64,
    /// Those of them whose last steps these are.
    ending: u64,
}

impl GrantedCounts {
    /// A collective has been granted so many steps beyond those that are done, of so many in all.
    pub(crate) fn count(&mut self, done: u64, granted: u64, all: u64) {
        self.granted += u64::from(granted > 0);
        self.ending += u64::from(granted > 0 && done + granted >= all);
    }

    /// What SR is told of them.
    pub(crate) fn tally(self) -> MicrophaseTally {
        MicrophaseTally {
            collectives: self.granted,
            ending: self.ending,
            ..MicrophaseTally::default()
        }
    }
}

/// Collectives at which the local members have arrived, and which will never go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AbandonedCollectives {
    /// The context's slot.
    pub slot: u32,
    /// Which collective of the context; `None`: all, for a member is gone.
    pub sequence: Option<u64>,
    /// What the members are told.
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
    /// Any → SR: this thread has finished the microphase, and whether the node has work in
    /// later ones because of it.
    Finished {
        /// The microphase.
        phase: Microphase,
        /// Which later microphases the node needs, by [`Microphase::index`].
        work: [bool; 5],
        /// What the thread did in it.
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
    /// DH → BR: a transfer failed, do not schedule more of it.
    Dropped(u64),
    /// BR → DH: what is moved now, whatever the slice.
    ChunksOutsideSlice(Vec<Chunk>),
    /// DH → BR: of these how they ended.
    ChunkOutcomes(Vec<ChunkOutcome>),
    /// BR → SR: sends to far nodes that are complete.
    SendsCompleted(Vec<CompletedSend>),
    /// BR → CH or RH: all local ranks have arrived.
    Ready(Box<ReadyCollective>),
    /// CH or RH → BR: of this context, which has this first member and id, a collective is over.
    CollectiveOver((u32, u32)),
    /// BR → CH and RH: collectives that will never go.
    GivenUp(Box<AbandonedCollectives>),
    /// BS → SR, before it has finished DEM: so many sends have gone of which other nodes will tell that they are
    /// complete.
    Awaited(usize),
    /// SR → BS: sends to other nodes that are complete.
    AwaitedSendsCompleted(Vec<(u32, RequestId)>),
}
