//! What a wait is for.

use super::request::{Kind, Request};
use crate::roads::Handle;
use bcs_core::whereabouts::Wait;
use std::cell::Cell;

/// What a wait is for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum What<'a> {
    /// One request.
    Request(Request),
    /// All of these but the first so many, which have been taken.
    All(&'a [Request], &'a Cell<usize>),
    /// Any of these.
    Any(&'a [Request]),
    /// Something that has a name.
    Wait(Wait),
}

impl What<'_> {
    /// Whether it may come piece by piece.
    pub(crate) fn is_several(&self) -> bool {
        matches!(self, Self::All(..) | Self::Any(_) | Self::Wait(Wait::Sends))
    }

    /// Whether only ranks of this node are waited for.
    pub(crate) fn is_near(&self) -> bool {
        let near = |request: &Request| {
            let Kind::Road(handle) = request.0 else {
                return false;
            };
            matches!(handle, Handle::Near(_) | Handle::Complete(_))
        };
        match self {
            Self::Request(request) => near(request),
            Self::All(requests, taken) => requests[taken.get()..].iter().all(near),
            Self::Any(_) | Self::Wait(_) => false,
        }
    }
}
