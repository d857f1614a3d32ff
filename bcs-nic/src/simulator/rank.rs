//! A scripted rank: posts what its program says and checks what comes back.

use super::checkers::{Checker, Received, check_receives, check_release};
use super::place::Place;
use super::program::{Arrival, CONTEXTS, Message, Post, Program, Round, Side, Together};
use bcs_core::descriptor::{
    Call, CollectiveDescriptor, CollectiveKind, Payload, ReceiveDescriptor, ReceiveKind,
    SendDescriptor,
};
use bcs_core::fabric::sim::RankStore;
use bcs_core::job::{Placement, Settings};
use bcs_core::layout::Location;
use bcs_core::limits::{INLINE_BYTES, PAYLOAD_SLOTS};
use bcs_core::memory::ring::Producer;
use bcs_core::memory::{MappedWords, NicMemory};
use bcs_core::request::{Completion, Failure, RequestId};
use bcs_core::wake::MachinePage;
use std::sync::atomic::Ordering;

/// Bytes of a rank's own memory.
pub(super) const MEMORY_BYTES: usize = 1 << 23;
/// The first byte of it that is used: address 0 is that of no layout.
const MEMORY_START: u64 = 8;

/// The tag of receives that nobody sends for.
const DECOY: i32 = 77;

/// What a request was for.
#[derive(Clone, Debug)]
enum Purpose {
    /// A send; what is to be read may be missing.
    Send {
        missing: bool,
    },
    /// A receive, with its number among those of the round; `None` for the second half of one that
    /// began with an extraction.
    Receive {
        nth: Option<usize>,
        into: Place,
        missing: bool,
    },
    /// The first half of one.
    Extract {
        capacity: usize,
        pieces: Option<u64>,
    },
    ProbeOnce,
    Cancelled,
    Collective {
        address: u64,
    },
    /// One of those beside it, by its number among them.
    Beside {
        nth: usize,
        address: u64,
    },
    Open {
        context: u32,
    },
}

#[derive(Clone, Debug)]
struct Outstanding {
    request: RequestId,
    purpose: Purpose,
    posted_cut: u64,
    completion: Option<Completion>,
}

/// What a rank is about to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    Open,
    Compute(usize),
    Messages(usize),
    Collective(usize),
    Finished,
}

/// A scripted rank.
#[derive(Debug)]
pub(super) struct ScriptedRank {
    pub(super) rank: u32,
    memory: NicMemory,
    sends: Producer<MappedWords>,
    receives: Producer<MappedWords>,
    collectives: Producer<MappedWords>,
    next: Next,
    /// When its computation ends.
    pub(super) busy_until_ns: u64,
    waiting: bool,
    outstanding: Vec<Outstanding>,
    /// Receives posted in this round.
    receives_posted: usize,
    /// Receives of this round that nobody sends for, and after which cut they were posted.
    decoys: Vec<(RequestId, u64)>,
    /// The first byte of its memory that is free in this round.
    free: u64,
    requests: u32,
    payloads: usize,
    sequences: [u64; CONTEXTS],
    /// Which contexts are open; not those of which a node had died.
    opened: [bool; CONTEXTS],
    /// Messages and collectives checked.
    pub(super) checked: u64,
    /// Completions seen.
    completions: u64,
    /// How often it was told of memory that is not there.
    pub(super) memory_faults: u64,
}

/// What a rank sees of its world while it acts.
pub(super) struct World<'a> {
    pub(super) program: &'a Program,
    pub(super) placement: &'a Placement,
    pub(super) settings: &'a Settings,
    pub(super) page: &'a MachinePage,
    pub(super) now_ns: u64,
    /// Cuts its node has taken so far.
    pub(super) cuts: u64,
    pub(super) nobody_died: bool,
}

impl ScriptedRank {
    pub(super) fn new(rank: u32, memory: NicMemory) -> Self {
        Self {
            rank,
            sends: Producer::new(memory.words(), NicMemory::send_ring()),
            receives: Producer::new(memory.words(), NicMemory::receive_ring()),
            collectives: Producer::new(memory.words(), NicMemory::collective_ring()),
            memory,
            next: Next::Open,
            busy_until_ns: 0,
            waiting: false,
            outstanding: Vec::new(),
            receives_posted: 0,
            decoys: Vec::new(),
            free: MEMORY_START,
            requests: 0,
            payloads: 0,
            sequences: [0; CONTEXTS],
            opened: std::array::from_fn(|context| context == 0),
            checked: 0,
            completions: 0,
            memory_faults: 0,
        }
    }

    pub(super) fn is_finished(&self) -> bool {
        self.next == Next::Finished && !self.waiting
    }

    /// What it is doing, for a checker's objection.
    pub(super) fn describe(&self) -> String {
        let waits: Vec<&Purpose> = self
            .outstanding
            .iter()
            .filter(|outstanding| self.waiting && outstanding.completion.is_none())
            .map(|outstanding| &outstanding.purpose)
            .collect();
        format!(
            "rank {} is before {:?} and waits for {waits:?}",
            self.rank, self.next
        )
    }

    /// Whether anything is left in its rings.
    pub(super) fn leaks(&mut self) -> bool {
        // What completes twice would be taken for a later use of its slot.
        self.memory.completions().load(Ordering::Acquire) != self.completions
            || self.sends.consumed() < self.sends.pushed()
            || self.receives.consumed() < self.receives.pushed()
            || self.collectives.consumed() < self.collectives.pushed()
            || self.memory.unexpected().load(Ordering::Relaxed) != 0
            || self.memory.held_back().load(Ordering::Relaxed) != 0
    }

    /// Acts as far as it can. Returns words for the trace if it did anything.
    pub(super) fn act(
        &mut self,
        world: &World<'_>,
        store: &mut RankStore,
    ) -> Result<Option<u64>, (Checker, String)> {
        let mut acted = None;
        loop {
            if self.waiting {
                if !self.look(world, store)? {
                    return Ok(acted);
                }
                self.waiting = false;
                world.page.block(false);
                self.check(world, store)?;
            } else if world.now_ns < self.busy_until_ns || self.next == Next::Finished {
                return Ok(acted);
            }
            acted = Some(u64::from(self.rank) << 32 | self.checked);
            self.step(world, store);
        }
    }

    fn step(&mut self, world: &World<'_>, store: &mut RankStore) {
        let rounds = &world.program.rounds;
        self.outstanding.clear();
        self.free = MEMORY_START;
        self.receives_posted = 0;
        self.next = match self.next {
            Next::Open => {
                (1..)
                    .take(CONTEXTS - 1)
                    .for_each(|context| self.open(context, world, store));
                Next::Compute(0)
            }
            Next::Compute(round) if round == rounds.len() => Next::Finished,
            Next::Compute(round) => {
                self.busy_until_ns = world.now_ns + rounds[round].compute_ns[self.rank as usize];
                Next::Messages(round)
            }
            Next::Messages(round) => {
                for post in &rounds[round].posts[self.rank as usize] {
                    self.post(post, round, world, store);
                }
                Next::Collective(round)
            }
            Next::Collective(round) => {
                self.cancel_decoys(round, world);
                let together = rounds[round].together_of(self.rank);
                if let (Some((context, _)), Some(together)) = (&rounds[round].together, together) {
                    let ranks = u32::try_from(world.placement.ranks()).expect("few");
                    let members = world.program.members(*context, ranks);
                    if members.contains(&self.rank) && self.opened[*context as usize] {
                        let arrival = rounds[round].arrival(self.rank, &members, world.placement);
                        self.join((*context, arrival), together, round, world, store);
                    }
                }
                self.join_beside(round, world, store);
                Next::Compute(round + 1)
            }
            Next::Finished => Next::Finished,
        };
        self.ask(world);
        if !self.outstanding.is_empty() {
            self.waiting = true;
            world.page.block(true);
            if world.page.wanted().0 {
                world.page.demand();
            }
        }
    }

    /// Asks for a slice as law 2 has it: for sends and collectives, and for receives only if BR
    /// holds messages. What turns up later, the NIC itself must notice.
    fn ask(&mut self, world: &World<'_>) {
        let page = world.page;
        let unexpected = self.memory.unexpected().load(Ordering::Relaxed) != 0;
        let posted = self.sends.consumed() < self.sends.pushed()
            || self.collectives.consumed() < self.collectives.pushed()
            || (unexpected && self.receives.consumed() < self.receives.pushed());
        if posted {
            page.arm_at(world.now_ns);
            if page.hungry() {
                page.demand();
            }
        }
    }

    fn request(&mut self) -> RequestId {
        self.requests += 1;
        RequestId {
            slot: self.requests % 4096,
            generation: self.requests,
        }
    }

    fn expect(&mut self, purpose: Purpose, world: &World<'_>) -> RequestId {
        let request = self.request();
        let posted_cut = world.cuts;
        let outstanding = Outstanding {
            request,
            purpose,
            posted_cut,
            completion: None,
        };
        self.outstanding.push(outstanding);
        request
    }

    fn place(&mut self, len: usize, pieces: Option<u64>, store: &mut RankStore) -> Place {
        let place = Place::new(len, pieces, self.free, store);
        self.free = place.end();
        assert!(
            self.free <= MEMORY_BYTES as u64,
            "a round fits a scripted rank's memory"
        );
        place
    }

    fn write(&mut self, bytes: &[u8], store: &mut RankStore) -> u64 {
        let place = self.place(bytes.len(), None, store);
        place.fill(bytes, store);
        place.location.address
    }

    fn post(&mut self, post: &Post, round: usize, world: &World<'_>, store: &mut RankStore) {
        match post {
            Post::Send(number) => {
                let message = &world.program.rounds[round].messages[*number];
                let bytes = Program::payload(message);
                let eager = bytes.len() <= world.settings.eager_limit;
                let (payload, owed) = if bytes.len() <= INLINE_BYTES {
                    let mut inline = [0; INLINE_BYTES];
                    inline[..bytes.len()].copy_from_slice(&bytes);
                    (Payload::Inline(inline), !eager)
                } else if eager && self.payloads < PAYLOAD_SLOTS {
                    let slot = self.payloads;
                    self.payloads += 1;
                    self.memory.write_payload(slot, 0, &bytes);
                    let slot = u32::try_from(slot).expect("few");
                    (Payload::Slot { slot, address: 0 }, true)
                } else if message.missing {
                    (Payload::Memory(missing(bytes.len()).location), true)
                } else {
                    let place = self.place(bytes.len(), message.pieces, store);
                    place.fill(&bytes, store);
                    (Payload::Memory(place.location), true)
                };
                let request = if owed {
                    let missing = message.missing;
                    self.expect(Purpose::Send { missing }, world)
                } else {
                    RequestId::default()
                };
                let send = SendDescriptor {
                    request,
                    owed,
                    context: context_of(round),
                    destination: message.destination,
                    tag: message.tag,
                    len: bytes.len() as u64,
                    payload,
                };
                self.sends
                    .push(&send.encode())
                    .expect("a round fits the ring");
            }
            &Post::Receive {
                source,
                tag,
                capacity,
                extract,
                pieces,
                missing: is_missing,
            } => {
                let (purpose, kind) = if extract {
                    let purpose = Purpose::Extract { capacity, pieces };
                    (purpose, ReceiveKind::Extract)
                } else {
                    let nth = Some(self.receives_posted);
                    self.receives_posted += 1;
                    let into = match is_missing {
                        true => missing(capacity),
                        false => self.place(capacity, pieces, store),
                    };
                    into.guard(store);
                    let kind = ReceiveKind::Receive {
                        into: into.location,
                        capacity: capacity as u64,
                        shared: false,
                    };
                    let missing = is_missing;
                    (Purpose::Receive { nth, into, missing }, kind)
                };
                let request = self.expect(purpose, world);
                self.push_receive(request, (source, tag), round, kind);
            }
            &Post::ProbeOnce { source, tag } => {
                let request = self.expect(Purpose::ProbeOnce, world);
                self.push_receive(request, (source, tag), round, ReceiveKind::ProbeOnce);
            }
            Post::Decoy => {
                let request = self.request();
                self.decoys.push((request, world.cuts));
                let kind = ReceiveKind::Receive {
                    into: Location::at(0),
                    capacity: 0,
                    shared: false,
                };
                self.push_receive(request, (None, Some(DECOY)), round, kind);
            }
        }
    }

    fn push_receive(
        &mut self,
        request: RequestId,
        (source, tag): (Option<u32>, Option<i32>),
        round: usize,
        kind: ReceiveKind,
    ) {
        let receive = ReceiveDescriptor {
            request,
            context: context_of(round),
            source,
            tag,
            kind,
        };
        self.receives
            .push(&receive.encode())
            .expect("a round fits the ring");
    }

    /// Receives a message that was taken out, at once: its sender may wait for that.
    fn receive_extracted(
        &mut self,
        extracted: &Outstanding,
        round: usize,
        world: &World<'_>,
        store: &mut RankStore,
    ) {
        let Purpose::Extract { capacity, pieces } = extracted.purpose else {
            return;
        };
        let into = self.place(capacity, pieces, store);
        into.guard(store);
        let location = into.location;
        let (nth, missing) = (None, false);
        let request = self.expect(Purpose::Receive { nth, into, missing }, world);
        let kind = ReceiveKind::ReceiveExtracted {
            message: extracted.request,
            into: location,
            capacity: capacity as u64,
        };
        self.push_receive(request, (None, None), round, kind);
        world.page.demand();
    }

    fn cancel_decoys(&mut self, round: usize, world: &World<'_>) {
        for (request, posted_cut) in std::mem::take(&mut self.decoys) {
            self.outstanding.push(Outstanding {
                request,
                purpose: Purpose::Cancelled,
                posted_cut,
                completion: None,
            });
            let kind = ReceiveKind::Cancel(request);
            self.push_receive(RequestId::default(), (None, Some(DECOY)), round, kind);
            world.page.demand();
        }
    }

    fn open(&mut self, context: u32, world: &World<'_>, store: &mut RankStore) {
        let ranks = u32::try_from(world.placement.ranks()).expect("few");
        let members = world.program.members(context, ranks);
        if !members.contains(&self.rank) {
            return;
        }
        let members: Vec<u8> = members.iter().flat_map(|rank| rank.to_le_bytes()).collect();
        let input = self.write(&members, store);
        let request = self.expect(Purpose::Open { context }, world);
        self.push_collective(&CollectiveDescriptor {
            request,
            context,
            sequence: 0,
            kind: CollectiveKind::OpenContext,
            bytes: members.len() as u64,
            input,
            output: 0,
            inline: None,
            for_node: false,
            spoilt_by: None,
        });
    }

    /// Takes part in the collectives beside the round's own, which go as they should.
    fn join_beside(&mut self, round: usize, world: &World<'_>, store: &mut RankStore) {
        let ranks = u32::try_from(world.placement.ranks()).expect("few");
        for (nth, (context, together)) in world.program.rounds[round].beside.iter().enumerate() {
            let members = world.program.members(*context, ranks);
            if !members.contains(&self.rank) || !self.opened[*context as usize] {
                continue;
            }
            let contribution = together.contribution(self.rank, round_of(*context, round));
            let Call { kind, bytes, .. } = together.call(self.rank);
            let input = self.write(&contribution, store);
            let output = self.place(contribution.len(), None, store).location.address;
            let is_root = matches!(kind, CollectiveKind::Broadcast { root } if root == self.rank);
            let address = if is_root { input } else { output };
            let request = self.expect(Purpose::Beside { nth, address }, world);
            let sequence = self.sequences[*context as usize];
            self.sequences[*context as usize] += 1;
            self.push_collective(&CollectiveDescriptor {
                request,
                context: *context,
                sequence,
                kind,
                bytes,
                input,
                output,
                inline: None,
                for_node: false,
                spoilt_by: None,
            });
        }
    }

    fn join(
        &mut self,
        (context, arrival): (u32, Arrival),
        together: &Together,
        round: usize,
        world: &World<'_>,
        store: &mut RankStore,
    ) {
        let sequence = self.sequences[context as usize];
        self.sequences[context as usize] += 1;
        let contribution = match &arrival {
            Arrival::StoodFor => return,
            Arrival::Own => together.contribution(self.rank, round),
            Arrival::ForNode(members) => match together {
                Together::Reduce { .. } => together.folded(members, round),
                _ => together.contribution(self.rank, round),
            },
        };
        let Call { kind, bytes, .. } = together.call(self.rank);
        let bytes = usize::try_from(bytes).expect("small");
        let inline = (bytes <= INLINE_BYTES).then(|| {
            let mut inline = [0; INLINE_BYTES];
            inline[..bytes].copy_from_slice(&contribution);
            inline
        });
        let program = &world.program.rounds[round];
        let ranks = u32::try_from(world.placement.ranks()).expect("few");
        let members = world.program.members(context, ranks);
        let lacks = program.lacks(&members, world.placement);
        let (its_input, its_output) = ((self.rank, Side::Input), (self.rank, Side::Output));
        let input = match lacks == Some(its_input) {
            true => missing(bytes).location.address,
            false => self.write(&contribution, store),
        };
        // Of one for whom this rank arrives.
        let spoilt = lacks.filter(|(member, side)| match &arrival {
            Arrival::ForNode(stood_for) => {
                *side == Side::Input && *member != self.rank && stood_for.contains(member)
            }
            _ => false,
        });
        let is_root = matches!(kind, CollectiveKind::Broadcast { root } if root == self.rank);
        let output = if is_root {
            input
        } else if lacks == Some(its_output) {
            missing(bytes).location.address
        } else {
            self.place(bytes, None, store).location.address
        };
        let request = self.expect(Purpose::Collective { address: output }, world);
        let bytes = bytes as u64;
        self.push_collective(&CollectiveDescriptor {
            request,
            context,
            sequence,
            kind,
            bytes,
            input,
            output,
            inline,
            for_node: arrival != Arrival::Own,
            spoilt_by: spoilt.map(|(member, _)| member),
        });
    }

    fn push_collective(&mut self, collective: &CollectiveDescriptor) {
        self.collectives
            .push(&collective.encode())
            .expect("few collectives a round");
    }

    /// Looks at the completions; true when all have come.
    fn look(
        &mut self,
        world: &World<'_>,
        store: &mut RankStore,
    ) -> Result<bool, (Checker, String)> {
        let mut extracted = Vec::new();
        for outstanding in &mut self.outstanding {
            if outstanding.completion.is_none() {
                outstanding.completion = self.memory.completion(outstanding.request);
                if outstanding.completion.is_some() {
                    // Who cancels is answered, too, though nobody asks.
                    let cancelled = matches!(outstanding.purpose, Purpose::Cancelled);
                    self.completions += 1 + u64::from(cancelled);
                    check_release(
                        world.settings.strobe,
                        self.rank,
                        outstanding.posted_cut,
                        world.cuts,
                    )?;
                }
                let whole = outstanding
                    .completion
                    .is_some_and(|completion| completion.failure == Failure::None);
                if whole && matches!(outstanding.purpose, Purpose::Extract { .. }) {
                    extracted.push(outstanding.clone());
                }
            }
        }
        if let Next::Collective(round) = self.next {
            for extracted in &extracted {
                self.receive_extracted(extracted, round, world, store);
            }
        }
        Ok(self
            .outstanding
            .iter()
            .all(|outstanding| outstanding.completion.is_some()))
    }

    /// All requests of a step have completed: are they right?
    fn check(&mut self, world: &World<'_>, store: &RankStore) -> Result<(), (Checker, String)> {
        for outstanding in &self.outstanding {
            let completion = outstanding.completion.expect("all have completed");
            let tolerated = match completion.failure {
                Failure::PeerGone => !world.nobody_died,
                Failure::Mismatch => matches!(outstanding.purpose, Purpose::Collective { .. }),
                Failure::Cancelled => {
                    matches!(outstanding.purpose, Purpose::ProbeOnce | Purpose::Cancelled)
                }
                Failure::None => !matches!(
                    outstanding.purpose,
                    Purpose::Cancelled | Purpose::Send { missing: true }
                ),
                Failure::BadAddress => matches!(
                    outstanding.purpose,
                    Purpose::Send { missing: true } | Purpose::Receive { missing: true, .. }
                ),
                Failure::SenderMemory => matches!(outstanding.purpose, Purpose::Receive { .. }),
                Failure::MemberMemory => matches!(outstanding.purpose, Purpose::Collective { .. }),
                _ => false,
            };
            self.memory_faults += u64::from(matches!(
                completion.failure,
                Failure::BadAddress | Failure::SenderMemory | Failure::MemberMemory
            ));
            if !tolerated {
                let what = format!(
                    "rank {}: {:?} failed with {:?}",
                    self.rank, outstanding.purpose, completion.failure
                );
                return Err((Checker::Soundness, what));
            }
        }
        for outstanding in &self.outstanding {
            let done = outstanding.completion.map(|done| done.failure);
            if let (Purpose::Open { context }, Some(Failure::None)) = (&outstanding.purpose, done) {
                self.opened[*context as usize] = true;
            }
        }
        match self.next {
            Next::Collective(round) => self.check_round(round, world, store),
            Next::Compute(round) if round > 0 => {
                self.check_beside(round - 1, world, store)?;
                self.check_together(round - 1, world, store)
            }
            _ => Ok(()),
        }
    }

    fn check_round(
        &mut self,
        round: usize,
        world: &World<'_>,
        store: &RankStore,
    ) -> Result<(), (Checker, String)> {
        // All eager payloads of the round have been moved.
        self.payloads = 0;
        let messages = &world.program.rounds[round].messages;
        let mut received: Vec<Option<Received>> = vec![None; self.receives_posted];
        let mut extracted = Vec::new();
        // Receives that had no room, and from whom what was not there.
        let (mut lost, mut unread) = (0, Vec::new());
        for outstanding in &self.outstanding {
            let completion = outstanding.completion.expect("all have completed");
            let receives = matches!(outstanding.purpose, Purpose::Receive { .. });
            match completion.failure {
                Failure::None => {}
                Failure::BadAddress if receives => lost += 1,
                Failure::SenderMemory => unread.push(completion.source),
                _ => {}
            }
            if completion.failure != Failure::None {
                continue;
            }
            match &outstanding.purpose {
                Purpose::Receive { nth, into, .. } => {
                    let got = self.got(&completion, into, store)?;
                    match nth {
                        Some(nth) => received[*nth] = Some(got),
                        None => extracted.push(got),
                    }
                }
                Purpose::ProbeOnce | Purpose::Extract { .. } => {
                    check_found(self.rank, messages, &completion)?;
                }
                _ => {}
            }
        }
        self.checked += check_receives(
            self.rank,
            messages,
            &received,
            &extracted,
            lost,
            world.nobody_died,
        )?;
        let is_unread = |message: &&Message| message.destination == self.rank && message.missing;
        let missing = messages.iter().filter(is_unread);
        let mut missing: Vec<u32> = missing.map(|message| message.source).collect();
        missing.sort_unstable();
        unread.sort_unstable();
        if world.nobody_died && unread != missing {
            let what = format!(
                "rank {} was told that it could not receive from {unread:?}, and not {missing:?}",
                self.rank
            );
            return Err((Checker::ExactlyOnce, what));
        }
        Ok(())
    }

    /// What a receive brought, and nothing beside it.
    fn got(
        &self,
        completion: &Completion,
        into: &Place,
        store: &RankStore,
    ) -> Result<Received, (Checker, String)> {
        let len = usize::try_from(completion.len).expect("small");
        let inline = completion.inline_bytes();
        let moved = if inline.is_empty() { len } else { 0 };
        if !into.is_guarded(moved, store) {
            let what = format!("rank {}: bytes beside a message were written", self.rank);
            return Err((Checker::ExactlyOnce, what));
        }
        let bytes = if inline.is_empty() {
            into.message(len, store)
        } else {
            inline.to_vec()
        };
        Ok(Received {
            source: completion.source,
            tag: completion.tag,
            len: completion.len,
            bytes,
        })
    }

    fn check_beside(
        &mut self,
        round: usize,
        world: &World<'_>,
        store: &RankStore,
    ) -> Result<(), (Checker, String)> {
        let ranks = u32::try_from(world.placement.ranks()).expect("few");
        for outstanding in &self.outstanding {
            let Purpose::Beside { nth, address } = outstanding.purpose else {
                continue;
            };
            let completion = outstanding.completion.expect("all have completed");
            if completion.failure != Failure::None {
                continue; // a node has died
            }
            let (context, together) = &world.program.rounds[round].beside[nth];
            let members = world.program.members(*context, ranks);
            let round = round_of(*context, round);
            let answer = together.answer(self.rank, &members, world.placement, round);
            if let Some(answer) = answer
                && bytes_of(&completion, address, answer.len() as u64, store) != answer
            {
                let what = format!(
                    "rank {}: wrong result of {together:?} beside others",
                    self.rank
                );
                return Err((Checker::Collective, what));
            }
            self.checked += 1;
        }
        Ok(())
    }

    fn check_together(
        &mut self,
        round: usize,
        world: &World<'_>,
        store: &RankStore,
    ) -> Result<(), (Checker, String)> {
        let program = &world.program.rounds[round];
        let Some((context, together)) = &program.together else {
            return Ok(());
        };
        for outstanding in &self.outstanding {
            let Purpose::Collective { address } = outstanding.purpose else {
                continue;
            };
            let completion = outstanding.completion.expect("all have completed");
            let ranks = u32::try_from(world.placement.ranks()).expect("few");
            let members = world.program.members(*context, ranks);
            // Who went astray may have died before anybody could see it.
            let (all, on) = (&members, world.placement);
            let must_be_told = program.must_be_told(self.rank, all, on);
            let as_it_should = match completion.failure {
                Failure::None => {
                    !(world.nobody_died && (program.disagrees(&members) || must_be_told))
                }
                Failure::MemberMemory => {
                    let culprit = program.lacks(all, on).map(|(rank, _)| rank.into());
                    culprit == Some(completion.len)
                }
                Failure::Mismatch => program.disagrees(&members),
                _ => true,
            };
            if !as_it_should {
                let what = format!(
                    "rank {}: {together:?} ended with {:?} ({}), though one did {:?} and {:?} is missing",
                    self.rank, completion.failure, completion.len, program.astray, program.missing
                );
                return Err((Checker::Collective, what));
            }
            if completion.failure == Failure::Mismatch {
                check_told(&completion, program, &members)?;
                self.checked += 1;
            }
            if completion.failure != Failure::None {
                continue;
            }
            let together = program.together_of(self.rank).unwrap_or(together);
            let answer = together.answer(self.rank, &members, world.placement, round);
            if let Some(answer) = answer
                && bytes_of(&completion, address, answer.len() as u64, store) != answer
            {
                let what = format!("rank {}: wrong result of {together:?}", self.rank);
                return Err((Checker::Collective, what));
            }
            self.checked += 1;
        }
        Ok(())
    }
}

/// The number by which a context's data in a round differ from those of the others.
fn round_of(context: u32, round: usize) -> usize {
    round + 100 * context as usize
}

/// Room for so many bytes of which the second half is beyond a rank's memory.
fn missing(len: usize) -> Place {
    let there = (MEMORY_BYTES - len / 2) as u64;
    Place::beyond(there, MEMORY_BYTES)
}

/// What a probe found was sent to this rank.
fn check_found(
    rank: u32,
    messages: &[Message],
    found: &Completion,
) -> Result<(), (Checker, String)> {
    let is_it = |message: &Message| {
        let envelope = (message.source, message.tag, message.len as u64);
        message.destination == rank && envelope == (found.source, found.tag, found.len)
    };
    if messages.iter().any(is_it) {
        return Ok(());
    }
    let what = format!("rank {rank} found a message that nobody sent: {found:?}");
    Err((Checker::ExactlyOnce, what))
}

/// A member of a refused collective is told what some member really called.
fn check_told(
    completion: &Completion,
    round: &Round,
    members: &[u32],
) -> Result<(), (Checker, String)> {
    let told = Call::unpack(completion.len);
    let is_true = told.is_some_and(|told| {
        let really = round.together_of(told.rank);
        members.contains(&told.rank) && really.is_some_and(|what| what.call(told.rank) == told)
    });
    if is_true {
        return Ok(());
    }
    let what = format!("a member was told that another called {told:?}");
    Err((Checker::Collective, what))
}

/// A context of its own for each round's messages: a rank that is a round ahead must not send for
/// the wildcards of this one.
fn context_of(round: usize) -> u32 {
    100 + u32::try_from(round).expect("few rounds")
}

/// What a completion brought: inline, or in the rank's memory.
fn bytes_of(completion: &Completion, address: u64, len: u64, store: &RankStore) -> Vec<u8> {
    if completion.inline_len > 0 {
        return completion.inline_bytes().to_vec();
    }
    let start = usize::try_from(address).expect("small");
    store.bytes[start..start + usize::try_from(len).expect("small")].to_vec()
}
