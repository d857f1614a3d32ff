//! A scripted rank: posts what its program says and checks the results.
//!
//! | file | content |
//! |---|---|
//! | `posts.rs` | the posts of messages |
//! | `arrivals.rs` | the arrivals at contexts and collectives |
//! | `result_checks.rs` | the checks of the results |

mod arrivals;
mod posts;
mod result_checks;

use super::canary_buffer::CanaryBuffer;
use super::checkers::{Checker, check_release};
use super::program::{CONTEXTS, ProgramPost, ScriptedProgram};
use bcs_core::job::{NicThreadId, Placement, Settings};
use bcs_core::memory::ring::Producer;
use bcs_core::memory::{MappedWords, NicMemory};
use bcs_core::request::{Completion, RequestFailure, RequestId};
use bcs_core::wake::MachinePage;
use bcs_fabric::sim::RankStore;
use std::sync::atomic::Ordering;

/// Bytes of a rank's own memory.
pub(super) const MEMORY_BYTES: usize = 1 << 23;
/// The first byte of it that is used: address 0 means "no layout".
const MEMORY_START: usize = 8;

/// The purpose of a request.
#[derive(Clone, Debug)]
enum RequestPurpose {
    /// A send; the memory to be read may be missing.
    Send {
        missing: bool,
    },
    /// A receive, with its number among those of the round; `None` for the second half of one that
    /// began with an extraction.
    Receive {
        nth: Option<usize>,
        into: CanaryBuffer,
        missing: bool,
    },
    /// The first half of a receive by extraction.
    Extract {
        capacity: usize,
        pieces: Option<u64>,
    },
    ProbeOnce,
    Cancelled,
    Collective {
        address: u64,
    },
    /// A collective beside the round's own, by its number among these.
    Beside {
        nth: usize,
        address: u64,
    },
    Open {
        context: u32,
    },
    Close,
    /// A barrier of the world, after which all have closed their contexts, or opened them.
    Meeting,
}

#[derive(Clone, Debug)]
struct OutstandingRequest {
    request: RequestId,
    purpose: RequestPurpose,
    posted_cut: u64,
    completion: Option<Completion>,
}

/// The next action of a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NextAction {
    Open,
    Compute(usize),
    /// The messages of a round, from this post on.
    Messages(usize, usize),
    Collective(usize),
    /// The next step of a round that closes the contexts and opens them again.
    Again(usize, ReopenStep),
    Finished,
}

/// A step of reopening. All close their contexts before any rank opens one of them again, and open
/// them before any rank uses one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ReopenStep {
    Close,
    MeetClosed,
    Open,
    MeetOpened,
}

/// A scripted rank.
#[derive(Debug)]
pub(super) struct ScriptedRank {
    pub(super) rank: u32,
    memory: NicMemory,
    sends: Producer<MappedWords>,
    receives: Producer<MappedWords>,
    collectives: Producer<MappedWords>,
    /// The number of collectives posted up to the last one that needs a slice.
    needs_slice: u64,
    next: NextAction,
    /// When its computation ends.
    pub(super) busy_until_ns: u64,
    waiting: bool,
    outstanding: Vec<OutstandingRequest>,
    /// Receives posted in this round.
    receives_posted: usize,
    /// Receives of this round without a send, with the cut after which they were posted.
    decoys: Vec<(RequestId, u64)>,
    /// The first byte of its memory that is free in this round.
    free: usize,
    requests: u32,
    payloads: usize,
    sequences: [u64; CONTEXTS],
    /// Which contexts are open. Those with a node that had died are not.
    opened: [bool; CONTEXTS],
    /// Messages and collectives checked.
    pub(super) checked: u64,
    /// Completions seen.
    completions: u64,
    /// How often it got an error because memory was not there.
    pub(super) memory_faults: u64,
}

/// The view that a rank has of its world while it acts.
pub(super) struct RankView<'a> {
    pub(super) program: &'a ScriptedProgram,
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
            needs_slice: 0,
            memory,
            next: NextAction::Open,
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
        self.next == NextAction::Finished && !self.waiting
    }

    /// Describes its state, for a checker's violation.
    pub(super) fn describe(&self) -> String {
        let waits: Vec<&RequestPurpose> = self
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
        // A request that completes twice would be taken for a later use of its slot.
        self.memory.completions().load(Ordering::Acquire) != self.completions
            || self.sends.consumed() < self.sends.pushed()
            || self.receives.consumed() < self.receives.pushed()
            || self.collectives.consumed() < self.collectives.pushed()
            || self.memory.unexpected().load(Ordering::Relaxed) != 0
            || self.memory.undelivered_sends().load(Ordering::Relaxed) != 0
    }

    /// Acts as far as possible. Returns words for the trace if it did anything.
    pub(super) fn act(
        &mut self,
        world: &RankView<'_>,
        store: &mut RankStore,
    ) -> Result<Option<u64>, (Checker, String)> {
        let mut acted = None;
        loop {
            if self.waiting {
                if !self.poll_completions(world, store)? {
                    return Ok(acted);
                }
                self.waiting = false;
                world.page.count_blocked(false);
                self.check(world, store)?;
            } else if world.now_ns < self.busy_until_ns || self.next == NextAction::Finished {
                return Ok(acted);
            }
            acted = Some(u64::from(self.rank) << 32 | self.checked);
            self.step(world, store);
        }
    }

    fn step(&mut self, world: &RankView<'_>, store: &mut RankStore) {
        let rounds = &world.program.rounds;
        if !matches!(self.next, NextAction::Messages(_, 1..)) {
            self.outstanding.clear();
            self.free = MEMORY_START;
            self.receives_posted = 0;
        }
        self.next = match self.next {
            NextAction::Open => {
                self.open_all(world, store);
                NextAction::Compute(0)
            }
            NextAction::Compute(round) if round == rounds.len() => NextAction::Finished,
            NextAction::Compute(round) => {
                self.busy_until_ns = world.now_ns + rounds[round].compute_ns[self.rank as usize];
                NextAction::Messages(round, 0)
            }
            NextAction::Messages(round, from) => {
                if let Some(next) = self.post_until_pause((round, from), world, store) {
                    self.next = next;
                    self.request_slice(world);
                    return;
                }
                NextAction::Collective(round)
            }
            NextAction::Collective(round) => {
                self.cancel_decoys(round, world);
                let together = rounds[round].collective_of(self.rank);
                if let (Some((context, _)), Some(together)) = (&rounds[round].together, together) {
                    let ranks = u32::try_from(world.placement.ranks()).expect("few");
                    let members = world.program.members(*context, ranks);
                    if members.contains(&self.rank) && self.opened[*context as usize] {
                        let arrival = rounds[round].arrival(self.rank, &members, world.placement);
                        self.join((*context, arrival), together, round, world, store);
                    }
                }
                self.join_side_collectives(round, world, store);
                match rounds[round].reopens {
                    true => NextAction::Again(round, ReopenStep::Close),
                    false => NextAction::Compute(round + 1),
                }
            }
            NextAction::Again(round, step) => self.reopen_contexts(round, step, world, store),
            NextAction::Finished => NextAction::Finished,
        };
        self.request_slice(world);
        if !self.outstanding.is_empty() {
            self.waiting = true;
            world.page.count_blocked(true);
            if world.page.wanted().0 {
                world.page.demand();
            }
        }
    }

    /// Posts the messages of a round from `from` on. Returns the next action if the rank computes
    /// in between.
    fn post_until_pause(
        &mut self,
        (round, from): (usize, usize),
        world: &RankView<'_>,
        store: &mut RankStore,
    ) -> Option<NextAction> {
        let posts = &world.program.rounds[round].posts[self.rank as usize];
        for (at, post) in posts.iter().enumerate().skip(from) {
            if let ProgramPost::Compute(ns) = post {
                self.busy_until_ns = world.now_ns + ns;
                return Some(NextAction::Messages(round, at + 1));
            }
            self.post(post, round, world, store);
        }
        None
    }

    /// Requests a slice by law 2: for sends and collectives, and for receives only if BR holds
    /// messages. The NIC itself must notice messages that come later.
    fn request_slice(&mut self, world: &RankView<'_>) {
        let page = world.page;
        let unexpected = self.memory.unexpected().load(Ordering::Relaxed) != 0;
        let sends = self.sends.consumed() < self.sends.pushed();
        let receives = unexpected && self.receives.consumed() < self.receives.pushed();
        let arrived = self.collectives.consumed() < self.collectives.pushed();
        let goes_ahead = world.settings.strobe.is_elastic() && page.spans_machines();
        if goes_ahead {
            let node = world.placement.node_of(self.rank).expect("it has one");
            if sends || arrived {
                page.nudge(node, NicThreadId::BufferSender);
            }
            if receives {
                page.nudge(node, NicThreadId::BufferReceiver);
            }
        }
        // A short collective needs no slice.
        let posted = self.collectives.consumed() < self.needs_slice
            || (!goes_ahead && (sends || receives || arrived));
        if posted {
            page.arm_at(|| world.now_ns);
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

    fn expect(&mut self, purpose: RequestPurpose, world: &RankView<'_>) -> RequestId {
        let request = self.request();
        let posted_cut = world.cuts;
        let outstanding = OutstandingRequest {
            request,
            purpose,
            posted_cut,
            completion: None,
        };
        self.outstanding.push(outstanding);
        request
    }

    fn place(&mut self, len: usize, pieces: Option<u64>, store: &mut RankStore) -> CanaryBuffer {
        let place = CanaryBuffer::new(len, pieces, self.free, store);
        self.free = place.end();
        assert!(
            self.free <= MEMORY_BYTES,
            "a round fits a scripted rank's memory"
        );
        place
    }

    fn write(&mut self, bytes: &[u8], store: &mut RankStore) -> u64 {
        let place = self.place(bytes.len(), None, store);
        place.fill(bytes, store);
        place.location.address
    }

    /// Polls the completions. Returns true when all have come.
    fn poll_completions(
        &mut self,
        world: &RankView<'_>,
        store: &mut RankStore,
    ) -> Result<bool, (Checker, String)> {
        let mut extracted = Vec::new();
        for outstanding in &mut self.outstanding {
            if outstanding.completion.is_none() {
                outstanding.completion = self.memory.completion(outstanding.request);
                if outstanding.completion.is_some() {
                    // The cancel is answered, too, though nobody waits for it.
                    let cancelled = matches!(outstanding.purpose, RequestPurpose::Cancelled);
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
                    .is_some_and(|completion| completion.failure == RequestFailure::None);
                if whole && matches!(outstanding.purpose, RequestPurpose::Extract { .. }) {
                    extracted.push(outstanding.clone());
                }
            }
        }
        if let NextAction::Collective(round) = self.next {
            for extracted in &extracted {
                self.receive_extracted(extracted, round, world, store);
            }
        }
        Ok(self
            .outstanding
            .iter()
            .all(|outstanding| outstanding.completion.is_some()))
    }
}

/// Returns the number that distinguishes the data of a side collective from those of all others.
/// Rounds are fewer than eight.
fn number_beside(nth: usize, round: usize) -> usize {
    round + 8 * (nth + 1)
}

/// Makes room for `len` bytes, of which the second half is beyond a rank's memory.
fn partly_missing_buffer(len: usize, store: &RankStore) -> CanaryBuffer {
    CanaryBuffer::beyond(MEMORY_BYTES - len / 2, store)
}
