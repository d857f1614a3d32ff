//! Bugs that are planted in a transport, to check that the rules find them.
//!
//! A bug is a decorator: the transport inside goes on keeping the rules, and the decorator breaks
//! them.
#![expect(unsafe_code, reason = "messages are named by address")]

use crate::data::{self, DataView};
use crate::transport::{
    OutgoingMessage, PostedSend, RequestOutcome, SendMode, TooManyRequests, Transport,
};
use bcs_core::matching::Pattern;
use bcs_core::request::RequestFailure;
use std::collections::HashMap;
use std::hash::Hash;

/// A bug of a transport.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bug {
    /// A short message waits in the transport, and goes after the next message has overtaken it.
    Overtakes,
    /// A receive from any source takes two messages.
    ClaimsTwice,
    /// A receive that has met its message is reported as cancelled.
    CancelsWhatIsMatched,
    /// A truncated message is reported as complete.
    HidesTruncation,
    /// The sender of a synchronous send does not learn that it has been received.
    LosesWakeUps,
    /// Operations that are posted while many others are held back are dropped.
    DropsWhatIsHeld,
    /// The memory of pieces is given up when a send is posted.
    FreesPieces,
    /// Pieces are stored side by side.
    IgnoresLayouts,
    /// Some messages go to the wrong rank.
    TakesTheWrongWay,
    /// A request gets the outcome of the one before it in its slot.
    KeepsStaleRequests,
    /// A send is done before it was received.
    ReleasesEarly,
    /// Failures are reported as success.
    TellsNoErrors,
    /// One request in eight is never given back.
    LosesCredits,
    /// A receive takes any tag.
    IgnoresTags,
    /// A receive takes messages of other communicators, too.
    IgnoresContexts,
    /// A probe finds a message again that it has found before.
    FindsWhatIsGone,
    /// Long messages lose their last byte.
    CopiesTooLittle,
}

/// The address at which the rules assume unmapped memory.
const NOWHERE: u64 = super::data::NOWHERE;

/// A transport with a bug.
pub(super) struct BuggyTransport<R: Transport> {
    road: R,
    bug: Bug,
    /// A message that waits to be overtaken.
    waiting: Option<OutgoingMessage<'static>>,
    /// The outcome of the last request in each slot.
    before: HashMap<u32, RequestOutcome>,
    found: Option<RequestOutcome>,
    posted: usize,
    /// Receives that the rule has not posted.
    own: Vec<R::Request>,
    synchronous: Vec<R::Request>,
}

/// Requests as the bugs see them.
pub(super) trait SlotNumber: Copy + Eq + Hash {
    fn slot(self) -> u32;
}

impl SlotNumber for bcs_core::request::RequestId {
    fn slot(self) -> u32 {
        self.slot
    }
}

impl<R: Transport<Request: SlotNumber>> BuggyTransport<R> {
    pub(super) fn new(road: R, bug: Bug) -> Self {
        Self {
            road,
            bug,
            waiting: None,
            before: HashMap::new(),
            found: None,
            posted: 0,
            own: Vec::new(),
            synchronous: Vec::new(),
        }
    }

    fn has(&self, bug: Bug) -> bool {
        self.bug == bug
    }

    fn outcome(&self, mut outcome: RequestOutcome) -> RequestOutcome {
        let hidden = match outcome.failure {
            RequestFailure::Truncated => self.has(Bug::HidesTruncation),
            RequestFailure::BadAddress | RequestFailure::SenderMemory => {
                self.has(Bug::TellsNoErrors)
            }
            _ => false,
        };
        if hidden {
            outcome.failure = RequestFailure::None;
        }
        outcome
    }

    /// Returns a copy of the bytes of a message that is never freed.
    fn leaked(from: &DataView) -> &'static mut [u8] {
        let mut bytes = vec![0; from.len()];
        data::gather(from, 0, &mut bytes);
        bytes.leak()
    }
}

fn plain(leaked: &'static mut [u8]) -> DataView {
    let address = leaked.as_mut_ptr().expose_provenance() as u64;
    // SAFETY: it stays, and nothing else uses it.
    unsafe { DataView::new(address, leaked.len(), None) }
}

fn leaked_piece(leaked: &'static mut [u8]) -> &'static DataView {
    Box::leak(Box::new(plain(leaked)))
}

impl<R: Transport<Request: SlotNumber>> Transport for BuggyTransport<R> {
    type Request = R::Request;

    fn send(
        &mut self,
        mode: SendMode,
        message: &OutgoingMessage<'_>,
    ) -> Result<PostedSend<R::Request>, TooManyRequests> {
        let mut message = *message;
        self.posted += 1;
        let (len, standard) = (message.data.len(), mode == SendMode::Standard);
        let there = message.data.address() > NOWHERE;
        match self.bug {
            Bug::Overtakes if standard && len == 8 => {
                let OutgoingMessage {
                    context,
                    destination,
                    tag,
                    data,
                    mark,
                } = message;
                self.waiting = Some(OutgoingMessage {
                    context,
                    destination,
                    tag,
                    data: leaked_piece(Self::leaked(data)),
                    mark,
                });
                return Ok(PostedSend::Complete);
            }
            Bug::DropsWhatIsHeld if standard && self.posted > 3_000 && len == 10 => {
                return Ok(PostedSend::Complete);
            }
            Bug::FreesPieces if message.data.layout().is_some() && len > 10_000 => {
                let copy = Self::leaked(message.data);
                copy[len / 2..].fill(0);
                message.data = leaked_piece(copy);
            }
            Bug::TakesTheWrongWay if standard && len > 16_384 => {
                message.context ^= 1;
            }
            Bug::IgnoresContexts => message.context = 0,
            Bug::ReleasesEarly if !standard && there => {
                message.data = leaked_piece(Self::leaked(message.data));
            }
            Bug::CopiesTooLittle if len > 65_536 && message.data.layout().is_none() && there => {
                let copy = Self::leaked(message.data);
                copy[len - 1] ^= 1;
                message.data = leaked_piece(copy);
            }
            _ => {}
        }
        let posted = self.road.send(mode, &message)?;
        if let Some(waiting) = self.waiting.take() {
            let _late = self.road.send(SendMode::Standard, &waiting)?;
        }
        match posted {
            PostedSend::Request(_) if self.has(Bug::ReleasesEarly) && !standard && there => {
                Ok(PostedSend::Complete)
            }
            PostedSend::Request(request) if mode == SendMode::Synchronous => {
                self.synchronous.push(request);
                Ok(posted)
            }
            _ => Ok(posted),
        }
    }

    fn receive(
        &mut self,
        mut pattern: Pattern,
        mut into: DataView,
    ) -> Result<R::Request, TooManyRequests> {
        self.posted += 1;
        match self.bug {
            Bug::IgnoresTags => pattern.tag = None,
            Bug::IgnoresContexts => pattern.context = 0,
            Bug::IgnoresLayouts => {
                // SAFETY: the promise of the view, for other bytes: rules leave room for them.
                into = unsafe { DataView::new(into.address(), into.len(), None) }
            }
            Bug::LosesCredits if self.posted.is_multiple_of(8) => {
                let never = Pattern {
                    tag: Some(i32::MAX),
                    ..pattern
                };
                let lost = self.road.receive(never, DataView::EMPTY)?;
                self.own.push(lost);
            }
            Bug::ClaimsTwice if pattern.source.is_none() => {
                let request = self.road.receive(pattern, into.clone())?;
                let second = plain(vec![0; into.len()].leak());
                self.own.push(self.road.receive(pattern, second)?);
                return Ok(request);
            }
            _ => {}
        }
        self.road.receive(pattern, into)
    }

    fn probe(&mut self, pattern: Pattern) -> Result<Option<RequestOutcome>, TooManyRequests> {
        let found = self.road.probe(pattern)?;
        self.found = found.or(self.found.filter(|_| self.bug == Bug::FindsWhatIsGone));
        Ok(self.found)
    }

    fn cancel(&mut self, request: R::Request) {
        self.road.cancel(request);
        if self.has(Bug::CancelsWhatIsMatched) {
            let cancelled = RequestOutcome {
                failure: RequestFailure::Cancelled,
                ..RequestOutcome::default()
            };
            self.before.insert(request.slot(), cancelled);
        }
    }

    fn is_done(&mut self, request: R::Request) -> bool {
        let deaf = self.has(Bug::LosesWakeUps) && self.synchronous.contains(&request);
        !deaf && self.road.is_done(request)
    }

    fn take(&mut self, request: R::Request) -> Option<RequestOutcome> {
        if !self.is_done(request) {
            return None;
        }
        let outcome = self.road.take(request)?;
        let outcome = self.outcome(outcome);
        let slot = request.slot();
        match self.bug {
            Bug::CancelsWhatIsMatched => Some(self.before.remove(&slot).unwrap_or(outcome)),
            Bug::KeepsStaleRequests
                if outcome.len > 30 && outcome.failure == RequestFailure::None =>
            {
                Some(self.before.insert(slot, outcome).unwrap_or(outcome))
            }
            _ => Some(outcome),
        }
    }

    fn progress(&mut self) {
        self.road.progress();
    }

    fn room(&self) -> usize {
        self.road.room()
    }

    fn is_over(&mut self) -> bool {
        self.road.is_over()
    }
}
