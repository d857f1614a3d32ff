//! Copies without the endpoint's lock: long ones that both sides of a transfer share
//! ([`bcs_core::smartmap::shared_copy`]), and those that follow a sender which packs
//! ([`bcs_core::smartmap::packing`]).
#![expect(unsafe_code, reason = "messages are named by address")]

use super::envelope::ScatteredSource;
use super::same_layout::SameLayoutCopy;
use crate::data::DataView;
use crate::transport::smartmap::peer_memory::{FetchError, PeerMemory};
use crate::transport::smartmap::requests::LocalRequestId;
use bcs_core::layout::Location;
use bcs_core::limits::{LEAST_SHARED_BYTES, SHARED_CHUNK_BYTES};
use bcs_core::smartmap::packing::PackingProgress;
use bcs_core::smartmap::shared_copy::{CopyShape, SharedCopy};
use bcs_core::smartmap::{NodeMemory, READ_ONLY};
use bcs_core::wake::MachinePage;
use bcs_core::wake::waiting::{self, WaitPolicy};
use std::ops::Range;
use std::sync::atomic::Ordering;

/// The parts of the rank that copies need. It is a separate handle, since copies use it without the
/// lock.
#[derive(Clone, Debug)]
pub(in crate::transport::smartmap) struct Copier {
    pub(in crate::transport::smartmap) node: NodeMemory,
    pub(in crate::transport::smartmap) page: MachinePage,
    pub(in crate::transport::smartmap) peer_memory: PeerMemory,
    /// This rank's place.
    pub(in crate::transport::smartmap) place: usize,
}

/// A message of this rank, whose receiver leaves a part of the copy to the sender.
#[derive(Debug)]
pub(crate) struct CopyHelp {
    pub(in crate::transport::smartmap) copier: Copier,
    pub(in crate::transport::smartmap) id: LocalRequestId,
    pub(in crate::transport::smartmap) to: usize,
    pub(in crate::transport::smartmap) data: DataView,
}

/// Returns the bytes of a chunk of a message.
pub(super) fn chunk_of(chunk: usize, len: usize) -> Range<usize> {
    let start = chunk * SHARED_CHUNK_BYTES;
    start..len.min(start + SHARED_CHUNK_BYTES)
}

impl CopyHelp {
    /// Takes part in the copy. The caller holds no lock.
    pub(in crate::transport::smartmap) fn run(&self) {
        self.copier.help(self.id, self.to, &self.data);
    }
}

/// Wakes a sender whose memory will be replaced and which waits until more of its message is
/// fetched.
pub(in crate::transport::smartmap) fn ring_sender(
    node: &NodeMemory,
    page: &MachinePage,
    which: (usize, LocalRequestId),
) {
    if let Some(bell) = SharedCopy::sender_bell(node, which) {
        page.wake(bell);
    }
}

impl Copier {
    /// Fetches the first `len` bytes of a message, with the help of its sender if that is faster.
    pub(in crate::transport::smartmap) fn fetch(
        &self,
        (place, transfer): (usize, Option<LocalRequestId>),
        from: Location,
        into: &DataView,
        len: usize,
    ) -> Result<(), FetchError> {
        let is_plain = from.layout.is_none() && into.layout().is_none();
        let long = len >= LEAST_SHARED_BYTES && is_plain && place != self.place;
        let fetch = |part| self.peer_memory.fetch(&self.node, place, from, into, part);
        match transfer.filter(|_| long) {
            Some(id) => self.share((place, id), (into.address(), len), CopyShape::Plain, fetch),
            None => fetch(0..len),
        }
    }

    /// Offers the sender of a message a shared copy to this address, and copies together with it.
    /// `fetch` gets the parts that this rank has to fetch.
    fn share(
        &self,
        (place, transfer): (usize, LocalRequestId),
        to: (u64, usize),
        shape: CopyShape,
        fetch: impl Fn(Range<usize>) -> Result<(), FetchError>,
    ) -> Result<(), FetchError> {
        let (which, len) = ((place, transfer), to.1);
        let offered = SharedCopy::offer(&self.node, which, std::process::id(), to, shape);
        let Some(copy) = offered else {
            return fetch(0..len);
        };
        if self.page.cores_suffice() {
            self.page.wake(self.node.bell(place));
        }
        let (mut mine, mut fetched) = (0, Ok(()));
        while let Some(chunk) = copy.claim() {
            mine += 1;
            // No other thread has claimed this part of it.
            fetched = fetched.and(fetch(chunk_of(chunk, len)));
        }
        // Waits even after a failure: the sender may be writing into the data view.
        let mut copied = copy.is_copied(mine);
        waiting::wait(copy.bell(), &self.page, None, WaitPolicy::RANK, || {
            copied = copy.is_copied(mine);
            copied.is_some()
        });
        if fetched.is_ok() && copied != Some(true) {
            return fetch(0..len); // The sender has left the copy.
        }
        fetched
    }

    /// Fetches the first `len` bytes of a message, while its sender is packing `all` bytes of it at
    /// an address. It fetches the packed bytes, or the pieces themselves.
    pub(in crate::transport::smartmap) fn follow(
        &self,
        (place, transfer): (usize, Option<LocalRequestId>),
        (from, all, pieces): (u64, usize, ScatteredSource),
        into: &DataView,
        len: usize,
    ) -> Result<(), FetchError> {
        let packing = transfer.and_then(|id| PackingProgress::of_transfer(&self.node, place, id));
        let Some(packing) = packing else {
            return Err(FetchError::Fault); // There is no such transfer.
        };
        let all_packed = || packing.bytes() as usize >= all;
        if let Some(id) = transfer.filter(|_| place != self.place && !all_packed())
            && let Some(alike) = SameLayoutCopy::of((&self.peer_memory, place), pieces, into, len)
        {
            let fetch = |part| {
                alike.copy(part);
                Ok(())
            };
            return self.share(
                (place, id),
                (into.address(), len),
                CopyShape::InPieces,
                fetch,
            );
        }
        let more_than = |done: usize| {
            let mut packed = done;
            waiting::wait(packing.bell(), &self.page, None, WaitPolicy::RANK, || {
                packed = packing.bytes() as usize;
                packed > done
            });
            packed
        };
        let mut done = 0;
        while done < len {
            let part = done..more_than(done).min(len);
            done = part.end;
            let moved = {
                let from = Location::contiguous(from);
                self.peer_memory.fetch(&self.node, place, from, into, part)
            };
            if moved == Err(FetchError::Closed) {
                // The receiver will request it in parts. They are there when all is packed.
                more_than(all.saturating_sub(1));
            }
            moved?;
        }
        Ok(())
    }

    /// Wakes a sender, as [`ring_sender`] does.
    pub(in crate::transport::smartmap) fn ring_sender(&self, which: (usize, LocalRequestId)) {
        ring_sender(&self.node, &self.page, which);
    }

    /// Takes part in the copy of this rank's message to a place, as its receiver offers.
    fn help(&self, id: LocalRequestId, to: usize, data: &DataView) {
        let process = self.node.process_id(to).load(Ordering::Acquire);
        let offerer = process & !READ_ONLY;
        let which = (self.place, id);
        let Some(data) = data.plain() else {
            return;
        };
        let offered =
            || SharedCopy::find_offer(&self.node, which, offerer, data.len(), CopyShape::Plain);
        while let Some((copy, into, len)) = offered() {
            if !self.peer_memory.leads_to((to, process), into, len) {
                return;
            }
            let Some(chunk) = copy.claim() else {
                return;
            };
            let part = chunk_of(chunk, len);
            let into = into.wrapping_add(part.start as u64);
            // SAFETY: the message is being sent, so nothing writes it.
            let data = unsafe { data.part(part).bytes() };
            let brought = self.peer_memory.bring((to, process), data, into);
            copy.report_copied(brought.is_ok());
            self.page.wake(copy.bell());
        }
    }

    /// Does the same for a message in pieces, if its receiver offers that. Returns whether it did.
    /// The receiver needs nothing else then.
    pub(in crate::transport::smartmap) fn help_alike(
        &self,
        id: LocalRequestId,
        to: usize,
        data: &DataView,
    ) -> bool {
        let process = self.node.process_id(to).load(Ordering::Acquire);
        let (which, offerer) = ((self.place, id), process & !READ_ONLY);
        let offered =
            SharedCopy::find_offer(&self.node, which, offerer, data.len(), CopyShape::InPieces);
        let Some((copy, into, len)) = offered else {
            return false;
        };
        let Some(alike) = SameLayoutCopy::to((&self.peer_memory, to), data, into, len) else {
            return false;
        };
        while let Some(chunk) = copy.claim() {
            alike.copy(chunk_of(chunk, len));
            copy.report_copied(true);
            self.page.wake(copy.bell());
        }
        true
    }
}
