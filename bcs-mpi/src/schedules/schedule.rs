//! Schedules: collectives that are made of messages, and how they move on.
//!
//! A collective that a NIC does by itself (barrier, broadcast, reductions) is one descriptor. The
//! other collectives move different bytes between each pair of ranks, as BS, BR and DH do already.
//! They are *schedules* of messages and of local steps, which a rank makes when it posts
//! ([`crate::collective`]) and which advance in every call of the rank (law 5), whatever that call
//! is for. A blocking call posts a schedule and waits for it. A thread that waits sleeps on the
//! rank's bell as for any other request. When something completes, the schedules advance before the
//! wait polls its target.
//!
//! A schedule is: all its sends, posted at once; then *rounds* of receives, each followed by local
//! steps. Sends need not be over before a round is, because no send of a schedule depends on what
//! it receives. So all ranks' sends are always under way, no rank waits for the progress of a third
//! one, and a rank that computes for long delays only itself.
//!
//! **Matching.** Messages of schedules travel in a context of their own: the communicator's with
//! [`COLLECTIVE_MESSAGES`] added, which no communicator has, so no wildcard of the program sees
//! them. NICs match by the number of a context and need not know it for messages. Their tag is the
//! number of the collective on its communicator, so any number of them may be under way. A pair of
//! ranks exchanges the same number of messages whatever its counts are, empty ones included: if the
//! ranks disagree about a length, the receiver fails and does not hang.
//!
//! **A wrong argument.** A rank whose call had one sends and receives as many messages as the
//! others wait for. They are empty, and their mark holds the error ([`InvalidCall`]): it names the
//! rank and the function to the receiver.
//!
//! **Failure.** A schedule whose message failed still sends and receives all the others, so that no
//! message of it is left for a later schedule. It ends with the first failure, and its remaining
//! local steps are left out.
//!
//! **Steps** that take long, or call functions of the program, are done without the endpoint's lock
//! ([`crate::endpoint`], `deferred_copies.rs`). The schedule waits for them as for a message.
//!
//! **Bound.** A schedule is posted only if there are request slots for all its sends and its first
//! round; otherwise nothing of it is posted. Later rounds wait for slots.

use super::blocks_by_leaders::{BlocksByLeaders, LeaderProgress};
use super::sends::Sends;
use crate::data::{DataView, Scratch};
use crate::steps::{LocalStep, Round};
use crate::transport::{Mux, RequestOutcome, TransportHandle};
use bcs_core::descriptor::{CollectiveKind, InvalidCall};
use bcs_core::limits::MAX_CONTEXTS;
use bcs_core::request::RequestFailure;
use bcs_core::wait_state::{CalledCollective, ConflictingCall, EnteredCollective};
use std::collections::{BTreeMap, HashMap, VecDeque};

/// The bit that is added to a communicator's context for the messages of its collectives.
pub use bcs_core::wait_state::COLLECTIVE_MESSAGES;

const _: () = assert!(MAX_CONTEXTS < COLLECTIVE_MESSAGES as usize);

/// The number of a schedule, for its request.
pub(crate) type ScheduleId = u64;

/// A schedule under way.
#[derive(Debug)]
pub(crate) struct Schedule {
    /// The context and the tag with which its messages are matched.
    context: u32,
    tag: i32,
    /// The collective that this rank has entered by it. A schedule that sends no messages has
    /// entered nothing.
    entered: Option<EnteredCollective>,
    sends: Sends,
    /// Receives of this round that wait for a request slot.
    unposted: Vec<(u32, DataView)>,
    /// Receives that wait for their messages, with the length of each; a reduction has none.
    receives: Vec<(TransportHandle, Option<u64>)>,
    /// The steps after this round.
    then: Vec<LocalStep>,
    rounds: VecDeque<Round>,
    hierarchy: Option<Box<BlocksByLeaders>>,
    scratch: Scratch,
    failed: Option<RequestOutcome>,
    /// Steps of it are being done without the lock.
    steps: bool,
}

/// Steps of a schedule that are to be done without the lock.
#[derive(Debug)]
pub(crate) struct DeferredSteps {
    pub(crate) schedule: ScheduleId,
    pub(crate) steps: Vec<LocalStep>,
}

/// The progress of a schedule.
#[derive(Debug)]
pub(crate) enum ScheduleProgress {
    /// It waits for completions. It has posted more or not.
    Waits {
        posted: bool,
    },
    /// These steps have to be done without the lock.
    Steps(Vec<LocalStep>),
    Done,
}

/// The schedules of a rank.
#[derive(Debug, Default)]
pub(crate) struct Schedules {
    /// In the order of their posts.
    under_way: BTreeMap<ScheduleId, Schedule>,
    /// Outcomes that no call has taken yet.
    ended: HashMap<ScheduleId, RequestOutcome>,
    posted: u64,
    /// The count of completions when they last advanced.
    looked_at: u64,
    /// Something else has changed since then.
    looks_again: bool,
}

impl Schedules {
    /// Returns whether no schedule is under way.
    pub(crate) fn is_idle(&self) -> bool {
        self.under_way.is_empty()
    }

    /// Returns how many are under way or not yet taken.
    pub(crate) fn left(&self) -> usize {
        self.under_way.len() + self.ended.len()
    }

    /// Returns how many are done and not yet taken.
    pub(crate) fn unasked(&self) -> usize {
        self.ended.len()
    }

    /// Adds a posted schedule with its progress. Returns its id, and the steps to do without the
    /// lock.
    pub(crate) fn insert(
        &mut self,
        schedule: Schedule,
        advance: ScheduleProgress,
    ) -> (ScheduleId, Option<DeferredSteps>) {
        self.posted += 1;
        let id = self.posted;
        self.under_way.insert(id, schedule);
        (id, self.advanced(id, advance))
    }

    /// Advances all schedules, if there were completions since they last advanced. `completions` is
    /// the count so far. Hands over the steps to do without the lock. Returns whether anything was
    /// posted.
    pub(crate) fn advance(
        &mut self,
        roads: &mut Mux,
        completions: u64,
        mut hand_over: impl FnMut(DeferredSteps),
    ) -> bool {
        if self.under_way.is_empty() || (self.looked_at == completions && !self.looks_again) {
            return false;
        }
        self.looked_at = completions;
        self.looks_again = false;
        let (mut any_posted, mut advanced) = (false, Vec::new());
        let refusals = roads.refusals();
        for (&id, schedule) in self.under_way.iter_mut().filter(|(_, it)| !it.steps) {
            match schedule.advance(roads) {
                ScheduleProgress::Waits { posted } => any_posted |= posted,
                further => advanced.push((id, further)),
            }
        }
        for (id, further) in advanced {
            self.advanced(id, further)
                .into_iter()
                .for_each(&mut hand_over);
        }
        // A schedule that was refused tries again: at once if others have freed slots since.
        self.looks_again = roads.refusals() != refusals;
        any_posted |= self.looks_again && roads.room() > 0;
        any_posted
    }

    /// Records the progress of a schedule. Returns the steps to do without the lock.
    fn advanced(&mut self, id: ScheduleId, advance: ScheduleProgress) -> Option<DeferredSteps> {
        match advance {
            ScheduleProgress::Waits { .. } => None,
            ScheduleProgress::Steps(steps) => Some(DeferredSteps {
                schedule: id,
                steps,
            }),
            ScheduleProgress::Done => {
                let ended = self.under_way.remove(&id);
                let failed = ended.and_then(|mut ended| ended.failed.take());
                self.ended.insert(id, failed.unwrap_or_default());
                None
            }
        }
    }

    /// Records that steps of a schedule are done.
    pub(crate) fn stepped(&mut self, id: ScheduleId) {
        let schedule = self.under_way.get_mut(&id);
        schedule.expect("it waits for its steps").steps = false;
    }

    /// Makes the schedules advance again, after a change that no completion reports.
    pub(crate) fn look_again(&mut self) {
        self.looks_again = true;
    }

    pub(crate) fn is_done(&self, id: ScheduleId) -> bool {
        self.ended.contains_key(&id)
    }

    /// Returns the collectives that this rank has entered by schedules that are under way, the
    /// oldest first.
    pub(crate) fn entered(&self) -> impl Iterator<Item = EnteredCollective> {
        self.under_way
            .values()
            .filter_map(|schedule| schedule.entered)
    }

    /// Returns the collective that it has entered by this schedule.
    pub(crate) fn entered_by(&self, id: ScheduleId) -> Option<EnteredCollective> {
        self.under_way.get(&id)?.entered
    }

    /// Returns how many requests this schedule has now.
    pub(crate) fn held_by(&self, id: ScheduleId) -> usize {
        let schedule = self.under_way.get(&id);
        schedule.map_or(0, |it| it.receives.len() + it.sends.count_under_way())
    }

    /// Returns the messages that this schedule waits for.
    pub(crate) fn awaited_by(&self, id: ScheduleId) -> Vec<TransportHandle> {
        let schedule = self.under_way.get(&id);
        let awaited = schedule.map(|schedule| schedule.receives.iter().map(|&(handle, _)| handle));
        awaited.into_iter().flatten().collect()
    }

    /// Takes the outcome of a schedule that is done, and spends it.
    ///
    /// # Panics
    /// If it is spent: the caller kept a copy of its request.
    pub(crate) fn take(&mut self, id: ScheduleId) -> Option<RequestOutcome> {
        let outcome = self.ended.remove(&id);
        assert!(
            outcome.is_some() || self.under_way.contains_key(&id),
            "schedule {id} is spent"
        );
        outcome
    }
}

impl Schedule {
    /// Makes a schedule whose messages have this context and tag. The rounds follow each other as
    /// in the plan.
    pub(crate) fn new(
        (context, tag): (u32, i32),
        rounds: VecDeque<Round>,
        hierarchy: Option<Box<BlocksByLeaders>>,
        scratch: Scratch,
    ) -> Self {
        Self {
            context: context | COLLECTIVE_MESSAGES,
            tag,
            entered: None,
            sends: Sends::default(),
            unposted: Vec::new(),
            receives: Vec::new(),
            then: Vec::new(),
            rounds,
            hierarchy,
            scratch,
            failed: None,
            steps: false,
        }
    }

    /// Makes it wait for this operation as for a message.
    pub(crate) fn add_awaited(&mut self, handle: TransportHandle) {
        self.receives.push((handle, None));
    }

    /// Sets the collective that the rank has entered by it.
    pub(crate) fn set_entered(&mut self, entered: Option<EnteredCollective>) {
        self.entered = entered;
    }

    /// Records that the rank called it with a wrong argument.
    pub(crate) fn mark_invalid(&mut self, call: InvalidCall) {
        self.sends.mark_invalid(call);
    }

    /// Returns whether it is over, so far without a failure.
    pub(crate) fn is_over(&self, advance: &ScheduleProgress) -> bool {
        matches!(advance, ScheduleProgress::Done) && self.failed.is_none()
    }

    /// Posts the first round and then the sends, so that early messages find their receives.
    ///
    /// # Panics
    /// If there is no request slot for each. The caller has to count them before.
    pub(crate) fn begin(
        &mut self,
        roads: &mut Mux,
        sends: Vec<(u32, DataView)>,
    ) -> ScheduleProgress {
        if let Some(round) = self.rounds.pop_front() {
            self.unposted = round.receives;
            self.then = round.then;
            self.post(roads, &mut false);
        }
        self.sends.extend(sends);
        let all_sent = self.send(roads, &mut false);
        assert!(
            all_sent,
            "there is a request slot for each send: it was counted"
        );
        self.advance(roads)
    }

    /// Posts the sends for which there are request slots. Returns whether it has posted all.
    fn send(&mut self, roads: &mut Mux, posted: &mut bool) -> bool {
        let on = (self.context, self.tag);
        self.sends.post(roads, on, posted)
    }

    /// Records a message that stands for one of a call with a wrong argument. Other failures come
    /// from it.
    #[cold]
    fn note_invalid(&mut self, from: u32, call: InvalidCall) {
        let kind = CollectiveKind::Invalid(call);
        let called = CalledCollective::Nic { kind, bytes: 0 };
        let against = ConflictingCall { rank: from, called };
        self.failed = Some(RequestOutcome {
            failure: RequestFailure::Mismatch,
            len: against.pack(),
            ..RequestOutcome::default()
        });
    }

    fn note(&mut self, outcome: RequestOutcome, expected: Option<u64>) {
        if !outcome.mark.is_none()
            && expected.is_some()
            && let Some(call) = InvalidCall::from_check_bits(outcome.mark)
        {
            return self.note_invalid(outcome.source, call);
        }
        let short = expected.is_some_and(|expected| outcome.len < expected);
        let failure = match outcome.failure {
            RequestFailure::None if short => RequestFailure::Mismatch,
            failure => failure,
        };
        if failure != RequestFailure::None && self.failed.is_none() {
            self.failed = Some(RequestOutcome {
                failure,
                expected,
                ..outcome
            });
        }
    }

    /// Posts the receives of this round for which there are request slots. Returns whether it has
    /// posted all.
    fn post(&mut self, roads: &mut Mux, posted: &mut bool) -> bool {
        while let Some((from, into)) = self.unposted.last() {
            let from = (*from, self.context, self.tag);
            let len = into.len() as u64;
            let request = roads.receive_from(from, into.clone());
            let Ok(request) = request else {
                return false;
            };
            self.unposted.pop();
            self.receives.push((request, Some(len)));
            *posted = true;
        }
        true
    }

    /// Advances the part that goes by leaders. Returns whether that is over.
    fn advance_hierarchy(&mut self, roads: &mut Mux, posted: &mut bool) -> bool {
        let Some(hierarchy) = &mut self.hierarchy else {
            return true;
        };
        let came = hierarchy.advance(roads, posted);
        self.failed = self.failed.take().or(hierarchy.failure());
        match came {
            LeaderProgress::Waits => return false,
            LeaderProgress::Over(None) => {}
            LeaderProgress::Over(Some((sends, round))) => {
                self.sends.extend(sends);
                self.rounds.push_back(round);
            }
        }
        self.send(roads, posted)
    }

    /// Goes as far as the completions allow.
    fn advance(&mut self, roads: &mut Mux) -> ScheduleProgress {
        let mut posted = false;
        let hierarchy_is_over = self.advance_hierarchy(roads, &mut posted);
        loop {
            let all_posted = self.post(roads, &mut posted);
            while let Some(&(request, expected)) = self.receives.last() {
                let Some(outcome) = roads.take(request) else {
                    return ScheduleProgress::Waits { posted };
                };
                self.receives.pop();
                self.note(outcome, expected);
            }
            if !all_posted {
                return ScheduleProgress::Waits { posted };
            }
            let steps = std::mem::take(&mut self.then);
            if self.failed.is_none() && steps.iter().any(LocalStep::takes_long) {
                self.steps = true;
                return ScheduleProgress::Steps(steps);
            }
            for local in steps {
                if self.failed.is_none() {
                    local.run();
                }
            }
            let Some(round) = self.rounds.pop_front() else {
                break;
            };
            self.unposted = round.receives;
            self.then = round.then;
        }
        if !hierarchy_is_over {
            return ScheduleProgress::Waits { posted };
        }
        while let Some(outcome) = self.sends.take(roads) {
            self.note(outcome, None);
        }
        let hierarchy = self.hierarchy.as_mut();
        if !self.sends.are_over() || hierarchy.is_some_and(|it| !it.sends_are_over(roads)) {
            return ScheduleProgress::Waits { posted };
        }
        ScheduleProgress::Done
    }
}

impl Drop for Schedule {
    fn drop(&mut self) {
        // The schedule has ended early. The NIC may still write there.
        if !self.receives.is_empty() || self.sends.any_under_way() {
            self.scratch.leave();
        }
        if let Some(hierarchy) = &mut self.hierarchy {
            hierarchy.leak();
        }
    }
}
