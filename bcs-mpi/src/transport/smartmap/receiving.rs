//! Receives within the node: the messages in the queues, and the receives for them.

use super::deferred_copy::LocalDeferredCopy;
use super::messages::copier::ring_sender;
use super::messages::envelope::{Body, Envelope, QueueMessage};
use super::messages::fetching::{Fetch, FetchSource};
use super::messages::incoming::{
    BYTES_TO_A_LOOK, ENTRIES_TO_A_LOOK, LocalMatchedMessage, PostedReceive, UnexpectedMessage,
};
use super::peer_memory::FetchError;
use super::requests::{LocalRequestId, LocalRequestState, PartwiseReceive};
use super::state::SmartMap;
use crate::data::{DataView, LONG_BYTES, own_memory, scatter};
use crate::transport::{RequestOutcome, TooManyRequests};
use bcs_core::layout::Location;
use bcs_core::limits::{LEAST_SHARED_BYTES, MAX_UNEXPECTED_BYTES, SEND_QUEUE_ENTRIES};
use bcs_core::matching::{Matcher, MessageEnvelope, Pattern};
use bcs_core::memory::Claimant;
use bcs_core::request::{RequestFailure, RequestId};
use bcs_core::smartmap::loan::Loan;
use bcs_core::wait_state::{MessagePeer, SEND_CHECK_CONTEXT};
use std::sync::atomic::Ordering;

/// How the data of a message come, if they are not here yet.
#[derive(Debug)]
pub(super) enum PendingDelivery {
    /// It is long. This rank fetches it from there without the lock.
    Fetched(FetchSource),
    /// It cannot be reached. Its sender has to bring it.
    Pulled,
}

impl SmartMap {
    /// Returns the peer of a message to or from a place.
    pub(super) fn peer(&self, place: usize, envelope: &Envelope) -> MessagePeer {
        MessagePeer {
            context: envelope.context,
            rank: Some(self.source(place)),
            tag: Some(envelope.tag),
        }
    }

    fn found(&self, place: usize, envelope: &Envelope) -> RequestOutcome {
        RequestOutcome {
            failure: RequestFailure::None,
            source: self.source(place),
            tag: envelope.tag,
            len: envelope.len,
            expected: None,
            mark: envelope.mark,
        }
    }

    /// Returns the matcher for messages and receives with this context.
    #[inline(always)]
    pub(super) fn matcher_of(
        &mut self,
        context: u32,
    ) -> &mut Matcher<UnexpectedMessage, PostedReceive> {
        match context {
            SEND_CHECK_CONTEXT => &mut self.descriptions,
            _ => &mut self.matcher,
        }
    }

    /// Posts a receive of at most as many bytes as `into` has. If it is `shared`, the caller posts
    /// it to the NIC afterwards by that request, unless there is a message for it already.
    #[inline(always)]
    pub(crate) fn receive(
        &mut self,
        pattern: Pattern,
        into: DataView,
        shared: Option<RequestId>,
    ) -> Result<LocalRequestId, TooManyRequests> {
        let request = self.requests.open(LocalRequestState::Opened)?;
        self.post_receive(request, pattern, into, shared);
        Ok(request)
    }

    /// Posts a receive that was opened.
    #[inline(always)]
    pub(super) fn post_receive(
        &mut self,
        request: LocalRequestId,
        pattern: Pattern,
        into: DataView,
        shared: Option<RequestId>,
    ) {
        if let Some(shared) = shared.filter(|_| self.claims_kept(pattern)) {
            let claimed = self.memory.claim(shared, Claimant::Rank);
            assert!(claimed, "its NIC does not know of it yet");
        }
        let receiving = PostedReceive {
            request,
            into,
            shared,
        };
        if let Some(arrived) = self.take_kept(pattern) {
            return self.deliver_kept(&arrived, receiving);
        }
        match self
            .matcher_of(pattern.context)
            .add_posted(pattern, receiving)
        {
            Ok(handle) => {
                let peer = MessagePeer::from(pattern);
                self.requests
                    .set(request, LocalRequestState::Posted { peer, handle });
            }
            Err(full) => self.abort_job(&format!("{full}: receive or send less at a time")),
        }
    }

    /// Takes out the message that a receive with this pattern gets. Its sender cannot cancel it any
    /// more.
    #[inline(always)]
    fn take_kept(&mut self, pattern: Pattern) -> Option<UnexpectedMessage> {
        loop {
            let (_, arrived) = self.matcher_of(pattern.context).take_unexpected(pattern)?;
            if self.claims(arrived.place, &arrived.envelope) {
                return Some(arrived);
            }
        }
    }

    /// Claims a stored message that a receive with this pattern gets, if there is one. Its sender
    /// cannot cancel it any more.
    fn claims_kept(&mut self, pattern: Pattern) -> bool {
        while let Some((_, arrived)) = self.matcher_of(pattern.context).probe(pattern) {
            let (place, envelope) = (arrived.place, arrived.envelope);
            if self.claims(place, &envelope) {
                return true;
            }
            self.matcher_of(pattern.context).take_unexpected(pattern);
        }
        false
    }

    /// Returns the message that a receive with this pattern would get now.
    pub(crate) fn probe(&mut self, pattern: Pattern) -> Option<RequestOutcome> {
        self.forget_cancelled(pattern);
        let (_, arrived) = self.matcher.probe(pattern)?;
        Some(self.found(arrived.place, &arrived.envelope))
    }

    /// Takes out the message that a receive with this pattern would get now.
    pub(crate) fn extract(
        &mut self,
        pattern: Pattern,
    ) -> Option<(RequestOutcome, LocalMatchedMessage)> {
        let arrived = self.take_kept(pattern)?;
        let found = self.found(arrived.place, &arrived.envelope);
        Some((found, LocalMatchedMessage(arrived)))
    }

    /// Receives a message that was taken out.
    pub(crate) fn receive_extracted(
        &mut self,
        message: LocalMatchedMessage,
        into: DataView,
    ) -> Result<LocalRequestId, (TooManyRequests, LocalMatchedMessage)> {
        let Ok(request) = self.requests.open(LocalRequestState::Opened) else {
            return Err((TooManyRequests, message));
        };
        let shared = None;
        let receiving = PostedReceive {
            request,
            into,
            shared,
        };
        self.deliver_kept(&message.0, receiving);
        Ok(request)
    }

    /// Takes the messages from the queues. Returns whether there were any.
    pub(super) fn drain(&mut self) -> bool {
        let (turn, mut first) = (self.turn, None);
        let mut any = false;
        for places in [turn..self.incoming.len(), 0..turn] {
            let mut next = places.start;
            while let Some(from) = self.node.next_known_sender(self.place, next, places.end) {
                next = from + 1;
                // The first queue changes each time, so a wildcard prefers no sender.
                if first.is_none() {
                    first = Some(from);
                    self.turn = next % self.incoming.len();
                }
                self.incoming[from].posts = 0;
                any |= self.drain_from(from);
            }
        }
        any
    }

    /// Takes the messages from one queue, or all, for receives that are posted. It does not do so
    /// at each post. A rank that posts many takes the rest when it waits for them.
    pub(crate) fn drain_for(&mut self, source: Option<u32>) {
        let Some(place) = source.and_then(|rank| self.place_of(rank)) else {
            self.drain();
            return;
        };
        if self.incoming[place].posted() {
            while self.matcher.posted_len() > 0 && self.take_from(place) {}
        }
    }

    fn drain_from(&mut self, from: usize) -> bool {
        // It takes at most as much as a queue holds, so that a sender that is as fast as this rank
        // does not keep it here.
        let taken = (0..SEND_QUEUE_ENTRIES).take_while(|_| self.take_from(from));
        taken.count() > 0
    }

    /// Takes the next entry of a queue, if there is one.
    #[inline]
    fn take_from(&mut self, from: usize) -> bool {
        let Some(entry) = self.incoming[from].queue.peek() else {
            return false;
        };
        match QueueMessage::parse(&entry, self.checked) {
            Some(QueueMessage::Message(envelope)) => self.arrived(from, &envelope),
            Some(QueueMessage::Pull {
                transfer,
                request,
                len,
            }) => self.pulled(from, (transfer, request), len),
            Some(QueueMessage::Part {
                request,
                offset,
                len,
                payload,
            }) => self.part(from, request, (offset, len), payload),
            Some(QueueMessage::Cancelled {
                context,
                tag,
                transfer,
            }) => self.heard_of_cancel(from, (context, tag), transfer),
            None => self.abort_on_corruption(from, "sends what is no message"),
        }
        self.took(from);
        true
    }

    /// Frees the next entry of a queue, which has been handled. Its sender may write another one
    /// there.
    #[inline]
    pub(super) fn took(&mut self, from: usize) {
        let incoming = &mut self.incoming[from];
        incoming.queue.take();
        incoming.entries += 1;
        if incoming.entries >= ENTRIES_TO_A_LOOK || incoming.bytes >= BYTES_TO_A_LOOK {
            (incoming.entries, incoming.bytes) = (0, 0);
            if self.node.take_space_request(from, self.place) {
                self.ring(from);
            }
        }
    }

    pub(super) fn signature(&self, place: usize, envelope: &Envelope) -> MessageEnvelope {
        MessageEnvelope {
            context: envelope.context,
            source: self.source(place),
            tag: envelope.tag,
        }
    }

    #[inline(always)]
    fn arrived(&mut self, place: usize, envelope: &Envelope) {
        let signature = self.signature(place, envelope);
        if matches!(envelope.body, Body::Queued { .. }) {
            let bytes = &mut self.incoming[place].bytes;
            *bytes = bytes.saturating_add(envelope.len);
        }
        if envelope.cancellable().is_some() && !self.is_to_be_met(place, envelope, signature) {
            return;
        }
        while let Some(receiving) = self
            .matcher_of(signature.context)
            .take_receive(&signature, |_, receiving| receiving.moved())
        {
            let memory = &self.memory;
            if receiving
                .shared
                .is_none_or(|shared| memory.claim(shared, Claimant::Rank))
            {
                return self.deliver(place, envelope, None, receiving);
            }
            // The NIC has satisfied it, so this outcome is not used.
            let nothing = LocalRequestState::Done(RequestOutcome::default());
            self.requests.set(receiving.request, nothing);
        }
        if envelope.cancellable().is_some() {
            self.release(place, envelope);
        }
        self.keep(place, envelope, signature);
    }

    /// Handles a message that its sender may cancel. Stores it if no receive is posted for it.
    /// Returns whether there is a receive and the message is claimed for it. The receive is not
    /// taken before, since it could not be posted again in its place.
    #[inline(never)]
    fn is_to_be_met(
        &mut self,
        place: usize,
        envelope: &Envelope,
        signature: MessageEnvelope,
    ) -> bool {
        if self
            .matcher_of(signature.context)
            .first_for(&signature)
            .is_some()
        {
            return self.claims(place, envelope);
        }
        if !self.is_cancelled(place, envelope) {
            self.keep(place, envelope, signature);
        }
        false
    }

    /// Stores a message for which there is no receive.
    #[inline(never)]
    fn keep(&mut self, place: usize, envelope: &Envelope, signature: MessageEnvelope) {
        let mut arrived = UnexpectedMessage {
            place,
            envelope: *envelope,
            kept: None,
        };
        if let Body::Queued { payload } = envelope.body {
            let queue = &self.incoming[place].queue;
            // At most as much is allocated as a queue can hold.
            let len = usize::try_from(envelope.len).unwrap_or(usize::MAX);
            let mut kept = vec![0; len.min(queue.longest())].into_boxed_slice();
            if kept.len() != len || !queue.read(payload, 0, &mut kept) {
                self.abort_on_corruption(place, "sends a message that is not there");
            }
            self.kept_bytes += kept.len();
            if self.kept_bytes > MAX_UNEXPECTED_BYTES {
                self.node
                    .unexpected_full(self.place)
                    .store(1, Ordering::Relaxed);
            }
            arrived.kept = Some(kept);
        }
        self.kept += 1;
        if let Err(full) = self
            .matcher_of(signature.context)
            .add_unexpected(signature, arrived)
        {
            self.abort_job(&format!("{full}: receive before more is sent"));
        }
    }

    /// Records that these bytes are no longer stored. Senders are notified when half of the room is
    /// free again. There is no hurry, since they send in any case.
    fn no_longer_kept(&mut self, bytes: usize) {
        self.kept_bytes -= bytes;
        let full = self.node.unexpected_full(self.place);
        if self.kept_bytes <= MAX_UNEXPECTED_BYTES / 2 && full.load(Ordering::Relaxed) != 0 {
            full.store(0, Ordering::Relaxed);
        }
    }

    /// Delivers a stored message to its receive, or requests it from its sender.
    fn deliver_kept(&mut self, arrived: &UnexpectedMessage, receiving: PostedReceive) {
        let UnexpectedMessage {
            place,
            envelope,
            kept,
        } = arrived;
        if let Some(kept) = kept {
            self.no_longer_kept(kept.len());
        }
        self.deliver(*place, envelope, kept.as_deref(), receiving);
    }

    /// Delivers a message to its receive, or requests it from its sender.
    #[inline(always)]
    fn deliver(
        &mut self,
        place: usize,
        envelope: &Envelope,
        kept: Option<&[u8]>,
        receiving: PostedReceive,
    ) {
        if !self.replacing.is_empty() && self.replacing.contains_key(&receiving.request) {
            return self.deliver_replacing((place, envelope), kept, receiving);
        }
        self.deliver_to((place, envelope), kept, receiving);
    }

    /// Does the same, into memory that is not being sent.
    #[inline(always)]
    pub(super) fn deliver_to(
        &mut self,
        (place, envelope): (usize, &Envelope),
        kept: Option<&[u8]>,
        receiving: PostedReceive,
    ) {
        let mut outcome = RequestOutcome::NOTHING;
        match self.bring(place, envelope, kept, &receiving.into, &mut outcome) {
            Ok(()) => self
                .requests
                .set(receiving.request, LocalRequestState::Done(outcome)),
            Err(later) => self.deliver_later((place, envelope), receiving, later, outcome),
        }
    }

    #[inline(never)]
    fn deliver_later(
        &mut self,
        (place, envelope): (usize, &Envelope),
        receiving: PostedReceive,
        later: PendingDelivery,
        outcome: RequestOutcome,
    ) {
        let PostedReceive { request, into, .. } = receiving;
        match later {
            PendingDelivery::Pulled => self.pull(place, (envelope, request), into, outcome),
            PendingDelivery::Fetched(from) => {
                let peer = self.peer(place, envelope);
                self.requests
                    .set(request, LocalRequestState::Fetching { peer });
                let (which, to) = ((place, envelope), (into, request));
                let fetch = Fetch::new(self.copier(), which, from, to, outcome);
                self.push_deferred_copy(LocalDeferredCopy::Fetch(Box::new(fetch)));
            }
        }
    }

    /// Delivers a message from its queue, or from where it was stored. Its sender need not wait any
    /// more. Writes the outcome, now or later, to the caller's place.
    #[inline(always)]
    pub(super) fn bring(
        &mut self,
        place: usize,
        envelope: &Envelope,
        kept: Option<&[u8]>,
        into: &DataView,
        outcome: &mut RequestOutcome,
    ) -> Result<(), PendingDelivery> {
        *outcome = self.found(place, envelope);
        if envelope.len > into.len() as u64 {
            outcome.failure = RequestFailure::Truncated;
        }
        let fits = usize::try_from(envelope.len)
            .unwrap_or(usize::MAX)
            .min(into.len());
        match envelope.body {
            Body::Inline(inline) => inline.bring(into, fits),
            Body::Queued { payload } => {
                if let Some(kept) = kept {
                    scatter(into, 0, &kept[..fits]);
                } else if !self.incoming[place].copy(payload, into, 0, fits) {
                    self.abort_on_corruption(place, "sends a message that is not there");
                }
            }
            Body::Packing(address, data) => {
                return Err(PendingDelivery::Fetched(FetchSource::Packing(
                    address, data,
                )));
            }
            Body::InSenderMemory(_) | Body::Lent(_) => {
                outcome.failure =
                    self.bring_from_memory(place, envelope, (into, fits), outcome.failure)?;
                return Ok(());
            }
        }
        self.end_transfer(place, envelope, RequestFailure::None);
        Ok(())
    }

    /// Delivers a message that lies in memory of its sender. That may fail, if it has not failed
    /// before.
    #[inline(never)]
    fn bring_from_memory(
        &mut self,
        place: usize,
        envelope: &Envelope,
        (into, fits): (&DataView, usize),
        mut failure: RequestFailure,
    ) -> Result<RequestFailure, PendingDelivery> {
        let from = self.whereabouts_of(place, envelope);
        if fits > LONG_BYTES {
            return Err(PendingDelivery::Fetched(FetchSource::Memory(from)));
        }
        // If a message that comes in parts had no bytes, there would be no last part.
        let fetched = match fits {
            0 => Ok(()),
            _ => {
                let memory = &mut self.peer_memory;
                memory.fetch(&self.node, place, from, into, 0..fits)
            }
        };
        let mut ended = RequestFailure::None;
        match fetched {
            Ok(()) => {}
            // The sender has no part in that failure.
            Err(FetchError::Fault) if !own_memory::is_writable(into, fits) => {
                failure = RequestFailure::BadAddress;
            }
            Err(FetchError::Fault) => {
                failure = RequestFailure::SenderMemory;
                ended = RequestFailure::BadAddress;
            }
            Err(FetchError::Closed) => return Err(PendingDelivery::Pulled),
        }
        self.end_transfer(place, envelope, ended);
        Ok(failure)
    }

    /// Releases the sender of a message, if it waits.
    #[inline(always)]
    pub(super) fn end_transfer(&self, place: usize, envelope: &Envelope, ended: RequestFailure) {
        if let Some(transfer) = envelope.transfer {
            if !self.node.end_transfer(place, transfer, ended as u8) {
                self.abort_on_corruption(place, "waits for a transfer that there is not");
            }
            if envelope.len >= LEAST_SHARED_BYTES as u64 {
                ring_sender(&self.node, &self.page, (place, transfer));
            }
            self.ring(place);
        }
    }

    /// Returns where a message in its sender's memory is. If it is lent, this settles the loan.
    fn whereabouts_of(&self, place: usize, envelope: &Envelope) -> Location {
        match (envelope.body, envelope.transfer) {
            (Body::InSenderMemory(location), _) => location,
            (Body::Lent(address), Some(transfer)) => {
                let loan = Loan::of_transfer(&self.node, place, transfer);
                let Some(loan) = loan else {
                    self.abort_on_corruption(place, "lends what there is not");
                };
                Location::contiguous(loan.claim(address))
            }
            _ => unreachable!("it lies in memory, and has a transfer"),
        }
    }

    /// Requests a message that this rank cannot reach from its sender.
    pub(super) fn pull(
        &mut self,
        place: usize,
        which: (&Envelope, LocalRequestId),
        into: DataView,
        outcome: RequestOutcome,
    ) {
        let (envelope, request) = which;
        let transfer = envelope
            .transfer
            .expect("a message in memory has a transfer");
        let len = envelope.len.min(into.len() as u64);
        let peer = self.peer(place, envelope);
        let pulling = PartwiseReceive {
            peer,
            into,
            missing: len,
            outcome,
        };
        let pulling = LocalRequestState::Pulling(Box::new(pulling));
        self.requests.set(request, pulling);
        let pull = QueueMessage::Pull {
            transfer,
            request,
            len,
        };
        self.word(place, pull);
    }

    fn part(
        &mut self,
        from: usize,
        request: LocalRequestId,
        (offset, len): (u64, u64),
        payload: u64,
    ) {
        let source = Some(self.source(from));
        let (into, missing, outcome) = match self.requests.state(request) {
            Some(LocalRequestState::Pulling(pulling)) if pulling.peer.rank == source => {
                let pulling = &mut **pulling;
                (&pulling.into, &mut pulling.missing, &pulling.outcome)
            }
            _ => self.abort_on_corruption(from, "sends a part of nothing"),
        };
        let place = |word: u64| usize::try_from(word).ok();
        let inside = place(offset).zip(place(len)).filter(|(offset, len)| {
            offset
                .checked_add(*len)
                .is_some_and(|end| end <= into.len())
        });
        let left = missing.checked_sub(len);
        let copied = inside
            .zip(left)
            .is_some_and(|((offset, len), _)| self.incoming[from].copy(payload, into, offset, len));
        let (Some(left), true) = (left, copied) else {
            self.abort_on_corruption(from, "sends a part that does not fit");
        };
        *missing = left;
        let outcome = *outcome;
        self.incoming[from].bytes += len;
        if left == 0 {
            self.requests.set(request, LocalRequestState::Done(outcome));
        }
    }
}
