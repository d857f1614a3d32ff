//! Transports: how messages and collectives get from one rank to another, and what the transports
//! have in common.
//!
//! | file or folder | is |
//! |---|---|
//! | `transport_trait.rs`, `conformance` | what a transport is; the rules that every transport keeps |
//! | `nic`, `smartmap` | the two transports |
//! | `mux.rs` | both at once, and the receives that either may satisfy |
//! | `one_sided.rs`, `direct_access.rs` | operations on the memory of other ranks; those that this rank does by itself |
//! | `request_table.rs` | the request table of a transport |

pub(crate) mod conformance;
mod direct_access;
pub(crate) mod mux;
pub(crate) mod nic;
pub(crate) mod one_sided;
mod request_table;
pub mod smartmap;
mod transport_trait;

pub(crate) use direct_access::DirectAccess;
pub(crate) use mux::{Mux, TransportHandle, TransportSet};
pub(crate) use transport_trait::Transport;

use crate::data::DataView;
use bcs_core::check_bits::CheckBits;
use bcs_core::limits::REQUEST_SLOTS;
use bcs_core::request::{Completion, RequestFailure, RequestId};

/// A message to send, and its receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutgoingMessage<'a> {
    /// Context id of the communicator.
    pub context: u32,
    /// World rank of the receiver.
    pub destination: u32,
    /// Tag.
    pub tag: i32,
    /// Where the bytes are, and how many.
    pub data: &'a DataView,
    /// The check bits that a checked job sends along.
    pub mark: CheckBits,
}

/// When a send is complete (MPI 5.0, 3.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SendMode {
    /// When the buffer may be used again: at once if the message is eager (law 3).
    Standard,
    /// When the receive has been matched.
    Synchronous,
}

impl SendMode {
    /// Returns whether a send of this many bytes is complete when it has been copied (law 3). With
    /// a limit of 0 all sends use the paper's rendezvous, even those of empty messages.
    #[inline(always)]
    pub(crate) fn is_eager(self, len: usize, limit: usize) -> bool {
        self == Self::Standard && limit > 0 && len <= limit
    }
}

/// How a send was posted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PostedSend<Request = RequestId> {
    /// It is complete.
    Complete,
    /// The caller has to test this request.
    Request(Request),
}

/// Whether a call waits for the requests that it tests, as in Table 4.2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blocking {
    /// Wait.
    Yes,
    /// Answer now.
    No,
}

/// The outcome of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RequestOutcome {
    /// Why it failed, if it did.
    pub failure: RequestFailure,
    /// Receives and probes: the world rank of the sender.
    pub source: u32,
    /// Receives and probes: the tag of the message.
    pub tag: i32,
    /// The length of the message in bytes (the full length if it was truncated).
    pub len: u64,
    /// Schedules: the length that the failed message should have had.
    pub expected: Option<u64>,
    /// Receives: the check bits that a checked job sent along with the message.
    pub mark: CheckBits,
}

impl RequestOutcome {
    /// The outcome of a request to which nothing has come yet.
    pub const NOTHING: Self = Self {
        failure: RequestFailure::None,
        source: 0,
        tag: 0,
        len: 0,
        expected: None,
        mark: CheckBits::NONE,
    };

    /// Returns whether it has neither failed nor check bits.
    #[inline(always)]
    pub(crate) fn is_plain(&self) -> bool {
        self.failure == RequestFailure::None && self.mark.is_none()
    }
}

impl From<&Completion> for RequestOutcome {
    fn from(completion: &Completion) -> Self {
        let Completion {
            failure,
            source,
            tag,
            len,
            check_bits: mark,
            ..
        } = *completion;
        Self {
            failure,
            source,
            tag,
            len,
            expected: None,
            mark,
        }
    }
}

/// Every request slot is in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{REQUEST_SLOTS} requests are outstanding, and no more can be: wait for some of them")]
pub struct TooManyRequests;
