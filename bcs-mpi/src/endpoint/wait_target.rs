//! What a wait is for.

use super::request::{OperationId, Request};
use crate::transport::TransportHandle;
use bcs_core::wait_state::WaitReason;
use std::cell::Cell;

/// What a wait is for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum WaitTarget<'a> {
    /// One request.
    Request(Request),
    /// All of these but the first so many, which have been taken.
    All(&'a [Request], &'a Cell<usize>),
    /// Any of these.
    Any(&'a [Request]),
    /// Something that has a name.
    Wait(WaitReason),
}

impl WaitTarget<'_> {
    /// Whether it may come piece by piece.
    pub(crate) fn is_several(&self) -> bool {
        matches!(
            self,
            Self::All(..) | Self::Any(_) | Self::Wait(WaitReason::Sends)
        )
    }

    /// Whether only ranks of this node are waited for.
    pub(crate) fn is_local(&self) -> bool {
        let near = |request: &Request| {
            let OperationId::Transport(handle) = request.0 else {
                return false;
            };
            matches!(
                handle,
                TransportHandle::Local(_) | TransportHandle::Complete(_)
            )
        };
        match self {
            Self::Request(request) => near(request),
            Self::All(requests, taken) => requests[taken.get()..].iter().all(near),
            Self::Any(_) | Self::Wait(_) => false,
        }
    }
}
