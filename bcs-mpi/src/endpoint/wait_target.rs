//! The target of a wait.

use super::request::{OperationId, Request};
use crate::transport::TransportHandle;
use bcs_core::wait_state::WaitReason;
use std::cell::Cell;

/// The target of a wait.
#[derive(Clone, Copy, Debug)]
pub(crate) enum WaitTarget<'a> {
    /// One request.
    Request(Request),
    /// All of these but the first ones, of this number, which have been taken.
    All(&'a [Request], &'a Cell<usize>),
    /// Any of these.
    Any(&'a [Request]),
    /// A wait with a reason of its own.
    Wait(WaitReason),
}

impl WaitTarget<'_> {
    /// Returns whether it may be satisfied in several parts.
    pub(crate) fn is_several(&self) -> bool {
        matches!(
            self,
            Self::All(..) | Self::Any(_) | Self::Wait(WaitReason::Sends)
        )
    }

    /// Returns whether only ranks of this node are waited for.
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
