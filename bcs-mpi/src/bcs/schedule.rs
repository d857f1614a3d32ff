//! Schedules: collectives that are made of messages, and how they move on.
//!
//! What a NIC does by itself (barrier, broadcast, reductions) is one descriptor. The other
//! collectives move different bytes between each pair of ranks, which is what BS, BR and DH do
//! already: they are *schedules* of messages and of local steps, which a rank makes when it posts
//! ([`super::exchange`]) and which move on in every call of the rank
//! ([`Endpoint::progress`], law 5), whatever that call is for. Blocking or not makes no
//! difference: a blocking call posts a schedule and waits for it. Whoever waits sleeps on the
//! rank's bell as for any other request; when something completes, the schedules are moved on
//! before the wait looks at what it is for.
//!
//! A schedule is: all its sends, posted at once; then *rounds* of receives, each followed by local
//! steps. Sends need not be over before a round is, because no send of a schedule depends on what
//! it receives. So all ranks' sends are always under way, no rank waits for the progress of a
//! third one, and a rank that computes for long delays only itself.
//!
//! **Matching.** Messages of schedules travel in a context of their own: the communicator's with
//! [`COLLECTIVE_MESSAGES`] added, which no communicator has, so no wildcard of the program sees
//! them. NICs match by the number of a context and need not know it for messages. Their tag is the
//! number of the collective on its communicator, so any number of them may be under way. A pair of
//! ranks exchanges the same number of messages whatever its counts are, empty ones included: if
//! the ranks disagree about a length, that is a failure at the receiver and not a hang.
//!
//! **Failure.** A schedule whose message failed still sends and receives all the others, so that
//! no message of it is left for a later one. It ends with the first failure, and its remaining
//! local steps are left out.
//!
//! **Steps** that take long, or call functions of the program's, are done without the endpoint's lock
//! ([`super::errands`]); the schedule waits for them as for a message.
//!
//! **Bound.** A schedule is posted only if there are request slots for all its sends and its first
//! round; otherwise nothing of it is posted. Later rounds wait for slots.
#![expect(
    unsafe_code,
    reason = "messages are named by address, as the NIC needs them"
)]

use super::endpoint::{Endpoint, State};
use super::errands::Errand;
use super::hierarchy::{Came, Hierarchy};
use super::request::{Handle, Request};
use crate::data::LONG_BYTES;
use crate::data::NEAR_SMALL_PIECE_BYTES;
use crate::data::Scratch;
use crate::data::{self, Piece};
use crate::plan::Part;
use crate::plan::{Local, Round};
use crate::roads::Blocking;
use crate::roads::smartmap::SmartMap;
use crate::roads::{Message, SendMode};
use crate::roads::{Outcome, TooManyRequests};
use bcs_core::limits::MAX_CONTEXTS;
use bcs_core::matching::Pattern;
use bcs_core::request::Failure;
use bcs_core::whereabouts::{Called, Entered, Exchange};
use std::collections::{BTreeMap, HashMap, VecDeque};

/// What is added to a communicator's context for the messages of its collectives.
pub const COLLECTIVE_MESSAGES: u32 = 1 << 31;

const _: () = assert!(MAX_CONTEXTS < COLLECTIVE_MESSAGES as usize);

/// A schedule that is to be posted.
#[derive(Debug, Default)]
pub(super) struct Plan {
    /// What the rank called, if it is not what its [`part`](Self::part) says.
    pub(super) called: Option<Called>,
    /// Before anything is sent.
    pub(super) first: Vec<Local>,
    /// To whom (a world rank), and what.
    pub(super) sends: Vec<(u32, Piece)>,
    pub(super) rounds: VecDeque<Round>,
    /// It is among the members of one communicator, who all call it, and whether the caller waits for it
    /// at once.
    pub(super) among: Option<Blocking>,
    /// A collective of the NIC, which is a part of the first round. NICs number them, so it must
    /// be posted with the schedule.
    pub(super) part: Option<Part>,
    /// What goes by the leaders of nodes, beside the rounds.
    pub(super) hierarchy: Option<Box<Hierarchy>>,
    pub(super) scratch: Scratch,
}

impl Plan {
    /// Packs what is sent in pieces, without the lock: all if it is for an `exchange`, else what is long and in
    /// small ones.
    ///
    /// # Safety
    /// What is sent is initialised and nobody writes it.
    unsafe fn pack(&mut self, exchange: bool) {
        let mut last: Option<(Piece, Piece)> = None;
        for (_, piece) in &mut self.sends {
            let Some(layout) = &piece.layout else {
                continue;
            };
            let small = piece.len > LONG_BYTES && layout.grain() < NEAR_SMALL_PIECE_BYTES;
            if !exchange && !small {
                continue;
            }
            // What goes to all is packed once.
            let known = last.as_ref().filter(|(from, _)| from == piece);
            let packed = known.map(|(_, packed)| packed.clone());
            let packed = packed.unwrap_or_else(|| {
                let to = self.scratch.piece(piece.len);
                // SAFETY: the caller's promise; the memory is fresh.
                unsafe { data::copy(piece, &to) };
                last = Some((piece.clone(), to.clone()));
                to
            });
            *piece = packed;
        }
    }

    /// A plan for what the rank called, with the world rank of its root.
    pub(super) fn of(exchange: Exchange, root: Option<u32>) -> Self {
        Self {
            called: Some(Called::Messages(exchange, root)),
            ..Self::default()
        }
    }

    /// The same, for what all members of a communicator call and have to wait for.
    pub(super) fn among(exchange: Exchange, root: Option<u32>, blocking: Blocking) -> Self {
        Self {
            among: Some(blocking),
            ..Self::of(exchange, root)
        }
    }
}

/// A schedule, for its request.
pub(super) type ScheduleId = u64;

/// A schedule under way.
#[derive(Debug)]
struct Schedule {
    /// Where its messages are matched, and as what.
    context: u32,
    tag: i32,
    /// What this rank has entered by it. One whose messages go nowhere has entered nothing.
    entered: Option<Entered>,
    sends: Vec<Handle>,
    /// Receives of this round that wait for a request slot.
    unposted: Vec<(u32, Piece)>,
    /// Those that wait for their messages, with the length each should have; a reduction has none.
    receives: Vec<(Handle, Option<u64>)>,
    /// What follows this round.
    then: Vec<Local>,
    rounds: VecDeque<Round>,
    hierarchy: Option<Box<Hierarchy>>,
    /// Sends that wait for a request slot.
    unsent: Vec<(u32, Piece)>,
    scratch: Scratch,
    failed: Option<Outcome>,
    /// Steps of it are being done without the lock.
    steps: bool,
}

/// How far a schedule has come.
#[derive(Debug)]
enum Advance {
    /// It waits for completions, and has posted more or not.
    Waits {
        posted: bool,
    },
    /// These steps are to be done without the lock.
    Steps(Vec<Local>),
    Done,
}

/// The schedules of a rank.
#[derive(Debug, Default)]
pub(super) struct Schedules {
    /// In the order of their posts.
    under_way: BTreeMap<ScheduleId, Schedule>,
    /// Those that are done and not yet asked for.
    ended: HashMap<ScheduleId, Outcome>,
    posted: u64,
    /// The count of completions when they were last moved on.
    looked_at: u64,
    /// Something else was done since then.
    looks_again: bool,
}

impl Schedules {
    /// Whether none is under way.
    pub(super) fn is_idle(&self) -> bool {
        self.under_way.is_empty()
    }

    /// How many nobody has asked for.
    pub(super) fn left(&self) -> usize {
        self.under_way.len() + self.ended.len()
    }

    /// Steps of a schedule are done.
    pub(super) fn stepped(&mut self, id: ScheduleId) {
        let schedule = self.under_way.get_mut(&id);
        schedule.expect("it waits for its steps").steps = false;
    }

    /// Something may have been done that no completion tells of.
    pub(super) fn look_again(&mut self) {
        self.looks_again = true;
    }

    pub(super) fn is_done(&self, id: ScheduleId) -> bool {
        self.ended.contains_key(&id)
    }

    /// What this rank has entered by schedules that are under way, the oldest first.
    pub(super) fn entered(&self) -> impl Iterator<Item = Entered> {
        self.under_way
            .values()
            .filter_map(|schedule| schedule.entered)
    }

    /// What it has entered by this one.
    pub(super) fn entered_by(&self, id: ScheduleId) -> Option<Entered> {
        self.under_way.get(&id)?.entered
    }

    /// Spends a schedule that is done.
    ///
    /// # Panics
    /// If it is spent: the caller kept a copy of its request.
    pub(super) fn take(&mut self, id: ScheduleId) -> Option<Outcome> {
        let outcome = self.ended.remove(&id);
        assert!(
            outcome.is_some() || self.under_way.contains_key(&id),
            "schedule {id} is spent"
        );
        outcome
    }
}

impl Schedule {
    fn note(&mut self, outcome: Outcome, expected: Option<u64>) {
        let short = expected.is_some_and(|expected| outcome.len < expected);
        let failure = match outcome.failure {
            Failure::None if short => Failure::Mismatch,
            failure => failure,
        };
        if failure != Failure::None && self.failed.is_none() {
            self.failed = Some(Outcome {
                failure,
                expected,
                ..outcome
            });
        }
    }

    /// Posts the receives of this round for which there are request slots. Returns whether that
    /// were all.
    fn post(&mut self, endpoint: &Endpoint, state: &mut State, posted: &mut bool) -> bool {
        while let Some((from, into)) = self.unposted.last() {
            let pattern = Pattern {
                context: self.context,
                source: Some(*from),
                tag: Some(self.tag),
            };
            let len = into.len as u64;
            // SAFETY: whoever posted the schedule promised that the memory stays until it is done.
            let request = unsafe { endpoint.receive(state, pattern, into.clone()) };
            let Ok(request) = request else {
                return false;
            };
            self.unposted.pop();
            self.receives.push((request, Some(len)));
            *posted = true;
        }
        true
    }

    /// Goes on with what goes by leaders. Returns whether that is over.
    fn lead(&mut self, endpoint: &Endpoint, state: &mut State, posted: &mut bool) -> bool {
        let Some(hierarchy) = &mut self.hierarchy else {
            return true;
        };
        let came = hierarchy.advance(endpoint, state, posted);
        self.failed = self.failed.take().or(hierarchy.failure());
        match came {
            Came::Waits => return false,
            Came::Over(None) => {}
            Came::Over(Some((sends, round))) => {
                self.unsent = sends;
                self.rounds.push_back(round);
            }
        }
        while let Some((destination, data)) = self.unsent.last().cloned() {
            let message = Message {
                context: self.context,
                destination,
                tag: self.tag,
                data,
            };
            // SAFETY: whoever posted the schedule promised that the memory stays until it is done.
            let sent = unsafe { endpoint.send(state, SendMode::Standard, &message) };
            let Ok(sent) = sent else {
                return false;
            };
            self.unsent.pop();
            *posted = true;
            if !matches!(sent.0, Handle::Complete(_)) {
                self.sends.push(sent.0);
            }
        }
        true
    }

    /// Goes as far as what has completed allows.
    fn advance(&mut self, endpoint: &Endpoint, state: &mut State) -> Advance {
        let mut posted = false;
        let led = self.lead(endpoint, state, &mut posted);
        loop {
            let all_posted = self.post(endpoint, state, &mut posted);
            while let Some(&(request, expected)) = self.receives.last() {
                let Some(outcome) = endpoint.take_posted(state, request) else {
                    return Advance::Waits { posted };
                };
                self.receives.pop();
                self.note(outcome, expected);
            }
            if !all_posted {
                return Advance::Waits { posted };
            }
            let steps = std::mem::take(&mut self.then);
            if self.failed.is_none() && steps.iter().any(Local::takes_long) {
                self.steps = true;
                return Advance::Steps(steps);
            }
            for local in steps {
                if self.failed.is_none() {
                    // SAFETY: whoever posted the schedule promised that the memory stays until it
                    // is done; what was to be received has come.
                    unsafe { local.run() };
                }
            }
            let Some(round) = self.rounds.pop_front() else {
                break;
            };
            self.unposted = round.receives;
            self.then = round.then;
        }
        if !led {
            return Advance::Waits { posted };
        }
        while let Some(&request) = self.sends.last() {
            let Some(outcome) = endpoint.take_posted(state, request) else {
                return Advance::Waits { posted };
            };
            self.sends.pop();
            self.note(outcome, None);
        }
        let hierarchy = self.hierarchy.as_mut();
        if hierarchy.is_some_and(|it| !it.sends_are_over(endpoint, state)) {
            return Advance::Waits { posted };
        }
        Advance::Done
    }
}

impl Drop for Schedule {
    fn drop(&mut self) {
        // Whatever made it end early, the NIC may still write there.
        if !self.receives.is_empty() || !self.sends.is_empty() {
            self.scratch.leave();
        }
        if let Some(hierarchy) = &mut self.hierarchy {
            hierarchy.leak();
        }
    }
}

impl Endpoint {
    /// Posts a schedule on a communicator's context.
    ///
    /// # Safety
    /// The memory that the plan names, other than its scratch memory, stays until the request is
    /// done; what is read is initialised and nobody writes it, and what is written nobody else
    /// uses.
    pub(super) unsafe fn post_schedule(
        &self,
        context: u32,
        mut plan: Plan,
    ) -> Result<Request, TooManyRequests> {
        for local in plan.first.drain(..) {
            // SAFETY: the caller's promise.
            unsafe { local.run() };
        }
        let exchanges = plan.among.is_some() && self.lock().exchanges(context);
        // SAFETY: the caller's promise.
        unsafe { plan.pack(exchanges) };
        let mut state = self.lock();
        if let Some(blocking) = plan.among.filter(|_| state.exchanges(context)) {
            // SAFETY: the caller's promise.
            return unsafe { self.post_exchange(state, context, plan, blocking) };
        }
        self.progress(&mut state);
        let first_round = plan.rounds.front().map_or(0, |round| round.receives.len());
        let by_leaders = plan.hierarchy.as_ref().map_or(0, |it| it.requests());
        let needed = plan.sends.len() + first_round + usize::from(plan.part.is_some()) + by_leaders;
        let near = state.near.as_ref().map_or(usize::MAX, SmartMap::room);
        if state.nic.room().min(near) < needed {
            return Err(TooManyRequests);
        }
        // A communicator of one is no context of the NIC's, and sends nothing.
        // What a collective of the NIC is a part of has no messages, and takes no number: whether a
        // broadcast is a schedule is each rank's own affair.
        let messages = plan.part.is_none();
        let known = state.contexts.get_mut(context).filter(|_| messages);
        let (tag, mut entered) = known.map_or((0, None), |known| {
            let called = plan.called.map(|called| known.enter(context, called));
            let tag = known.next_tag();
            if let Some(hierarchy) = &mut plan.hierarchy {
                hierarchy.post(context | COLLECTIVE_MESSAGES, known.next_tag());
            }
            (tag, called)
        });
        let mut schedule = Schedule {
            context: context | COLLECTIVE_MESSAGES,
            tag,
            entered: None,
            sends: Vec::new(),
            unposted: Vec::new(),
            receives: Vec::new(),
            then: Vec::new(),
            rounds: plan.rounds,
            hierarchy: plan.hierarchy,
            unsent: Vec::new(),
            scratch: plan.scratch,
            failed: None,
            steps: false,
        };
        if let Some(part) = plan.part {
            // SAFETY: the caller's promise; scratch memory lives as long as the schedule.
            let request = unsafe { self.arrive_at(&mut state, context, part, Blocking::No)? };
            schedule.receives.push((request, None));
            entered = match request {
                Handle::Nic(id) => state.nic.entered_by(id),
                Handle::Near(id) => state.near.as_mut().and_then(|near| near.entered_by(id)),
                Handle::Complete(_) | Handle::Schedule(_) => None,
            };
        }
        schedule.entered = entered;
        if let Some(round) = schedule.rounds.pop_front() {
            schedule.unposted = round.receives;
            schedule.then = round.then;
            // Before the sends: what comes early then finds its receive.
            schedule.post(self, &mut state, &mut false);
        }
        for (destination, data) in plan.sends {
            let message = Message {
                context: schedule.context,
                destination,
                tag,
                data,
            };
            // SAFETY: the caller's promise; scratch memory lives as long as the schedule.
            let sent = unsafe { self.send(&mut state, SendMode::Standard, &message) };
            let sent = sent.expect("there is a request slot for each send: it was counted");
            if !matches!(sent.0, Handle::Complete(_)) {
                schedule.sends.push(sent.0);
            }
        }
        let advance = schedule.advance(self, &mut state);
        if matches!(advance, Advance::Done) && schedule.failed.is_none() {
            self.progress(&mut state);
            self.leave(state);
            return Ok(Request(Handle::Complete(0)));
        }
        state.schedules.posted += 1;
        let id = state.schedules.posted;
        state.schedules.under_way.insert(id, schedule);
        state.advanced(id, advance);
        self.progress(&mut state);
        self.leave(state);
        Ok(Request(Handle::Schedule(id)))
    }

    /// Moves all schedules on, if anything has completed since they were last moved on. Returns
    /// whether anything was posted.
    pub(super) fn advance_schedules(&self, state: &mut State) -> bool {
        let near = state.near.as_ref().map_or(0, SmartMap::events);
        let completions = self.completions().wrapping_add(near);
        let Schedules {
            under_way,
            looked_at,
            looks_again,
            ..
        } = &mut state.schedules;
        if under_way.is_empty() || (*looked_at == completions && !*looks_again) {
            return false;
        }
        *looked_at = completions;
        *looks_again = false;
        let mut any_posted = false;
        let mut under_way = std::mem::take(under_way);
        let mut advanced = Vec::new();
        for (&id, schedule) in under_way.iter_mut().filter(|(_, it)| !it.steps) {
            match schedule.advance(self, state) {
                Advance::Waits { posted } => any_posted |= posted,
                further => advanced.push((id, further)),
            }
        }
        state.schedules.under_way = under_way;
        for (id, further) in advanced {
            state.advanced(id, further);
        }
        any_posted
    }
}

impl State {
    /// A schedule has come so far.
    fn advanced(&mut self, id: ScheduleId, advance: Advance) {
        match advance {
            Advance::Waits { .. } => {}
            Advance::Steps(steps) => self.errands.push(Errand::Steps {
                schedule: id,
                steps,
            }),
            Advance::Done => {
                let ended = self.schedules.under_way.remove(&id);
                let failed = ended.and_then(|mut ended| ended.failed.take());
                let outcome = failed.unwrap_or_default();
                self.schedules.ended.insert(id, outcome);
            }
        }
    }
}
