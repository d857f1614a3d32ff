//! Receives within the node: what the queues bring, and what was asked for.

use super::errand::Errand;
use super::messages::copier::ring_sender;
use super::messages::envelope::{Body, Envelope, Word};
use super::messages::fetching::{Fetch, FetchFrom};
use super::messages::incoming::{
    Arrived, BYTES_TO_A_LOOK, ENTRIES_TO_A_LOOK, Extracted, Receiving,
};
use super::peer_memory::Unreachable;
use super::requests::{Id, Pulling, State};
use super::state::SmartMap;
use crate::data::{LONG_BYTES, Piece, own_memory, scatter};
use crate::roads::{Outcome, TooManyRequests};
use bcs_core::layout::Location;
use bcs_core::limits::{LEAST_SHARED_BYTES, MAX_KEPT_BYTES, SEND_QUEUE_ENTRIES};
use bcs_core::matching::{Matcher, Pattern, Signature};
use bcs_core::memory::Claimant;
use bcs_core::request::{Failure, RequestId};
use bcs_core::smartmap::loan::Loan;
use bcs_core::whereabouts::{DESCRIPTIONS, Peer};
use std::sync::atomic::Ordering;

/// How a message comes that is not here yet.
#[derive(Debug)]
pub(super) enum Later {
    /// It is long: it is fetched from there without the lock.
    Fetched(FetchFrom),
    /// It cannot be reached: its sender has to bring it.
    Pulled,
}

impl SmartMap {
    /// The other side of a message to or from a place.
    pub(super) fn peer(&self, place: usize, envelope: &Envelope) -> Peer {
        Peer {
            context: envelope.context,
            rank: Some(self.source(place)),
            tag: Some(envelope.tag),
        }
    }

    fn found(&self, place: usize, envelope: &Envelope) -> Outcome {
        Outcome {
            failure: Failure::None,
            source: self.source(place),
            tag: envelope.tag,
            len: envelope.len,
            expected: None,
            mark: envelope.mark,
        }
    }

    /// Where messages and receives with this context meet.
    #[inline(always)]
    pub(super) fn matcher_of(&mut self, context: u32) -> &mut Matcher<Arrived, Receiving> {
        match context {
            DESCRIPTIONS => &mut self.descriptions,
            _ => &mut self.matcher,
        }
    }

    /// Posts a receive of at most as many bytes as `into` has. If it is `shared`, its NIC is told of
    /// it by that request afterwards, unless there is a message for it already.
    #[inline(always)]
    pub(crate) fn receive(
        &mut self,
        pattern: Pattern,
        into: Piece,
        shared: Option<RequestId>,
    ) -> Result<Id, TooManyRequests> {
        let request = self.requests.open(State::Opened)?;
        self.post_receive(request, pattern, into, shared);
        Ok(request)
    }

    /// Posts a receive that was opened.
    #[inline(always)]
    pub(super) fn post_receive(
        &mut self,
        request: Id,
        pattern: Pattern,
        into: Piece,
        shared: Option<RequestId>,
    ) {
        if let Some(shared) = shared.filter(|_| self.claims_kept(pattern)) {
            let claimed = self.memory.claim(shared, Claimant::Rank);
            assert!(claimed, "its NIC does not know of it yet");
        }
        let receiving = Receiving {
            request,
            into,
            shared,
        };
        if let Some(arrived) = self.take_kept(pattern) {
            return self.deliver_kept(&arrived, receiving);
        }
        match self.matcher_of(pattern.context).wait(pattern, receiving) {
            Ok(handle) => {
                let peer = Peer::from(pattern);
                self.requests.set(request, State::Posted { peer, handle });
            }
            Err(full) => self.give_up(&format!("{full}: receive or send less at a time")),
        }
    }

    /// Takes out the message that a receive with this pattern gets. Its sender cannot cancel it any more.
    #[inline(always)]
    fn take_kept(&mut self, pattern: Pattern) -> Option<Arrived> {
        loop {
            let (_, arrived) = self.matcher_of(pattern.context).take(pattern)?;
            if self.claims(arrived.place, &arrived.envelope) {
                return Some(arrived);
            }
        }
    }

    /// Whether a message is kept that a receive with this pattern gets: its sender cannot cancel it any more.
    fn claims_kept(&mut self, pattern: Pattern) -> bool {
        while let Some((_, arrived)) = self.matcher_of(pattern.context).probe(pattern) {
            let (place, envelope) = (arrived.place, arrived.envelope);
            if self.claims(place, &envelope) {
                return true;
            }
            self.matcher_of(pattern.context).take(pattern);
        }
        false
    }

    /// The message that a receive with this pattern would get now.
    pub(crate) fn probe(&mut self, pattern: Pattern) -> Option<Outcome> {
        self.forget_cancelled(pattern);
        let (_, arrived) = self.matcher.probe(pattern)?;
        Some(self.found(arrived.place, &arrived.envelope))
    }

    /// Takes out the message that a receive with this pattern would get now.
    pub(crate) fn extract(&mut self, pattern: Pattern) -> Option<(Outcome, Extracted)> {
        let arrived = self.take_kept(pattern)?;
        let found = self.found(arrived.place, &arrived.envelope);
        Some((found, Extracted(arrived)))
    }

    /// Receives a message that was taken out.
    pub(crate) fn receive_extracted(
        &mut self,
        message: Extracted,
        into: Piece,
    ) -> Result<Id, (TooManyRequests, Extracted)> {
        let Ok(request) = self.requests.open(State::Opened) else {
            return Err((TooManyRequests, message));
        };
        let shared = None;
        let receiving = Receiving {
            request,
            into,
            shared,
        };
        self.deliver_kept(&message.0, receiving);
        Ok(request)
    }

    /// Takes what the queues have brought. Returns whether there was anything.
    pub(super) fn drain(&mut self) -> bool {
        let (turn, mut first) = (self.turn, None);
        let mut any = false;
        for places in [turn..self.incoming.len(), 0..turn] {
            let mut next = places.start;
            while let Some(from) = self.node.next_acquaintance(self.place, next, places.end) {
                next = from + 1;
                // Who is first takes turns, so a wildcard favours nobody.
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

    /// Takes what one queue has brought, or all, for receives that are posted. Not at each post: whoever
    /// posts many looks at the rest when it waits for them.
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
        // No more than a queue holds: whoever sends as fast as this receives is not to keep it here.
        let taken = (0..SEND_QUEUE_ENTRIES).take_while(|_| self.take_from(from));
        taken.count() > 0
    }

    /// Takes the next entry of a queue, if there is one.
    #[inline]
    fn take_from(&mut self, from: usize) -> bool {
        let Some(entry) = self.incoming[from].queue.peek() else {
            return false;
        };
        match Word::parse(&entry, self.checked) {
            Some(Word::Message(envelope)) => self.arrived(from, &envelope),
            Some(Word::Pull {
                transfer,
                request,
                len,
            }) => self.pulled(from, (transfer, request), len),
            Some(Word::Part {
                request,
                offset,
                len,
                payload,
            }) => self.part(from, request, (offset, len), payload),
            Some(Word::Cancelled {
                context,
                tag,
                transfer,
            }) => self.heard_of_cancel(from, (context, tag), transfer),
            None => self.rubbish(from, "sends what is no message"),
        }
        self.took(from);
        true
    }

    /// The next entry of a queue has been looked at: its sender may write another one there.
    #[inline]
    pub(super) fn took(&mut self, from: usize) {
        let incoming = &mut self.incoming[from];
        incoming.queue.take();
        incoming.entries += 1;
        if incoming.entries >= ENTRIES_TO_A_LOOK || incoming.bytes >= BYTES_TO_A_LOOK {
            (incoming.entries, incoming.bytes) = (0, 0);
            if self.node.take_wish_for_room(from, self.place) {
                self.ring(from);
            }
        }
    }

    pub(super) fn signature(&self, place: usize, envelope: &Envelope) -> Signature {
        Signature {
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
            .meet(&signature, |_, receiving| receiving.moved())
        {
            let memory = &self.memory;
            if receiving
                .shared
                .is_none_or(|shared| memory.claim(shared, Claimant::Rank))
            {
                return self.deliver(place, envelope, None, receiving);
            }
            // The NIC has satisfied it: nobody asks what it came to here.
            let nothing = State::Done(Outcome::default());
            self.requests.set(receiving.request, nothing);
        }
        if envelope.cancellable().is_some() {
            self.release(place, envelope);
        }
        self.keep(place, envelope, signature);
    }

    /// A message has come that its sender may cancel. It is kept if no receive is posted for it. Returns whether one
    /// is, and takes it: it could not be posted again in its place.
    #[inline(never)]
    fn is_to_be_met(&mut self, place: usize, envelope: &Envelope, signature: Signature) -> bool {
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

    /// Keeps a message for which there is no receive.
    #[inline(never)]
    fn keep(&mut self, place: usize, envelope: &Envelope, signature: Signature) {
        let mut arrived = Arrived {
            place,
            envelope: *envelope,
            kept: None,
        };
        if let Body::Queued { payload } = envelope.body {
            let queue = &self.incoming[place].queue;
            // No more is allocated than a queue can hold.
            let len = usize::try_from(envelope.len).unwrap_or(usize::MAX);
            let mut kept = vec![0; len.min(queue.longest())].into_boxed_slice();
            if kept.len() != len || !queue.read(payload, 0, &mut kept) {
                self.rubbish(place, "sends a message that is not there");
            }
            self.kept_bytes += kept.len();
            if self.kept_bytes > MAX_KEPT_BYTES {
                self.node.full(self.place).store(1, Ordering::Relaxed);
            }
            arrived.kept = Some(kept);
        }
        self.kept += 1;
        if let Err(full) = self.matcher_of(signature.context).keep(signature, arrived) {
            self.give_up(&format!("{full}: receive before more is sent"));
        }
    }

    /// So many bytes are not kept any more. Senders are told when half of the room is free again: there is no
    /// hurry, they send all the same.
    fn no_longer_kept(&mut self, bytes: usize) {
        self.kept_bytes -= bytes;
        let full = self.node.full(self.place);
        if self.kept_bytes <= MAX_KEPT_BYTES / 2 && full.load(Ordering::Relaxed) != 0 {
            full.store(0, Ordering::Relaxed);
        }
    }

    /// Brings a message that was kept to where it was asked for, or asks for it.
    fn deliver_kept(&mut self, arrived: &Arrived, receiving: Receiving) {
        let Arrived {
            place,
            envelope,
            kept,
        } = arrived;
        if let Some(kept) = kept {
            self.no_longer_kept(kept.len());
        }
        self.deliver(*place, envelope, kept.as_deref(), receiving);
    }

    /// Brings a message to where it was asked for, or asks for it.
    #[inline(always)]
    fn deliver(
        &mut self,
        place: usize,
        envelope: &Envelope,
        kept: Option<&[u8]>,
        receiving: Receiving,
    ) {
        if !self.replacing.is_empty() && self.replacing.contains_key(&receiving.request) {
            return self.deliver_replacing((place, envelope), kept, receiving);
        }
        self.deliver_to((place, envelope), kept, receiving);
    }

    /// The same, into memory that nobody reads.
    #[inline(always)]
    pub(super) fn deliver_to(
        &mut self,
        (place, envelope): (usize, &Envelope),
        kept: Option<&[u8]>,
        receiving: Receiving,
    ) {
        let mut outcome = Outcome::NOTHING;
        match self.bring(place, envelope, kept, &receiving.into, &mut outcome) {
            Ok(()) => self.requests.set(receiving.request, State::Done(outcome)),
            Err(later) => self.deliver_later((place, envelope), receiving, later, outcome),
        }
    }

    #[inline(never)]
    fn deliver_later(
        &mut self,
        (place, envelope): (usize, &Envelope),
        receiving: Receiving,
        later: Later,
        outcome: Outcome,
    ) {
        let Receiving { request, into, .. } = receiving;
        match later {
            Later::Pulled => self.pull(place, (envelope, request), into, outcome),
            Later::Fetched(from) => {
                let peer = self.peer(place, envelope);
                self.requests.set(request, State::Fetching { peer });
                let (which, to) = ((place, envelope), (into, request));
                let fetch = Fetch::new(self.copier(), which, from, to, outcome);
                self.push_errand(Errand::Fetch(Box::new(fetch)));
            }
        }
    }

    /// Brings a message to where it was asked for, from its queue or from where it was kept. Its
    /// sender need not wait any more. What it comes to, now or later, is written where the caller wants it.
    #[inline(always)]
    pub(super) fn bring(
        &mut self,
        place: usize,
        envelope: &Envelope,
        kept: Option<&[u8]>,
        into: &Piece,
        outcome: &mut Outcome,
    ) -> Result<(), Later> {
        *outcome = self.found(place, envelope);
        if envelope.len > into.len() as u64 {
            outcome.failure = Failure::Truncated;
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
                    self.rubbish(place, "sends a message that is not there");
                }
            }
            Body::Packing(address, data) => {
                return Err(Later::Fetched(FetchFrom::Packing(address, data)));
            }
            Body::Remote(_) | Body::Lent(_) => {
                outcome.failure =
                    self.bring_from_memory(place, envelope, (into, fits), outcome.failure)?;
                return Ok(());
            }
        }
        self.end_transfer(place, envelope, Failure::None);
        Ok(())
    }

    /// The same of a message that lies in memory of its sender, which may fail by that, if it has not yet.
    #[inline(never)]
    fn bring_from_memory(
        &mut self,
        place: usize,
        envelope: &Envelope,
        (into, fits): (&Piece, usize),
        mut failure: Failure,
    ) -> Result<Failure, Later> {
        let from = self.whereabouts_of(place, envelope);
        if fits > LONG_BYTES {
            return Err(Later::Fetched(FetchFrom::Memory(from)));
        }
        // Of what comes in parts, nothing would have no last part.
        let fetched = match fits {
            0 => Ok(()),
            _ => {
                let memory = &mut self.peer_memory;
                memory.fetch(&self.node, place, from, into, 0..fits)
            }
        };
        let mut ended = Failure::None;
        match fetched {
            Ok(()) => {}
            // The sender has nothing to do with that.
            Err(Unreachable::Fault) if !own_memory::takes(into, fits) => {
                failure = Failure::BadAddress;
            }
            Err(Unreachable::Fault) => {
                failure = Failure::SenderMemory;
                ended = Failure::BadAddress;
            }
            Err(Unreachable::Closed) => return Err(Later::Pulled),
        }
        self.end_transfer(place, envelope, ended);
        Ok(failure)
    }

    /// The sender of a message need not wait any more, if it does.
    #[inline(always)]
    pub(super) fn end_transfer(&self, place: usize, envelope: &Envelope, ended: Failure) {
        if let Some(transfer) = envelope.transfer {
            if !self.node.end_transfer(place, transfer, ended as u8) {
                self.rubbish(place, "waits for a transfer that there is not");
            }
            if envelope.len >= LEAST_SHARED_BYTES as u64 {
                ring_sender(&self.node, &self.page, (place, transfer));
            }
            self.ring(place);
        }
    }

    /// Where a message is that lies in memory of its sender. If it is lent, that is settled here.
    fn whereabouts_of(&self, place: usize, envelope: &Envelope) -> Location {
        match (envelope.body, envelope.transfer) {
            (Body::Remote(location), _) => location,
            (Body::Lent(address), Some(transfer)) => {
                let loan = Loan::of(&self.node, place, transfer);
                let Some(loan) = loan else {
                    self.rubbish(place, "lends what there is not");
                };
                Location::at(loan.claim(address))
            }
            _ => unreachable!("it lies in memory, and has a transfer"),
        }
    }

    /// Asks the sender for a message that this rank cannot reach.
    pub(super) fn pull(
        &mut self,
        place: usize,
        which: (&Envelope, Id),
        into: Piece,
        outcome: Outcome,
    ) {
        let (envelope, request) = which;
        let transfer = envelope
            .transfer
            .expect("a message in memory has a transfer");
        let len = envelope.len.min(into.len() as u64);
        let peer = self.peer(place, envelope);
        let pulling = Pulling {
            peer,
            into,
            missing: len,
            outcome,
        };
        let pulling = State::Pulling(Box::new(pulling));
        self.requests.set(request, pulling);
        let pull = Word::Pull {
            transfer,
            request,
            len,
        };
        self.word(place, pull);
    }

    fn part(&mut self, from: usize, request: Id, (offset, len): (u64, u64), payload: u64) {
        let source = Some(self.source(from));
        let (into, missing, outcome) = match self.requests.state(request) {
            Some(State::Pulling(pulling)) if pulling.peer.rank == source => {
                let pulling = &mut **pulling;
                (&pulling.into, &mut pulling.missing, &pulling.outcome)
            }
            _ => self.rubbish(from, "sends a part of nothing"),
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
            self.rubbish(from, "sends a part that does not fit");
        };
        *missing = left;
        let outcome = *outcome;
        self.incoming[from].bytes += len;
        if left == 0 {
            self.requests.set(request, State::Done(outcome));
        }
    }
}
