//! Requests: what a call has posted, by whichever way.

use super::schedule::ScheduleId;
use crate::roads::smartmap;
use bcs_core::request::RequestId;

/// Something that was posted. It is spent when [`bcs_test`](super::Endpoint::bcs_test) says that
/// it is done: a copy kept beyond that must not be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[must_use = "a request that nobody waits for keeps its slot for ever"]
pub struct Request(pub(super) Handle);

impl Request {
    /// Whether it was done when it was posted: nobody has to ask about it.
    pub(crate) fn is_complete(self) -> bool {
        matches!(self.0, Handle::Complete(_))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Handle {
    /// It was complete when it was posted: an eager send of so many bytes.
    Complete(u64),
    /// The NIC completes it.
    Nic(RequestId),
    /// A schedule completes it.
    Schedule(ScheduleId),
    /// A rank of this node does, or this one.
    Near(smartmap::Id),
}

impl From<smartmap::Posted> for Handle {
    /// Of what has no length.
    fn from(posted: smartmap::Posted) -> Self {
        match posted {
            smartmap::Posted::Complete => Self::Complete(0),
            smartmap::Posted::Request(id) => Self::Near(id),
        }
    }
}
