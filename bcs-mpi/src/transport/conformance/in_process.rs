//! A third transport: the ranks are threads of one process, and their messages lie in mailboxes
//! that all reach.
//!
//! It shows the minimum of a transport. A mailbox is a queue and a matcher. A message of at most
//! the eager limit is copied into it. A longer one stays with its sender, and the receiver copies
//! it from there and reports that.

use crate::data::{self, DataView, own_memory};
use crate::transport::request_table::RequestTable;
use crate::transport::{
    OutgoingMessage, PostedSend, RequestOutcome, SendMode, TooManyRequests, Transport,
};
use bcs_core::check_bits::CheckBits;
use bcs_core::matching::{self, ArrivalOutcome, Matcher, MessageEnvelope, Pattern, ReceiveHandle};
use bcs_core::request::{RequestFailure, RequestId};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// More than any rule leaves in a mailbox.
const MOST_KEPT: usize = 1 << 16;

/// The outcome of a message that is not received yet.
const UNKNOWN: u8 = u8::MAX;

/// The outcome of a message that has met a receive.
const CLAIMED: u8 = u8::MAX - 1;

/// The outcome of a message: the code of a failure, [`UNKNOWN`], or [`CLAIMED`].
type DeliveryCode = Arc<AtomicU8>;

/// The bytes of a message.
#[derive(Debug)]
enum Bytes {
    /// A copy of them.
    Copied(Vec<u8>),
    /// Their place. Their sender waits until they were copied.
    There(DataView, DeliveryCode),
}

impl Bytes {
    /// Claims the message for a receive. Returns false if its sender has cancelled it.
    fn claim(&self) -> bool {
        match self {
            Self::Copied(_) => true,
            Self::There(_, ended) => change(ended, UNKNOWN, CLAIMED),
        }
    }

    fn is_cancelled(&self) -> bool {
        matches!(self, Self::There(_, ended) if ended.load(Ordering::Acquire) == RequestFailure::Cancelled as u8)
    }

    fn len(&self) -> usize {
        match self {
            Self::Copied(bytes) => bytes.len(),
            Self::There(piece, _) => piece.len(),
        }
    }
}

/// Changes the outcome of a message, if it is still `from`.
fn change(ended: &AtomicU8, from: u8, to: u8) -> bool {
    let changed = ended.compare_exchange(from, to, Ordering::AcqRel, Ordering::Acquire);
    changed.is_ok()
}

/// The messages to a rank that it has not taken yet.
type Mailbox = Mutex<VecDeque<(MessageEnvelope, Bytes)>>;

/// The state of a request.
#[derive(Debug)]
enum InProcessState {
    Sent(DeliveryCode, usize),
    Posted(ReceiveHandle),
    Done(RequestOutcome),
}

/// One rank's end.
#[derive(Debug)]
pub(super) struct InProcessTransport {
    rank: u32,
    mailboxes: Arc<Vec<Mailbox>>,
    matcher: Matcher<Bytes, (RequestId, DataView)>,
    requests: RequestTable<InProcessState>,
    eager_limit: usize,
}

/// Returns the ends of this many ranks.
pub(super) fn ends(ranks: u32, eager_limit: usize) -> Vec<InProcessTransport> {
    let mailboxes: Arc<Vec<Mailbox>> = Arc::new((0..ranks).map(|_| Mailbox::default()).collect());
    let end = |rank| InProcessTransport {
        rank,
        mailboxes: mailboxes.clone(),
        matcher: Matcher::new(MOST_KEPT, MOST_KEPT),
        requests: RequestTable::default(),
        eager_limit,
    };
    (0..ranks).map(end).collect()
}

impl InProcessTransport {
    fn mailbox(&self, rank: u32) -> std::sync::MutexGuard<'_, VecDeque<(MessageEnvelope, Bytes)>> {
        let mailbox = self.mailboxes[rank as usize].lock();
        mailbox.unwrap_or_else(PoisonError::into_inner)
    }

    /// Delivers a message to its receive.
    fn deliver(
        &mut self,
        (signature, bytes): (MessageEnvelope, &Bytes),
        (request, into): (RequestId, &DataView),
    ) {
        let fits = bytes.len().min(into.len());
        let mut failure = match bytes.len() > into.len() {
            true => RequestFailure::Truncated,
            false => RequestFailure::None,
        };
        match bytes {
            Bytes::Copied(bytes) => data::scatter(into, 0, &bytes[..fits]),
            Bytes::There(from, ended) => {
                let mut told = RequestFailure::None;
                if from.layout().is_none()
                    && !own_memory::is_mapped(from.address(), fits, own_memory::MemoryAccess::Read)
                {
                    (failure, told) = (RequestFailure::SenderMemory, RequestFailure::BadAddress);
                } else if !own_memory::is_writable(into, fits) {
                    failure = RequestFailure::BadAddress;
                } else {
                    let mut bytes = vec![0; fits];
                    data::gather(from, 0, &mut bytes);
                    data::scatter(into, 0, &bytes);
                }
                ended.store(told as u8, Ordering::Release);
            }
        }
        self.end(request, Self::found(signature, bytes, failure));
    }

    fn found(signature: MessageEnvelope, bytes: &Bytes, failure: RequestFailure) -> RequestOutcome {
        RequestOutcome {
            failure,
            source: signature.source,
            tag: signature.tag,
            len: bytes.len() as u64,
            expected: None,
            mark: CheckBits::NONE,
        }
    }

    fn end(&mut self, request: RequestId, outcome: RequestOutcome) {
        if let Some(state) = self.requests.get_mut(request) {
            *state = InProcessState::Done(outcome);
        }
    }
}

impl Transport for InProcessTransport {
    type Request = RequestId;

    fn send(
        &mut self,
        mode: SendMode,
        message: &OutgoingMessage<'_>,
    ) -> Result<PostedSend<RequestId>, TooManyRequests> {
        let data = message.data;
        let (bytes, posted) = if mode.is_eager(data.len(), self.eager_limit) {
            let mut bytes = vec![0; data.len()];
            data::gather(data, 0, &mut bytes);
            (Bytes::Copied(bytes), PostedSend::Complete)
        } else {
            let ended = DeliveryCode::new(AtomicU8::new(UNKNOWN));
            let id = self
                .requests
                .open(InProcessState::Sent(ended.clone(), data.len()))?;
            (Bytes::There(data.clone(), ended), PostedSend::Request(id))
        };
        let signature = MessageEnvelope {
            context: message.context,
            source: self.rank,
            tag: message.tag,
        };
        self.mailbox(message.destination)
            .push_back((signature, bytes));
        Ok(posted)
    }

    fn receive(&mut self, pattern: Pattern, into: DataView) -> Result<RequestId, TooManyRequests> {
        while let Some((_, bytes)) = self.matcher.probe(pattern) {
            if bytes.claim() {
                break;
            }
            self.matcher.take_unexpected(pattern);
        }
        let request = self
            .requests
            .open(InProcessState::Done(RequestOutcome::default()))?;
        match self.matcher.post(pattern, (request, into)) {
            Ok(matching::PostOutcome::Matched {
                signature,
                envelope,
                receive: (request, into),
            }) => self.deliver((signature, &envelope), (request, &into)),
            Ok(matching::PostOutcome::Waiting(handle)) => {
                let state = self.requests.get_mut(request);
                *state.expect("it was opened") = InProcessState::Posted(handle);
            }
            Err(full) => panic!("{full}"),
        }
        Ok(request)
    }

    fn probe(&mut self, pattern: Pattern) -> Result<Option<RequestOutcome>, TooManyRequests> {
        while let Some((_, bytes)) = self.matcher.probe(pattern)
            && bytes.is_cancelled()
        {
            self.matcher.take_unexpected(pattern);
        }
        let found = self.matcher.probe(pattern);
        Ok(found.map(|(signature, bytes)| Self::found(signature, bytes, RequestFailure::None)))
    }

    fn cancel(&mut self, request: RequestId) {
        let handle = match self.requests.get(request) {
            Some(InProcessState::Sent(ended, _)) => {
                change(ended, UNKNOWN, RequestFailure::Cancelled as u8);
                return;
            }
            Some(InProcessState::Posted(handle)) => *handle,
            Some(InProcessState::Done(_)) | None => return,
        };
        if self.matcher.cancel(handle).is_some() {
            let outcome = RequestOutcome {
                failure: RequestFailure::Cancelled,
                ..RequestOutcome::default()
            };
            self.end(request, outcome);
        }
    }

    fn is_done(&mut self, request: RequestId) -> bool {
        let (failure, len) = match self.requests.get(request) {
            Some(InProcessState::Sent(ended, len)) => (ended.load(Ordering::Acquire), *len as u64),
            Some(InProcessState::Done(_)) => return true,
            Some(InProcessState::Posted(_)) | None => return false,
        };
        if matches!(failure, UNKNOWN | CLAIMED) {
            return false;
        }
        let outcome = RequestOutcome {
            failure: RequestFailure::from_code(failure),
            len,
            ..RequestOutcome::default()
        };
        self.end(request, outcome);
        true
    }

    fn take(&mut self, request: RequestId) -> Option<RequestOutcome> {
        if !self.is_done(request) {
            return None;
        }
        match self.requests.close(request) {
            Some(InProcessState::Done(outcome)) => Some(outcome),
            _ => None,
        }
    }

    fn progress(&mut self) {
        let come: Vec<_> = self.mailbox(self.rank).drain(..).collect();
        for (signature, bytes) in come {
            if self.matcher.first_for(&signature).is_some() && !bytes.claim() {
                continue;
            }
            match self.matcher.arrive(signature, bytes) {
                Ok(ArrivalOutcome::Matched {
                    envelope,
                    receive: (request, into),
                    ..
                }) => self.deliver((signature, &envelope), (request, &into)),
                Ok(ArrivalOutcome::Unexpected) => {}
                Err(full) => panic!("{full}"),
            }
        }
    }

    fn room(&self) -> usize {
        self.requests.room()
    }

    fn is_over(&mut self) -> bool {
        let is_unknown =
            |ended: &DeliveryCode| matches!(ended.load(Ordering::Acquire), UNKNOWN | CLAIMED);
        let owes = |(_, state): (RequestId, &InProcessState)| matches!(state, InProcessState::Sent(ended, _) if is_unknown(ended));
        !self.requests.iter().any(owes)
    }
}
