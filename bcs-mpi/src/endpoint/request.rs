//! Requests: what a call has posted.

use crate::schedules::ScheduleId;
use crate::transport::TransportHandle;

/// An undertaking, for its request.
pub(crate) type AsyncOperationId = u64;

/// Something that was posted. It is spent when [`bcs_test`](super::Endpoint::bcs_test) says that
/// it is done: a copy kept beyond that must not be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[must_use = "a request that nobody waits for keeps its slot for ever"]
pub struct Request(pub(crate) OperationId);

/// By what it is completed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum OperationId {
    Transport(TransportHandle),
    Schedule(ScheduleId),
    AsyncOperation(AsyncOperationId),
}

impl Request {
    pub(crate) fn on(handle: TransportHandle) -> Self {
        Self(OperationId::Transport(handle))
    }

    /// Whether it was done when it was posted: nobody has to ask about it.
    pub(crate) fn is_complete(self) -> bool {
        matches!(self.0, OperationId::Transport(TransportHandle::Complete(_)))
    }
}
