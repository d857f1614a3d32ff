//! The additional knowledge of a rank in a checked job (`bcs run --checked`).
//!
//! **Types of messages.** A message bears a mark, [`CheckBits`](bcs_core::check_bits::CheckBits) of
//! 28 bits, which are free in all structures that carry a message: 20 bits of the signature of its
//! types ([`crate::mpi::datatype`], `signature`), and 8 that name its *kind*. The receiver compares
//! the 20 bits with those of the types that it receives into, cut to the length that has come,
//! since a message may be shorter. Two signatures that differ have the same bits once in a million
//! times. So a correct message is never reported, and a wrong one is hardly ever missed.
//!
//! **Kinds.** An error reports the other end's types, its call and the line. These do not fit a
//! mark. A rank sends from few places and few types, so each pair of both is a kind and gets a
//! number. Before the first message of a kind to a rank, its description goes by the same
//! transport, so that it arrives first. Its context is one from which nothing is received until
//! there is an error. It goes in parts of 32 bytes, which are complete when they are posted, so a
//! rank that ends owes nothing for them. Descriptions that are never received lie apart from the
//! messages of the program, so they do not close the short path for these
//! ([`crate::transport::smartmap`]).
//!
//! **Time.** The bits of a signature are kept from one message to the next. The place of a call and
//! its types find their kind by one lookup in a table. Half a round trip of 8 B takes some
//! nanoseconds more.
//!
//! **Collectives.** They have many algorithms, and in some of them no rank meets all others. So
//! calls are compared apart from how they are done: a member sends the next one the call that it is
//! about to make, in 24 bytes, and waits for the report of the one before it about the same call.
//! If any two members call differently, so do two that follow each other. A call that does not
//! block sends its report, and takes the reports that have come. The wait for it takes the rest, or
//! the next call that blocks, or finalize.
//!
//! **Blocks.** Collectives whose blocks may have different types (vector collectives, and those
//! among neighbours) are compared block by block, too: the member that gives a block sends the one
//! that takes it such a report ([`crate::mpi`], `block_checks`).
//!
//! Where messages of 32 bytes are not eager (`--eager-limit 0`) there are neither descriptions nor
//! comparisons of calls: each would wait for its receiver.
//!
//! **Windows.** Accesses to the memory of a window that nothing orders are found as
//! [`crate::mpi::window`], `races`, says.
//!
//! **Memory.** A long buffer in the rank's slot is [compared](mapping_check) with what is mapped
//! there.
//!
//! **Buffers.** Memory that a [pending](pending_buffers) operation uses is not used by another
//! call, and a send buffer [holds](sent_bytes) at the end the same bytes as at the post. Only its
//! message changes a short [receive buffer](received_bytes). A collective that does not block
//! receives into memory of the library ([staged_buffers]).
//!
//! **Given up.** A header before the bytes of each message would have room for all of it. But it
//! makes another message: longer, in pieces, and visible to probes. A field of its own in the
//! envelope would be there in unchecked jobs, too.

mod call_place;
mod call_texts;
mod calls;
mod kinds;
mod mapping_check;
mod mapping_query;
mod order;
mod pending_buffers;
mod received_bytes;
mod sent_bytes;
mod staged_buffers;

pub(crate) use call_place::{describe_address, describe_site};
pub(crate) use call_texts::MOST_TEXT_BYTES;
pub(crate) use calls::{AnnouncedCall, CallPredecessor, ReportSubject, UncheckedCalls};
pub(crate) use kinds::{MessageKinds, SIGNATURE_BITS, bits, is_of, mark, may_tell};
pub(crate) use mapping_check::{LEAST_COMPARED_BYTES, unknown_mapping};
pub(crate) use order::GroupGeneration;
pub(crate) use pending_buffers::{
    BufferAccess, BufferConflict, PendingBuffers, UseKey, UsedMemory, UsingCall,
};
pub(crate) use staged_buffers::StagedBuffers;

use call_texts::CallTexts;
use order::SynchronizationOrder;

/// The additional state of a rank in a checked job.
#[derive(Debug)]
pub(crate) struct JobChecks {
    pub(crate) kinds: MessageKinds,
    pub(crate) calls: UncheckedCalls,
    pub(crate) order: SynchronizationOrder,
    pub(crate) texts: CallTexts,
    pub(crate) buffers: PendingBuffers,
}

impl JobChecks {
    /// Makes the state for a job of this many ranks.
    pub(crate) fn new(ranks: usize) -> Self {
        Self {
            kinds: MessageKinds::new(ranks),
            calls: UncheckedCalls::default(),
            order: SynchronizationOrder::default(),
            texts: CallTexts::default(),
            buffers: PendingBuffers::default(),
        }
    }
}
