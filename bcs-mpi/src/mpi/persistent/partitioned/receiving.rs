//! The receiver of a partitioned message.
#![expect(unsafe_code, reason = "buffers are named by address")]

use super::offer::{CHOOSE, Offer, memory};
use crate::bcs::{
    Blocking, DataView, Endpoint, OutgoingMessage, ReceiveOutcome, Request, SendMode,
    TooManyRequests, copy,
};
use crate::data::{Scratch, start};
use crate::endpoint::{AsyncOperation, OperationContext, OperationId, WaitTarget, succeeded};
use crate::mpi::error::{Operation, Result};
use crate::mpi::objects::context_ids::{PART_MESSAGES, PART_OFFERS};
use crate::mpi::objects::part_tags::{PartTags, tag_of, tag_of_answer};
use crate::mpi::request::CompletionHandler;
use crate::mpi::{Buffer, Comm, Datatype, Status};
use crate::transport::{Mux, RequestOutcome, TransportHandle};
use bcs_core::check_bits::CheckBits;
use bcs_core::lockstep;
use bcs_core::matching::Pattern;
use bcs_core::request::RequestFailure;
use bcs_core::wait_state::WaitReason;
use std::sync::{Arc, Mutex, MutexGuard};

/// The receiver's state. The endpoint's lock is taken before this one.
#[derive(Debug)]
pub(super) struct PartitionedReceive {
    context: u32,
    from: u32,
    /// The sender's rank in the communicator, and the tag of the call.
    status: (i32, i32),
    tags: Arc<PartTags>,
    /// The number of parts as the program sees them, and the length of each.
    cut: (usize, usize),
    into: ReceiveBuffer,
    state: Mutex<ReceiveProgress>,
}

/// The destination: a buffer, by an address that any thread may use.
#[derive(Debug)]
struct ReceiveBuffer {
    address: u64,
    count: usize,
    datatype: Datatype,
}

#[derive(Debug, Default)]
struct ReceiveProgress {
    offer: Box<Offer>,
    /// The receive of the offer, until the offer has come.
    asked: Option<TransportHandle>,
    /// The tag of the first part.
    first_tag: u64,
    /// The same tag, if this receiver has chosen it, until the sender has received it.
    answer: Option<Box<[u64; 1]>>,
    /// The send of the answer.
    answering: Option<TransportHandle>,
    /// The length of each of the sender's parts, as the offer reports it.
    len: usize,
    /// The destinations of the sender's parts.
    places: Vec<DataView>,
    /// Memory for the parts, if they cannot be received at their destinations.
    scratch: Scratch,
    /// All parts there, if they must still be unpacked in this start.
    packed: Option<DataView>,
    /// Their receives, as far as they are posted; `None` for those that have come.
    receives: Vec<Option<TransportHandle>>,
    /// All parts before this one have come.
    first: usize,
    started: bool,
    failed: Option<RequestOutcome>,
}

impl ReceiveBuffer {
    fn buffer(&self) -> Buffer {
        let address = start(self.address);
        // SAFETY: the maker of the buffer has promised it.
        unsafe { Buffer::new(address, self.count, self.datatype.clone()) }
    }

    fn piece(&self, buffer: &Buffer) -> DataView {
        let piece = buffer.piece(&Operation::plain("MPI_Precv_init"));
        piece.unwrap_or(DataView::EMPTY) // Not the part of a buffer that the init has checked.
    }

    fn whole(&self) -> DataView {
        self.piece(&self.buffer())
    }

    /// Returns the data of `len` bytes from there on, if they are whole elements, or lie side by
    /// side. Bytes beyond the end are left out.
    fn part(&self, from: usize, len: usize) -> Option<DataView> {
        let size = self.datatype.size().max(1);
        if !from.is_multiple_of(size) || !len.is_multiple_of(size) {
            let plain = self.whole().plain()?;
            let end = plain.len().min(from.saturating_add(len));
            return Some(plain.part(from.min(end)..end).into());
        }
        let (first, count) = (from / size, len / size);
        let count = count.min(self.count.saturating_sub(first));
        let extent = isize::try_from(self.datatype.extent().1).unwrap_or(isize::MAX);
        let first = isize::try_from(first).unwrap_or(isize::MAX);
        Some(self.piece(&self.buffer().part(extent.saturating_mul(first), count)))
    }
}

impl PartitionedReceive {
    pub(super) fn new(
        (context, from): (u32, u32),
        status: (i32, i32),
        tags: Arc<PartTags>,
        cut: (usize, usize),
        into: Buffer,
    ) -> Self {
        let into = ReceiveBuffer {
            address: into.address(),
            count: into.count(),
            datatype: into.datatype().clone(),
        };
        Self {
            context,
            from,
            status,
            tags,
            cut,
            into,
            state: Mutex::default(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, ReceiveProgress> {
        lockstep::lock(&self.state)
    }

    /// Posts the receive of the sender's offer.
    pub(super) fn ask(&self, endpoint: &Endpoint) -> std::result::Result<(), TooManyRequests> {
        let pattern = Pattern {
            context: self.context | PART_OFFERS,
            source: Some(self.from),
            tag: Some(self.status.1),
        };
        let place = memory(&mut *self.lock().offer).into();
        let mut outcome = RequestOutcome::default();
        let asked = match endpoint.bcs_recv(pattern, &place, &mut outcome)? {
            ReceiveOutcome::Received => TransportHandle::Complete(outcome.len),
            ReceiveOutcome::Posted(Request(OperationId::Transport(handle))) => handle,
            ReceiveOutcome::Posted(_) => unreachable!("a receive is posted on a road"),
        };
        self.lock().asked = Some(asked);
        Ok(())
    }

    /// Gives up a message that will not be started again. Its offer is still received, so that no
    /// other receive takes it.
    pub(super) fn give_up(&self, endpoint: &Endpoint) {
        let mut parts = self.lock();
        if parts.started {
            return;
        }
        let Some(asked) = parts.asked.take() else {
            return;
        };
        let offer = std::mem::take(&mut parts.offer);
        drop(parts);
        endpoint.bcs_free(Request(OperationId::Transport(asked)), offer);
    }

    /// Returns the memory of a part as the program sees it.
    pub(super) fn place(&self, part: usize) -> Option<DataView> {
        let (_, len) = self.cut;
        self.into.part(part.saturating_mul(len), len)
    }

    /// Begins a start, in which no part has come.
    pub(super) fn start(&self) {
        let mut parts = self.lock();
        parts.receives.clear();
        parts.first = 0;
        parts.started = true;
    }

    /// Accepts the sender's offer. Its values are checked before they are used: if parts are too
    /// long, or too many, as much as there is room for is received, and they are truncated.
    ///
    /// # Errors
    /// When the receiver is to choose tags, and no tags are free.
    fn accept(&self, parts: &mut ReceiveProgress) -> std::result::Result<(), RequestFailure> {
        let [first, count, len, _] = *parts.offer;
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        parts.first_tag = first;
        if first == CHOOSE {
            parts.first_tag = self.tags.choose(count).ok_or(RequestFailure::TableFull)?;
            parts.answer = Some(Box::new([parts.first_tag]));
        }
        let count = count.min(MOST_PARTS);
        parts.len = usize::try_from(len).unwrap_or(0);
        let room = self.into.whole().len();
        let place = |part: usize| {
            let from = part.saturating_mul(parts.len).min(room);
            self.into.part(from, parts.len.min(room - from))
        };
        let places: Option<Vec<DataView>> = (0..count).map(place).collect();
        parts.places = places.unwrap_or_else(|| {
            let scratch = parts.scratch.plain(room);
            let part = |part: usize| {
                let from = part.saturating_mul(parts.len).min(room);
                scratch.part(from..room.min(from.saturating_add(parts.len)))
            };
            parts.packed = Some(scratch.into());
            (0..count).map(|at| part(at).into()).collect()
        });
        Ok(())
    }

    /// Sends the sender the tags of its parts, if it has requested them. Returns whether it knows
    /// them.
    fn answer(&self, parts: &mut ReceiveProgress, roads: &mut Mux, posted: &mut bool) -> bool {
        let Some(answer) = &mut parts.answer else {
            return true;
        };
        if parts.answering.is_none() {
            let message = OutgoingMessage {
                context: self.context | PART_OFFERS,
                destination: self.from,
                tag: tag_of_answer(parts.offer[3]),
                data: &memory(&mut **answer).into(),
                mark: CheckBits::NONE,
            };
            parts.answering = roads.send(SendMode::Standard, &message).ok();
            *posted |= parts.answering.is_some();
        }
        if parts
            .answering
            .and_then(|handle| roads.take(handle))
            .is_none()
        {
            return false;
        }
        // A sender that the answer could not reach is gone, and its parts with it.
        (parts.answering, parts.answer) = (None, None);
        true
    }

    /// Takes the parts that have come. Returns whether these are all.
    fn take(
        &self,
        parts: &mut ReceiveProgress,
        roads: &mut Mux,
        which: std::ops::Range<usize>,
    ) -> bool {
        for part in which {
            match parts.receives.get(part) {
                None => return false,
                Some(None) => {}
                Some(Some(handle)) => {
                    let Some(outcome) = roads.take(*handle) else {
                        return false;
                    };
                    parts.receives[part] = None;
                    if succeeded(&outcome).is_err() {
                        parts.failed.get_or_insert(outcome);
                    }
                }
            }
        }
        true
    }

    /// Returns whether one of the program's parts has come.
    pub(super) fn arrived(&self, endpoint: &Endpoint, partition: usize) -> bool {
        let what = WaitTarget::Wait(WaitReason::Request);
        let came = endpoint.poll_or_wait(Blocking::No, what, |state| {
            let mut parts = self.lock();
            if !parts.started {
                return Some(());
            }
            if parts.asked.is_some() || parts.receives.len() < parts.places.len() {
                return None;
            }
            let (from, len) = (partition * self.cut.1, self.cut.1);
            let end = from + len;
            let which = match (parts.len, parts.packed.is_some()) {
                // Parts without bytes are distinguished by their numbers.
                (0, _) => {
                    let (count, own) = (parts.places.len(), self.cut.0.max(1));
                    partition * count / own..((partition + 1) * count).div_ceil(own)
                }
                (_, true) => 0..parts.places.len(),
                (own, false) => from / own..end.div_ceil(own).min(parts.places.len()),
            };
            self.take(&mut parts, &mut state.mux, which).then_some(())
        });
        if came.is_some() {
            self.unpack();
        }
        came.is_some()
    }

    /// Unpacks the parts that could not be received at their destinations, when all have come.
    fn unpack(&self) {
        let parts = self.lock();
        if let Some(packed) = &parts.packed {
            copy(packed, &self.into.whole());
        }
    }
}

impl CompletionHandler for PartitionedReceive {
    fn finish(&self, _: &Comm, outcome: &RequestOutcome, operation: Operation) -> Result<Status> {
        if succeeded(outcome).is_err() {
            return Err(operation.failure(outcome.failure, outcome.len));
        }
        self.unpack();
        let (source, tag) = self.status;
        Ok(Status {
            source,
            tag,
            bytes: outcome.len,
            cancelled: false,
        })
    }
}

/// The largest number of parts that a sender may report.
const MOST_PARTS: usize = 1 << 24;

impl Drop for PartitionedReceive {
    fn drop(&mut self) {
        let parts = self.lock();
        // As long as a part may come, no other part gets its tag.
        if parts.answering.is_none() && parts.receives.iter().all(Option::is_none) {
            self.tags.unchoose(parts.first_tag);
        }
    }
}

impl Drop for ReceiveProgress {
    fn drop(&mut self) {
        if self.asked.is_some() {
            std::mem::forget(std::mem::take(&mut self.offer));
        }
        if self.answering.is_some() {
            std::mem::forget(self.answer.take());
        }
        if self.receives.iter().any(Option::is_some) {
            self.scratch.leave();
        }
    }
}

/// A start of the receive.
#[derive(Debug)]
pub(super) struct ReceiveOperation(pub(super) Arc<PartitionedReceive>);

impl AsyncOperation for ReceiveOperation {
    fn advance(
        &mut self,
        at: &mut dyn OperationContext,
        posted: &mut bool,
    ) -> Option<RequestOutcome> {
        let receiving = &*self.0;
        let mut parts = receiving.lock();
        if let Some(asked) = parts.asked {
            let outcome = at.mux().take(asked)?;
            parts.asked = None;
            if succeeded(&outcome).is_err() {
                parts.started = false;
                return Some(outcome);
            }
            if let Err(failure) = receiving.accept(&mut parts) {
                parts.started = false;
                return Some(RequestOutcome {
                    failure,
                    ..RequestOutcome::default()
                });
            }
        }
        let knows = receiving.answer(&mut parts, at.mux(), posted);
        let first_tag = parts.first_tag;
        while let Some(place) = parts.places.get(parts.receives.len()) {
            let tag = tag_of(first_tag, parts.receives.len());
            let on = (receiving.from, receiving.context | PART_MESSAGES, tag);
            let Ok(handle) = at.mux().receive_from(on, place.clone()) else {
                break;
            };
            *posted = true;
            parts.receives.push(Some(handle));
        }
        while parts.first < parts.places.len() {
            let next = parts.first..parts.first + 1;
            if !receiving.take(&mut parts, at.mux(), next) {
                return None;
            }
            parts.first += 1;
        }
        if !knows {
            return None;
        }
        parts.started = false;
        let len = (parts.places.len() * parts.len) as u64;
        Some(parts.failed.take().unwrap_or(RequestOutcome {
            len,
            ..RequestOutcome::default()
        }))
    }

    fn awaits(&self) -> Vec<TransportHandle> {
        let parts = self.0.lock();
        let answering = parts.answering.into_iter();
        match parts.asked {
            Some(asked) => vec![asked],
            None => answering
                .chain(parts.receives.iter().flatten().copied())
                .collect(),
        }
    }
}
