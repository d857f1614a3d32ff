//! Requests: the operations that calls have posted.

use crate::schedules::ScheduleId;
use crate::transport::TransportHandle;

/// The number of an async operation, for its request.
pub(crate) type AsyncOperationId = u64;

/// A posted operation. It is spent when [`bcs_test`](super::Endpoint::bcs_test) reports that it is
/// done. A copy of it must not be used after that.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[must_use = "a request that nobody waits for keeps its slot for ever"]
pub struct Request(pub(crate) OperationId);

/// The operation that completes a request.
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

    /// Returns what was posted on a transport, if it is that alone.
    pub(crate) fn handle(self) -> Option<TransportHandle> {
        match self.0 {
            OperationId::Transport(handle) => Some(handle),
            OperationId::Schedule(_) | OperationId::AsyncOperation(_) => None,
        }
    }

    /// Returns whether it was done when it was posted, so that no call has to test it.
    pub(crate) fn is_complete(self) -> bool {
        matches!(self.0, OperationId::Transport(TransportHandle::Complete(_)))
    }
}
