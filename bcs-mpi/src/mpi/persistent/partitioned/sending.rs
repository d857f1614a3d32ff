//! The sender of a partitioned message.

use super::offer::{CHOOSE, Offer, memory};
use crate::bcs::{DataView, Endpoint, OutgoingMessage, Request, SendMode, TooManyRequests};
use crate::endpoint::{AsyncOperation, OperationContext, OperationId, succeeded};
use crate::mpi::objects::context_ids::{PART_MESSAGES, PART_OFFERS};
use crate::mpi::objects::part_tags::{PartTags, tag_of, tag_of_answer};
use crate::transport::{Mux, RequestOutcome, TransportHandle};
use bcs_core::check_bits::CheckBits;
use bcs_core::lockstep;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard};

/// The sender's state. The endpoint's lock is taken before this one.
#[derive(Debug)]
pub(super) struct PartitionedSend {
    context: u32,
    to: u32,
    tags: Arc<PartTags>,
    /// The number of the answer, if the receiver is to choose the tags.
    asks: Option<u64>,
    places: Vec<DataView>,
    state: Mutex<SendProgress>,
}

#[derive(Debug)]
struct SendProgress {
    offer: Box<Offer>,
    /// The tag of the first part; `None` if the receiver is to choose it and has not answered.
    first: Option<u64>,
    /// The receiver's answer, and the receive of it.
    answer: Box<[u64; 1]>,
    asked: Option<TransportHandle>,
    /// For each part, whether it is ready in this start.
    ready: Vec<bool>,
    /// How many parts are not ready.
    awaited: usize,
    /// The parts that are ready and not sent.
    to_send: VecDeque<usize>,
    /// The sends in flight: of parts, and at first of the offer.
    under_way: Vec<TransportHandle>,
    started: bool,
    failed: Option<RequestOutcome>,
}

/// Why parts could not be marked as ready.
#[derive(Clone, Copy, Debug)]
pub(super) enum ReadyError {
    /// The message was not started.
    Inactive,
    /// This part was ready before.
    Before(usize),
}

impl PartitionedSend {
    /// Makes the sender of these parts; `None` if no tags are free and no number for the receiver's
    /// answer is.
    pub(super) fn new(
        (context, to): (u32, u32),
        tags: Arc<PartTags>,
        places: Vec<DataView>,
    ) -> Option<Self> {
        let len = places.first().map_or(0, DataView::len);
        let first = tags.never_used(places.len());
        let asks = match first {
            Some(_) => None,
            None => Some(tags.answer()?),
        };
        let (said, answer) = (first.unwrap_or(CHOOSE), asks.unwrap_or(0));
        let parts = SendProgress {
            offer: Box::new([said, places.len() as u64, len as u64, answer]),
            first,
            answer: Box::default(),
            asked: None,
            ready: vec![true; places.len()],
            awaited: 0,
            to_send: VecDeque::new(),
            under_way: Vec::new(),
            started: false,
            failed: None,
        };
        Some(Self {
            context,
            to,
            tags,
            asks,
            places,
            state: Mutex::new(parts),
        })
    }

    fn lock(&self) -> MutexGuard<'_, SendProgress> {
        lockstep::lock(&self.state)
    }

    /// Sends the offer to the receiver.
    pub(super) fn offer(&self, endpoint: &Endpoint, tag: i32) -> Result<(), TooManyRequests> {
        let data = &memory(&mut *self.lock().offer).into();
        let message = OutgoingMessage {
            context: self.context | PART_OFFERS,
            destination: self.to,
            tag,
            data,
            mark: CheckBits::NONE,
        };
        let Request(kind) = endpoint.bcs_send(SendMode::Standard, &message)?;
        if let OperationId::Transport(handle) = kind {
            self.lock().under_way.push(handle);
        }
        Ok(())
    }

    /// Returns the tag of the first part, if the sender or the receiver has chosen it.
    fn first(
        &self,
        parts: &mut SendProgress,
        roads: &mut Mux,
        posted: &mut bool,
    ) -> Option<Result<u64, RequestOutcome>> {
        if let Some(first) = parts.first {
            return Some(Ok(first));
        }
        let answer = self.asks?;
        if parts.asked.is_none() {
            let on = (self.to, self.context | PART_OFFERS, tag_of_answer(answer));
            let into = memory(&mut *parts.answer).into();
            parts.asked = Some(roads.receive_from(on, into).ok()?);
            *posted = true;
        }
        let outcome = roads.take(parts.asked?)?;
        parts.asked = None;
        if succeeded(&outcome).is_err() {
            return Some(Err(outcome));
        }
        self.tags.answered(answer);
        parts.first = Some(parts.answer[0]);
        parts.first.map(Ok)
    }

    /// Gives up a message that will not be started again. An offer that was sent stays in flight.
    pub(super) fn give_up(&self, endpoint: &Endpoint) {
        let mut parts = self.lock();
        if parts.started {
            return;
        }
        // If it was never started, this is the offer.
        let under_way = std::mem::take(&mut parts.under_way);
        let mut offer = (!under_way.is_empty()).then(|| std::mem::take(&mut parts.offer));
        drop(parts);
        for handle in under_way {
            endpoint.bcs_free(Request(OperationId::Transport(handle)), offer.take());
        }
    }

    /// Returns the memory of a part.
    pub(super) fn place(&self, part: usize) -> DataView {
        self.places[part].clone()
    }

    /// Begins a start, in which no part is ready.
    pub(super) fn start(&self) {
        let mut parts = self.lock();
        parts.ready.fill(false);
        parts.started = true;
        parts.awaited = parts.ready.len();
    }

    /// Marks these parts as ready, or returns why that is impossible.
    pub(super) fn ready(&self, which: &[usize]) -> Result<(), ReadyError> {
        let mut parts = self.lock();
        if !parts.started {
            return Err(ReadyError::Inactive);
        }
        for (nth, &part) in which.iter().enumerate() {
            if std::mem::replace(&mut parts.ready[part], true) {
                which[..nth]
                    .iter()
                    .for_each(|&part| parts.ready[part] = false);
                return Err(ReadyError::Before(part));
            }
        }
        parts.to_send.extend(which);
        parts.awaited -= which.len();
        Ok(())
    }
}

impl Drop for PartitionedSend {
    fn drop(&mut self) {
        let mut parts = self.lock();
        if parts.asked.is_some() {
            // The answer may still come, and keeps its number until then.
            std::mem::forget(std::mem::take(&mut parts.answer));
        } else if let (None, Some(answer)) = (parts.first, self.asks) {
            self.tags.answered(answer);
        }
    }
}

impl Drop for SendProgress {
    fn drop(&mut self) {
        if !self.under_way.is_empty() {
            // The receiver may not have read it yet.
            std::mem::forget(std::mem::take(&mut self.offer));
        }
    }
}

/// A start of the send.
#[derive(Debug)]
pub(super) struct SendOperation(pub(super) std::sync::Arc<PartitionedSend>);

impl AsyncOperation for SendOperation {
    fn advance(
        &mut self,
        at: &mut dyn OperationContext,
        posted: &mut bool,
    ) -> Option<RequestOutcome> {
        let PartitionedSend {
            context,
            to,
            places,
            ..
        } = &*self.0;
        let mut parts = self.0.lock();
        while let Some(&part) = parts.to_send.front() {
            let first = match self.0.first(&mut parts, at.mux(), posted)? {
                Ok(first) => first,
                Err(outcome) => {
                    parts.started = false;
                    return Some(outcome);
                }
            };
            let message = OutgoingMessage {
                context: context | PART_MESSAGES,
                destination: *to,
                tag: tag_of(first, part),
                data: &places[part],
                mark: CheckBits::NONE,
            };
            let Ok(handle) = at.mux().send(SendMode::Standard, &message) else {
                return None;
            };
            *posted = true;
            parts.to_send.pop_front();
            parts.under_way.push(handle);
        }
        while let Some(&handle) = parts.under_way.last() {
            let outcome = at.mux().take(handle)?;
            parts.under_way.pop();
            if succeeded(&outcome).is_err() {
                parts.failed.get_or_insert(outcome);
            }
        }
        if parts.awaited > 0 {
            return None;
        }
        parts.started = false;
        Some(parts.failed.take().unwrap_or_default())
    }

    fn awaits(&self) -> Vec<TransportHandle> {
        let parts = self.0.lock();
        parts
            .asked
            .into_iter()
            .chain(parts.under_way.iter().copied())
            .collect()
    }
}
