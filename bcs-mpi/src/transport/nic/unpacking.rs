//! What the NIC has put into a room and is long: it is unpacked without the endpoint's lock, by an errand.

use crate::data::{DataView, PackBuffer, scatter};
use bcs_core::request::RequestId;
use std::collections::VecDeque;

/// Receives of which the room is being unpacked, or has been.
#[derive(Debug, Default)]
pub(super) struct UnpackQueue {
    /// With the room, if it has.
    begun: Vec<(RequestId, Option<PackBuffer>)>,
    errands: VecDeque<DeferredUnpack>,
}

/// To unpack what the NIC has put into a room.
#[derive(Debug)]
pub(crate) struct DeferredUnpack {
    pub(super) request: RequestId,
    pub(super) into: DataView,
    pub(super) room: PackBuffer,
    pub(super) len: usize,
}

impl UnpackQueue {
    /// Begins to unpack what a receive has got.
    pub(super) fn begin(&mut self, errand: DeferredUnpack) {
        self.begun.push((errand.request, None));
        self.errands.push_back(errand);
    }

    /// Whether there is an errand.
    #[inline]
    pub(super) fn has_errands(&self) -> bool {
        !self.errands.is_empty()
    }

    /// The next one that belongs to a request which `is_mine`.
    pub(super) fn next(&mut self, is_mine: impl Fn(RequestId) -> bool) -> Option<DeferredUnpack> {
        let errands = &mut self.errands;
        let next = errands.iter().position(|errand| is_mine(errand.request))?;
        errands.remove(next)
    }

    /// It has been done.
    pub(super) fn brought(&mut self, done: DeferredUnpack) {
        let mut begun = self.begun.iter_mut();
        let begun = begun.find(|(request, _)| *request == done.request);
        begun.expect("it was begun").1 = Some(done.room);
    }

    pub(super) fn is_done(&self, request: RequestId) -> Option<bool> {
        let mut begun = self.begun.iter();
        let (_, room) = begun.find(|(known, _)| *known == request)?;
        Some(room.is_some())
    }

    /// The room of a receive that was unpacked by an errand, if it was.
    pub(super) fn take(&mut self, request: RequestId) -> Option<PackBuffer> {
        let at = self.begun.iter().position(|(known, _)| *known == request)?;
        self.begun.swap_remove(at).1
    }
}

impl DeferredUnpack {
    /// Does it. No lock is held.
    pub(crate) fn run(&mut self) {
        let bytes = self.room.bytes(self.len);
        scatter(&self.into, 0, bytes);
    }

    /// What waits for it.
    pub(crate) fn request(&self) -> RequestId {
        self.request
    }
}
