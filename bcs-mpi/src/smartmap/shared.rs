//! Long copies, which both sides of a transfer share ([`bcs_core::memory::shared_copy`]).
#![expect(unsafe_code, reason = "messages are named by address")]

use super::SmartMap;
use super::requests::{Id, State};
use super::road::Unreachable;
use crate::bcs::Piece;
use bcs_core::layout::Location;
use bcs_core::memory::READ_ONLY;
use bcs_core::memory::shared_copy::{CHUNK_BYTES, SharedCopy};
use bcs_core::waiting::{self, Patience};
use std::sync::atomic::Ordering;

/// Messages that are shorter are fetched by their receivers: they come out of caches, and the sender
/// would have to be fast to find anything left.
pub(super) const LEAST_BYTES: usize = 1 << 20;

/// The bytes of a chunk of a message.
fn chunk_of(chunk: usize, len: usize) -> (usize, usize) {
    let start = chunk * CHUNK_BYTES;
    (start, CHUNK_BYTES.min(len - start))
}

impl SmartMap {
    /// Fetches the first `len` bytes of a message, with the help of its sender if that pays.
    ///
    /// # Safety
    /// The piece may be written, and nobody else uses it.
    pub(super) unsafe fn fetch(
        &self,
        (place, transfer): (usize, Option<Id>),
        from: Location,
        into: &Piece,
        len: usize,
    ) -> Result<(), Unreachable> {
        let is_plain = from.layout.is_none() && into.layout.is_none();
        let long = len >= LEAST_BYTES && is_plain && place != self.place;
        let offered = transfer.filter(|_| long).and_then(|id| {
            let to = (into.address, len);
            SharedCopy::offer(&self.node, (place, id), std::process::id(), to)
        });
        let Some(copy) = offered else {
            // SAFETY: the caller's promise.
            return unsafe { self.road.fetch(&self.node, place, from, into, len) };
        };
        if self.page.cores_suffice() {
            self.ring(place);
        }
        let (mut mine, mut fetched) = (0, Ok(()));
        while let Some(chunk) = copy.claim() {
            mine += 1;
            let (start, bytes) = chunk_of(chunk, len);
            let from = Location::at(from.address.wrapping_add(start as u64));
            let into = Piece::new(into.address + start as u64, bytes);
            // SAFETY: the caller's promise; nobody else has claimed this part of it.
            let moved = unsafe { self.road.fetch(&self.node, place, from, &into, bytes) };
            fetched = fetched.and(moved);
        }
        // Whatever has come of it: the sender may be writing into the piece.
        let mut copied = copy.is_copied(mine);
        waiting::wait(copy.bell(), &self.page, None, Patience::RANK, || {
            copied = copy.is_copied(mine);
            copied.is_some()
        });
        if fetched.is_ok() && copied != Some(true) {
            // SAFETY: the caller's promise, and the sender has no part in it any more.
            return unsafe { self.road.fetch(&self.node, place, from, into, len) };
        }
        fetched
    }

    /// Takes part in the copy of a message of this rank's, if its receiver offers that.
    pub(super) fn help(&mut self, id: Id) {
        let Some(State::Sent { to, data }) = self.requests.state(id) else {
            return;
        };
        let (to, from, most) = (to.rank, data.address, data.len);
        let is_plain = data.layout.is_none();
        let Some(place) = to.and_then(|rank| self.place_of(rank)).filter(|_| is_plain) else {
            return;
        };
        let transfer = (self.place, id);
        let process = self.node.process(place).load(Ordering::Acquire);
        let offerer = process & !READ_ONLY;
        while let Some((copy, into, len)) = SharedCopy::offered(&self.node, transfer, offerer, most)
        {
            if !self.road.leads_to((place, process), into, len) {
                return;
            }
            let Some(chunk) = copy.claim() else {
                return;
            };
            let (start, bytes) = chunk_of(chunk, len);
            let (from, into) = (from + start as u64, into.wrapping_add(start as u64));
            // SAFETY: the data are initialised, and nobody writes them until the request is done.
            let data = unsafe { crate::bcs::bytes(from, bytes) };
            let brought = self.road.bring((place, process), data, into);
            copy.copied(brought.is_ok());
            self.page.wake(copy.bell());
        }
    }
}
