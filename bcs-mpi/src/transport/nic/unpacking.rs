//! Long messages that the NIC has put into a pack buffer. A deferred copy unpacks them without the
//! endpoint's lock.

use crate::data::{DataView, PackBuffer, scatter};
use bcs_core::request::RequestId;
use std::collections::VecDeque;

/// Receives whose pack buffer is being unpacked, or has been.
#[derive(Debug, Default)]
pub(super) struct UnpackQueue {
    /// With the buffer, once it is unpacked.
    begun: Vec<(RequestId, Option<PackBuffer>)>,
    errands: VecDeque<DeferredUnpack>,
}

/// Unpacks a buffer that the NIC has filled.
#[derive(Debug)]
pub(crate) struct DeferredUnpack {
    pub(super) request: RequestId,
    pub(super) into: DataView,
    pub(super) room: PackBuffer,
    pub(super) len: usize,
}

impl UnpackQueue {
    /// Begins to unpack the message of a receive.
    pub(super) fn begin(&mut self, errand: DeferredUnpack) {
        self.begun.push((errand.request, None));
        self.errands.push_back(errand);
    }

    /// Returns whether there is a deferred copy to run.
    #[inline]
    pub(super) fn has_errands(&self) -> bool {
        !self.errands.is_empty()
    }

    /// Takes the next one of a request which `is_mine`.
    pub(super) fn next(&mut self, is_mine: impl Fn(RequestId) -> bool) -> Option<DeferredUnpack> {
        let errands = &mut self.errands;
        let next = errands.iter().position(|errand| is_mine(errand.request))?;
        errands.remove(next)
    }

    /// Takes back one that was run.
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

    /// Returns the buffer of a receive that a deferred copy has unpacked, if it was.
    pub(super) fn take(&mut self, request: RequestId) -> Option<PackBuffer> {
        let at = self.begun.iter().position(|(known, _)| *known == request)?;
        self.begun.swap_remove(at).1
    }
}

impl DeferredUnpack {
    /// Does the work. The caller holds no lock.
    pub(crate) fn run(&mut self) {
        let bytes = self.room.bytes(self.len);
        scatter(&self.into, 0, bytes);
    }

    /// Returns the request that waits for it.
    pub(crate) fn request(&self) -> RequestId {
        self.request
    }
}
