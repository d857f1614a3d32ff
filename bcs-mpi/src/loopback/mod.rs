//! A NIC whose ranks are all in its own process: the NIC of a world of one, and of tests.
//!
//! It consumes the same rings and fills the same request slots as the emulated NIC, with the same
//! matching and arithmetic, so everything above NIC memory is one code whether there is a launcher
//! or not. It has no microphases: one [`slice`](LoopbackNic::slice) takes all that was posted,
//! matches it, moves it, and completes it.

mod collective;
mod memory;

use bcs_core::descriptor::{
    CollectiveDescriptor, Payload, ReceiveDescriptor, ReceiveKind, SendDescriptor,
};
use bcs_core::layout::Location;
use bcs_core::limits::MAX_ENVELOPES_PER_RANK;
use bcs_core::matching::{Matcher, Pattern, Posted, ReceiveHandle, Signature};
use bcs_core::memory::{Claimant, MachinePage, MappedWords, NicMemory};
use bcs_core::request::{Completion, Failure, RequestId};
use bcs_core::ring::Consumer;
use collective::Collectives;
use std::collections::HashMap;
use std::sync::atomic::Ordering;

/// A NIC for the ranks of this process.
#[derive(Debug)]
pub(crate) struct LoopbackNic {
    ranks: Vec<Rank>,
    collectives: Collectives,
    page: MachinePage,
}

/// What the NIC has of one rank.
#[derive(Debug)]
struct Rank {
    memory: NicMemory,
    sends: Consumer<MappedWords>,
    receives: Consumer<MappedWords>,
    collectives: Consumer<MappedWords>,
    matcher: Matcher<Envelope, Waiting>,
    /// Posted receives and probes that may be cancelled.
    handles: HashMap<RequestId, ReceiveHandle>,
    /// Probes that wait for a message, in the order of their posts, and whether they take it out.
    probes: Vec<(Pattern, RequestId, bool)>,
    /// Messages that were taken out, by the request of the probe.
    extracted: HashMap<RequestId, Envelope>,
    /// Completions of this slice.
    completed: u64,
}

/// A message that has arrived.
#[derive(Debug)]
struct Envelope {
    sender: u32,
    send: SendDescriptor,
}

/// A receive that waits.
#[derive(Debug)]
struct Waiting {
    request: RequestId,
    into: Location,
    capacity: u64,
    /// A message by SMARTMAP may satisfy it, too.
    shared: bool,
}

impl Rank {
    fn new(memory: NicMemory) -> Self {
        let words = || memory.words();
        Self {
            sends: Consumer::new(words(), NicMemory::send_ring()),
            receives: Consumer::new(words(), NicMemory::receive_ring()),
            collectives: Consumer::new(words(), NicMemory::collective_ring()),
            matcher: Matcher::new(MAX_ENVELOPES_PER_RANK, MAX_ENVELOPES_PER_RANK),
            handles: HashMap::new(),
            probes: Vec::new(),
            extracted: HashMap::new(),
            completed: 0,
            memory,
        }
    }

    fn complete(&mut self, request: RequestId, completion: &Completion) {
        assert!(
            self.memory.complete(request, completion),
            "{request:?} is a slot of ours"
        );
        self.completed += 1;
    }

    /// Whether there is a message for this receive, and it is the NIC's to bring. If another road has
    /// satisfied it, it is over.
    fn claims(&mut self, waiting: &Waiting) -> bool {
        let claimed = !waiting.shared || self.memory.claim(waiting.request, Claimant::Nic);
        if !claimed {
            self.complete(waiting.request, &Completion::failed(Failure::Cancelled));
        }
        claimed
    }

    /// Answers a probe if there is a message for it.
    fn answer(&mut self, pattern: Pattern, request: RequestId, extracts: bool) -> bool {
        let Some(found) = self.matcher.probe(pattern).map(found) else {
            return false;
        };
        if extracts && let Some((_, envelope)) = self.matcher.take(pattern) {
            self.extracted.insert(request, envelope);
        }
        self.complete(request, &found);
        true
    }

    fn take<const WORDS: usize>(ring: &mut Consumer<MappedWords>) -> Vec<[u64; WORDS]> {
        // The ranks of this process are this library: they write no rubbish.
        let cut = ring
            .published()
            .expect("a rank of this process keeps its rings whole");
        std::iter::from_fn(|| ring.pop(cut)).collect()
    }
}

impl LoopbackNic {
    /// A NIC for these ranks, in the order of their world ranks.
    pub(crate) fn new(memories: Vec<NicMemory>, page: MachinePage) -> Self {
        let first = |(rank, memory): (u32, &NicMemory)| match memory.desk() {
            Some((_, place)) => rank - u32::try_from(place).expect("few ranks"),
            None => rank,
        };
        let collectives = Collectives::new((0u32..).zip(&memories).map(first).collect());
        Self {
            ranks: memories.into_iter().map(Rank::new).collect(),
            collectives,
            page,
        }
    }

    /// Takes all that was posted, matches it, moves it, completes it, and rings. Returns whether
    /// there was anything.
    pub(crate) fn slice(&mut self) -> bool {
        let mut any = false;
        for sender in 0..self.ranks.len() {
            let rank = &mut self.ranks[sender];
            let sends = Rank::take(&mut rank.sends);
            any |= !sends.is_empty();
            for words in sends {
                let send = SendDescriptor::parse(&words).expect("a rank of ours posts sense");
                let sender = u32::try_from(sender).expect("few ranks");
                self.arrive(Envelope { sender, send });
            }
        }
        for receiver in 0..self.ranks.len() {
            self.answer_probes(receiver);
            let rank = &mut self.ranks[receiver];
            let receives = Rank::take(&mut rank.receives);
            any |= !receives.is_empty();
            for words in receives {
                let receive = ReceiveDescriptor::parse(&words).expect("a rank of ours posts sense");
                self.receive(receiver, &receive);
            }
        }
        for member in 0..self.ranks.len() {
            let rank = &mut self.ranks[member];
            let arrivals = Rank::take(&mut rank.collectives);
            any |= !arrivals.is_empty();
            for words in arrivals {
                let part = CollectiveDescriptor::parse(&words).expect("a rank of ours posts sense");
                let member = u32::try_from(member).expect("few ranks");
                for (rank, request, completion) in self.collectives.arrive(member, part) {
                    self.ranks[rank as usize].complete(request, &completion);
                }
            }
        }
        self.ring();
        any
    }

    /// Law 2, after a slice: whether a rank has posted a receive meanwhile for which there may be a
    /// message.
    #[cfg(test)]
    pub(crate) fn has_work(&self) -> bool {
        self.ranks.iter().any(|rank| {
            let posted = rank
                .receives
                .published()
                .is_ok_and(|at| at > rank.receives.position());
            posted && rank.matcher.unexpected_len() > 0
        })
    }

    /// The start of the next slice, as far as the ranks see it.
    fn ring(&mut self) {
        for rank in &mut self.ranks {
            let unexpected = rank.matcher.unexpected_len() as u64;
            rank.memory
                .unexpected()
                .store(unexpected, Ordering::Release);
            let completed = std::mem::take(&mut rank.completed);
            if completed == 0 && !rank.memory.take_wish_for_room() {
                continue;
            }
            rank.memory
                .completions()
                .fetch_add(completed, Ordering::AcqRel);
            self.page.wake(rank.memory.bell());
        }
    }

    fn arrive(&mut self, envelope: Envelope) {
        let Envelope { sender, send } = &envelope;
        let signature = Signature {
            context: send.context,
            source: *sender,
            tag: send.tag,
        };
        let (sender, send) = (*sender, *send);
        let Some(receiver) = self.ranks.get_mut(send.destination as usize) else {
            self.end_send(sender, &send, Failure::BadDescriptor);
            return;
        };
        while let Some((_, receive)) = receiver.matcher.meet(&signature) {
            receiver.handles.remove(&receive.request);
            if receiver.claims(&receive) {
                self.deliver(send.destination as usize, &envelope, &receive);
                return;
            }
        }
        match receiver.matcher.keep(signature, envelope) {
            Ok(()) => self.answer_probes(send.destination as usize),
            Err(_) => self.end_send(sender, &send, Failure::TableFull),
        }
    }

    fn receive(&mut self, receiver: usize, descriptor: &ReceiveDescriptor) {
        let rank = &mut self.ranks[receiver];
        let ReceiveDescriptor {
            request,
            context,
            source,
            tag,
            kind,
        } = *descriptor;
        let pattern = Pattern {
            context,
            source,
            tag,
        };
        match kind {
            ReceiveKind::Receive {
                into,
                capacity,
                shared,
            } => {
                let waiting = Waiting {
                    request,
                    into,
                    capacity,
                    shared,
                };
                if shared && rank.matcher.holds_match_for(pattern) && !rank.claims(&waiting) {
                    return;
                }
                match rank.matcher.post(pattern, waiting) {
                    Ok(Posted::Matched {
                        envelope, receive, ..
                    }) => {
                        self.deliver(receiver, &envelope, &receive);
                    }
                    Ok(Posted::Waiting(handle)) => {
                        rank.handles.insert(request, handle);
                    }
                    Err(_) => rank.complete(request, &Completion::failed(Failure::TableFull)),
                }
            }
            ReceiveKind::Probe => {
                rank.probes.push((pattern, request, false));
                self.answer_probes(receiver);
            }
            ReceiveKind::Extract => {
                rank.probes.push((pattern, request, true));
                self.answer_probes(receiver);
            }
            ReceiveKind::ProbeOnce | ReceiveKind::ExtractOnce => {
                if !rank.answer(pattern, request, kind == ReceiveKind::ExtractOnce) {
                    rank.complete(request, &Completion::failed(Failure::Cancelled));
                }
            }
            ReceiveKind::ReceiveExtracted {
                message,
                into,
                capacity,
            } => {
                let envelope = rank.extracted.remove(&message);
                let envelope = envelope.expect("a rank of this process receives what it extracted");
                let waiting = Waiting {
                    request,
                    into,
                    capacity,
                    shared: false,
                };
                self.deliver(receiver, &envelope, &waiting);
            }
            ReceiveKind::Cancel(target) => {
                let handle = rank.handles.remove(&target);
                let cancelled = handle
                    .and_then(|handle| rank.matcher.cancel(handle))
                    .is_some();
                let probes = rank.probes.len();
                rank.probes.retain(|&(_, request, _)| request != target);
                if cancelled || rank.probes.len() < probes {
                    rank.complete(target, &Completion::failed(Failure::Cancelled));
                }
            }
        }
    }

    fn answer_probes(&mut self, receiver: usize) {
        let rank = &mut self.ranks[receiver];
        for (pattern, request, extracts) in std::mem::take(&mut rank.probes) {
            if !rank.answer(pattern, request, extracts) {
                rank.probes.push((pattern, request, extracts));
            }
        }
    }

    fn deliver(&mut self, receiver: usize, envelope: &Envelope, receive: &Waiting) {
        let Envelope { sender, send } = envelope;
        let rank = &mut self.ranks[receiver];
        rank.handles.remove(&receive.request);
        let mut completion = Completion {
            source: *sender,
            tag: send.tag,
            len: send.len,
            failure: if send.len > receive.capacity {
                Failure::Truncated
            } else {
                Failure::None
            },
            ..Completion::default()
        };
        let len = usize::try_from(send.len.min(receive.capacity)).expect("64 bits");
        match &send.payload {
            Payload::Inline(bytes) => completion.set_inline(&bytes[..len]),
            Payload::Slot { address, .. } => {
                memory::copy(Location::at(*address), receive.into, len);
            }
            Payload::Memory(from) => memory::copy(*from, receive.into, len),
        }
        rank.complete(receive.request, &completion);
        self.end_send(*sender, send, Failure::None);
    }

    fn end_send(&mut self, sender: u32, send: &SendDescriptor, failure: Failure) {
        if send.owed {
            let completion = Completion {
                failure,
                ..Completion::default()
            };
            self.ranks[sender as usize].complete(send.request, &completion);
        }
    }
}

fn found((signature, envelope): (Signature, &Envelope)) -> Completion {
    let Signature { source, tag, .. } = signature;
    Completion {
        source,
        tag,
        len: envelope.send.len,
        ..Completion::default()
    }
}
