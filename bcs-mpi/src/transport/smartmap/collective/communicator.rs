//! A communicator and its collectives. They may be detached, with a thread that advances them.

use super::group::LocalGroup;
use super::machine::CollectiveMachine;
use super::queue::CollectiveQueue;
use super::spare::SpareBuffers;
use crate::transport::smartmap::requests::LocalRequestId;
use bcs_core::job::NodeRanks;
use std::fmt;

/// A communicator.
#[derive(Debug)]
pub(in crate::transport::smartmap) enum LocalCommunicator {
    Attached(CollectiveQueue),
    Detached(DetachedState),
}

/// Makes a collective of a detached communicator when it is returned.
type MakeCollective =
    Box<dyn FnOnce(&LocalGroup, NodeRanks, &mut SpareBuffers) -> Box<dyn CollectiveMachine> + Send>;

/// The state of a communicator while it is detached.
pub(in crate::transport::smartmap) struct DetachedState {
    /// The requests that it has taken along.
    pub(in crate::transport::smartmap) requests: Vec<LocalRequestId>,
    /// The collectives that were posted since.
    pub(in crate::transport::smartmap) posted: Vec<(LocalRequestId, MakeCollective)>,
    pub(in crate::transport::smartmap) closed: bool,
}

impl fmt::Debug for DetachedState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Away")
            .field("requests", &self.requests)
            .field("posted", &self.posted.len())
            .finish_non_exhaustive()
    }
}

impl LocalCommunicator {
    pub(in crate::transport::smartmap) fn here(&self) -> Option<&CollectiveQueue> {
        match self {
            Self::Attached(queue) => Some(queue),
            Self::Detached(_) => None,
        }
    }

    pub(in crate::transport::smartmap) fn here_mut(&mut self) -> Option<&mut CollectiveQueue> {
        match self {
            Self::Attached(queue) => Some(queue),
            Self::Detached(_) => None,
        }
    }

    /// Returns the requests that were posted and are not over.
    pub(in crate::transport::smartmap) fn requests(&self) -> Vec<LocalRequestId> {
        match self {
            Self::Attached(queue) => queue.requests().collect(),
            Self::Detached(away) => {
                let posted = away.posted.iter().map(|(request, _)| *request);
                away.requests.iter().copied().chain(posted).collect()
            }
        }
    }

    pub(in crate::transport::smartmap) fn post(
        &mut self,
        request: LocalRequestId,
        ranks: NodeRanks,
        spare: &mut SpareBuffers,
        make: impl FnOnce(&LocalGroup, NodeRanks, &mut SpareBuffers) -> Box<dyn CollectiveMachine>
        + Send
        + 'static,
    ) {
        match self {
            Self::Attached(queue) => {
                let posted = make(&queue.group, ranks, spare);
                queue.post(request, posted);
            }
            Self::Detached(away) => away.posted.push((request, Box::new(make))),
        }
    }
}

impl DetachedState {
    /// Closes the communicator for this rank.
    pub(in crate::transport::smartmap) fn close(&mut self) {
        self.closed = true;
    }
}
