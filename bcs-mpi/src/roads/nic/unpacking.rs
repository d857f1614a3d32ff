//! What the NIC has put into a room and is long: it is unpacked without the endpoint's lock, by an errand.
#![expect(
    unsafe_code,
    reason = "fills the program's buffer with what came packed"
)]

use super::Nic;
use super::requests::Purpose;
use crate::data::{LONG_BYTES, Piece, Room, scatter};
use bcs_core::request::{Failure, RequestId};
use std::collections::VecDeque;

/// Receives of which the room is being unpacked, or has been.
#[derive(Debug, Default)]
pub(super) struct Unpacking {
    /// With the room, if it has.
    begun: Vec<(RequestId, Option<Room>)>,
    errands: VecDeque<Unpack>,
}

/// To unpack what the NIC has put into a room.
#[derive(Debug)]
pub(crate) struct Unpack {
    request: RequestId,
    into: Piece,
    room: Room,
    len: usize,
}

impl Unpacking {
    fn is_done(&self, request: RequestId) -> Option<bool> {
        let mut begun = self.begun.iter();
        let (_, room) = begun.find(|(known, _)| *known == request)?;
        Some(room.is_some())
    }

    /// The room of a receive that was unpacked by an errand, if it was.
    pub(super) fn take(&mut self, request: RequestId) -> Option<Room> {
        let at = self.begun.iter().position(|(known, _)| *known == request)?;
        self.begun.swap_remove(at).1
    }
}

impl Unpack {
    /// Does it. No lock is held.
    pub(crate) fn run(&mut self) {
        let bytes = self.room.bytes(self.len);
        // SAFETY: whoever posted the request promised that this may be written until it is done.
        unsafe { scatter(&self.into, 0, bytes) };
    }

    /// What waits for it.
    pub(crate) fn request(&self) -> RequestId {
        self.request
    }
}

impl Nic {
    /// Whether there is something to unpack without the lock.
    #[inline]
    pub(crate) fn has_errands(&self) -> bool {
        !self.unpacking.errands.is_empty()
    }

    /// The next of it that belongs to a request which `is_mine`. It has to be [brought back](Self::brought).
    pub(crate) fn take_errand(&mut self, is_mine: impl Fn(RequestId) -> bool) -> Option<Unpack> {
        let errands = &mut self.unpacking.errands;
        let next = errands.iter().position(|errand| is_mine(errand.request))?;
        errands.remove(next)
    }

    /// It has been done.
    pub(crate) fn brought(&mut self, done: Unpack) {
        let mut begun = self.unpacking.begun.iter_mut();
        let begun = begun.find(|(request, _)| *request == done.request);
        begun.expect("it was begun").1 = Some(done.room);
    }

    /// Whether what the NIC has completed is where it belongs. A long message that came packed is unpacked by
    /// an errand, which this begins.
    pub(super) fn is_unpacked(&mut self, request: RequestId) -> bool {
        if let Some(is_done) = self.unpacking.is_done(request) {
            return is_done;
        }
        let Some(Purpose::Receive { into, room, .. }) = self.requests.if_live_mut(request) else {
            return true;
        };
        if room.is_none() || into.len <= LONG_BYTES {
            return true;
        }
        let Some(completion) = self.memory.completion(request) else {
            return false;
        };
        let came = matches!(completion.failure, Failure::None | Failure::Truncated);
        let len = usize::try_from(completion.len).unwrap_or(usize::MAX);
        let len = len.min(into.len);
        if !came || len <= LONG_BYTES {
            return true;
        }
        let Some(room) = room.take() else {
            return true;
        };
        let into = into.clone();
        self.unpacking.begun.push((request, None));
        self.unpacking.errands.push_back(Unpack {
            request,
            into,
            room,
            len,
        });
        false
    }
}
