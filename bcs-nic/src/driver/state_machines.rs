//! The state machines of an OS thread of a NIC, and what they work with.
//!
//! The thread that has locked them lets them work: their own OS thread, or another one of the
//! process that would have to wake it ([`super::os_thread`]).

use super::reports::Recordings;
use crate::failure::{NicFailure, NicFailureCause};
use crate::mail::Mail;
use crate::threads::{
    NicThread, NicThreadContext, Outbox, StalledWork, StrobeSender, UnmatchedOperations,
};
use bcs_core::clock::now_ns;
use bcs_core::job::{NicThreadId, NodeId};
use bcs_core::matching::{MessageEnvelope, Pattern};
use bcs_core::memory::NicMemory;
use bcs_core::wake::MachinePage;
use bcs_core::wake::machine_page::BellId;
use bcs_fabric::Port;
use bcs_fabric::shm::{ColocatedPorts, PendingBells, RankMemoryAccess, Sequencer};
use crossbeam_channel::{Receiver, Sender};
use mds::emds::StrobeRecorder;
use std::any::Any;
use std::cell::Cell;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

/// Mail from another OS thread.
pub(super) type AddressedMail = (NodeId, NicThreadId, Mail);

/// How to reach the OS thread of a NIC thread.
#[derive(Clone, Debug)]
pub(super) struct MailRoute {
    pub(super) sender: Sender<AddressedMail>,
    pub(super) bell: BellId,
}

/// The routes to all NIC threads of this process.
pub(super) type Routes = HashMap<(NodeId, NicThreadId), MailRoute>;

/// A state machine and what it works with.
pub(super) struct HostedNicThread {
    pub(super) node: NodeId,
    pub(super) thread: NicThreadId,
    pub(super) machine: Box<dyn NicThread>,
    pub(super) port: Box<dyn Port + Send>,
    pub(super) memory: RankMemoryAccess,
    /// Whether it is among those that poll the fabric in every turn.
    pub(super) looks: bool,
    /// The time in its routines, if that is recorded: for SR in all, for others since they last
    /// reported to SR.
    pub(super) worked_ns: u64,
}

/// The state machines of an OS thread, and all that they need.
pub(super) struct StateMachinesConfig {
    pub(super) seats: Vec<HostedNicThread>,
    pub(super) strobing: Option<StrobeParts>,
    /// The state that all ports of the job share, if they are all here.
    pub(super) colocated: Option<ColocatedPorts>,
    /// Otherwise: the bells of threads for which the ports have something.
    pub(super) bells: PendingBells,
    /// How to reach the state machines of other OS threads of the process.
    pub(super) routes: Arc<Routes>,
    pub(super) inbox: Receiver<AddressedMail>,
    pub(super) page: MachinePage,
    /// NIC memory by world rank, of the ranks on the hosted nodes.
    pub(super) memories: Arc<Vec<Option<NicMemory>>>,
    /// Whether routines are timed.
    pub(super) is_recorded: bool,
}

/// The Strobe Sender and the sequencer, where they run.
pub(super) struct StrobeParts {
    pub(super) sender: StrobeSender,
    /// Where other OS threads than this one have ports.
    pub(super) sequencer: Option<Sequencer>,
    pub(super) port: Box<dyn Port + Send>,
    /// The recorder, if slices are recorded.
    pub(super) recorder: Option<StrobeRecorder>,
    /// Whether its host has been notified that it rests.
    pub(super) rest_is_said: bool,
}

/// The state machines of an OS thread.
pub(super) struct StateMachines {
    hosted: StateMachinesConfig,
    /// The place among them of each NIC thread of the job; [`ELSEWHERE`] if it is not here.
    places: Vec<usize>,
    /// The places of those that poll the fabric in every turn. Unless all do, signalled threads are
    /// known.
    looking: Vec<usize>,
    /// The other half of that list, empty between turns.
    looked: Vec<usize>,
    letters: VecDeque<(usize, Mail)>,
    out: Outbox,
    /// Ranks to ring.
    to_ring: Vec<u32>,
    /// OS threads of NICs that have got something to do.
    to_wake: Vec<BellId>,
    /// The time that their OS thread's timer is set to.
    told_ns: Option<u64>,
    /// The place of the state machine that works; [`STROBE_SENDER_PLACE`] for the Strobe Sender.
    working: usize,
    beginning: TurnStart,
    stopwatch: Option<Stopwatch>,
}

/// Times the routines of one state machine after the other. It reads the clock once at the end of
/// each, where the next one begins.
#[derive(Debug, Default)]
struct Stopwatch {
    since_ns: Option<u64>,
}

impl Stopwatch {
    fn begin(&mut self) {
        self.since_ns.get_or_insert_with(now_ns);
    }

    fn lap_ns(&mut self) -> u64 {
        let now_ns = now_ns();
        let since_ns = self.since_ns.replace(now_ns);
        since_ns.map_or(0, |since_ns| now_ns.saturating_sub(since_ns))
    }
}

/// The time when a turn began, read once if it is needed. All that is struck or arrives in the turn
/// has this time.
#[derive(Debug, Default)]
struct TurnStart(Cell<Option<u64>>);

impl TurnStart {
    fn forget(&self) {
        self.0.set(None);
    }

    fn ns(&self) -> u64 {
        let ns = self.0.get().unwrap_or_else(now_ns);
        self.0.set(Some(ns));
        ns
    }
}

const STROBE_SENDER_PLACE: usize = usize::MAX;
const ELSEWHERE: usize = usize::MAX;

/// Returns the number of a NIC thread of the job.
fn thread_index(node: NodeId, thread: NicThreadId) -> usize {
    node.index() * NicThreadId::COUNT + thread.index()
}

impl StateMachines {
    pub(super) fn new(hosted: StateMachinesConfig) -> Self {
        let numbers = || {
            let seats = hosted.seats.iter();
            seats.map(|seat| thread_index(seat.node, seat.thread))
        };
        let mut places = vec![ELSEWHERE; numbers().max().map_or(0, |last| last + 1)];
        for (at, number) in numbers().enumerate() {
            places[number] = at;
        }
        Self {
            stopwatch: hosted.is_recorded.then(Stopwatch::default),
            hosted,
            places,
            looking: Vec::new(),
            looked: Vec::new(),
            letters: VecDeque::new(),
            out: Outbox::default(),
            to_ring: Vec::new(),
            to_wake: Vec::new(),
            told_ns: None,
            working: STROBE_SENDER_PLACE,
            beginning: TurnStart::default(),
        }
    }

    /// Ends the measured time: something else than a node's state machine runs now.
    fn stop_the_watch(&mut self) {
        if let Some(stopwatch) = &mut self.stopwatch {
            stopwatch.since_ns = None;
        }
    }

    /// Returns the failure for a panic of the state machine that worked last.
    pub(super) fn panic_failure(&self, panic: &(dyn Any + Send)) -> NicFailure {
        let words = panic
            .downcast_ref::<String>()
            .map(String::as_str)
            .or_else(|| panic.downcast_ref::<&str>().copied());
        let seat = self.hosted.seats.get(self.working);
        NicFailure {
            node: seat.map_or(NodeId(0), |seat| seat.node),
            cause: NicFailureCause::Panicked {
                thread: seat.map(|seat| seat.thread),
                said: words.unwrap_or("it did not say why").to_owned(),
            },
        }
    }

    /// Runs until nothing advances by itself. Returns the failures that must end the job.
    pub(super) fn run_until_rest(&mut self) -> Vec<NicFailure> {
        self.stop_the_watch();
        while self.turn() {}
        self.ring();
        std::mem::take(&mut self.out.failures)
    }

    /// Tells the Strobe Sender to rest, if it is here.
    pub(super) fn quiesce(&mut self) {
        if let Some(strobing) = &mut self.hosted.strobing {
            strobing.sender.quiesce();
        }
    }

    /// Whether it has come to rest since the last call.
    pub(super) fn has_newly_quiesced(&mut self) -> bool {
        let rests = self.has_rest_to_say();
        if let Some(strobing) = &mut self.hosted.strobing {
            strobing.rest_is_said |= rests;
        }
        rests
    }

    fn has_rest_to_say(&self) -> bool {
        let strobing = self.hosted.strobing.as_ref();
        strobing.is_some_and(|it| it.sender.has_quiesced() && !it.rest_is_said)
    }

    /// Moves the bells of OS threads that have got something to do.
    pub(super) fn take_to_wake(&mut self, into: &mut Vec<BellId>) {
        into.append(&mut self.to_wake);
        self.hosted.bells.take(into);
    }

    /// Returns [`deadline_ns`](Self::deadline_ns) for the OS thread, which sets its timer to it.
    pub(super) fn take_deadline_ns(&mut self) -> Option<u64> {
        self.told_ns = self.deadline_ns();
        self.told_ns
    }

    /// Whether that timer is still right.
    pub(super) fn deadline_is_told(&self) -> bool {
        self.told_ns == self.deadline_ns()
    }

    /// Returns the latest time at which to poll again, if no bell rings before.
    pub(super) fn deadline_ns(&self) -> Option<u64> {
        self.hosted
            .strobing
            .as_ref()
            .and_then(|strobing| strobing.sender.deadline_ns())
    }

    /// Gives every state machine one chance. Returns whether anything advanced.
    fn turn(&mut self) -> bool {
        self.beginning.forget();
        let mut progress = self.strobe();
        if progress {
            self.stop_the_watch();
        }
        while let Ok((node, thread, mail)) = self.hosted.inbox.try_recv() {
            self.letters
                .push_back((self.places[thread_index(node, thread)], mail));
        }
        progress |= self.poll_seats();
        while let Some((at, mail)) = self.letters.pop_front() {
            progress = true;
            self.work(at, &now_ns, |machine, context| {
                machine.handle(mail, context);
                true
            });
        }
        // If everybody has a core, a rank goes on at once. Otherwise the rank would take this
        // thread's core in the middle of a slice, for which all ranks wait, so the slice is
        // finished first.
        let in_slice = self
            .hosted
            .strobing
            .as_ref()
            .is_some_and(|it| it.sender.in_slice());
        if !self.to_ring.is_empty() && (!in_slice || self.hosted.page.cores_suffice()) {
            self.ring();
        }
        progress
    }

    /// Rings the ranks that have got completions.
    fn ring(&mut self) {
        for rank in self.to_ring.drain(..) {
            if let Some(memory) = &self.hosted.memories[rank as usize] {
                self.hosted.page.wake(memory.bell());
            }
        }
    }

    /// Lets those state machines poll the fabric that may find something.
    fn poll_seats(&mut self) -> bool {
        let mut progress = false;
        let Some(colocated) = self.hosted.colocated.clone() else {
            for at in 0..self.hosted.seats.len() {
                progress |= self.poll(at);
            }
            return progress;
        };
        while let Some((node, thread)) = colocated.take_signalled() {
            progress |= self.poll(self.places[thread_index(node, thread)]);
        }
        // Those that still poll after this turn get onto the other list.
        let mut looking = std::mem::take(&mut self.looking);
        std::mem::swap(&mut self.looking, &mut self.looked);
        for at in looking.drain(..) {
            self.hosted.seats[at].looks = false;
            progress |= self.poll(at);
        }
        self.looked = looking;
        progress
    }

    fn poll(&mut self, at: usize) -> bool {
        let beginning = std::mem::take(&mut self.beginning);
        let progress = self.work(at, &|| beginning.ns(), |machine, context| {
            machine.poll(context)
        });
        self.beginning = beginning;
        progress
    }

    /// Lets a state machine work, and delivers its mail. Returns the result of `work`: whether it
    /// has done anything.
    fn work(
        &mut self,
        at: usize,
        clock: &dyn Fn() -> u64,
        work: impl FnOnce(&mut dyn NicThread, &mut NicThreadContext<'_>) -> bool,
    ) -> bool {
        self.working = at;
        self.stopwatch.as_mut().map(Stopwatch::begin);
        let seat = &mut self.hosted.seats[at];
        let mut context = NicThreadContext {
            clock,
            port: &mut *seat.port,
            memory: &mut seat.memory,
            out: &mut self.out,
            worked_ns: seat.worked_ns,
        };
        let worked = work(&mut *seat.machine, &mut context);
        if let Some(stopwatch) = self.stopwatch.as_mut().filter(|_| worked) {
            seat.worked_ns += stopwatch.lap_ns();
        }
        if self.hosted.colocated.is_some() && !seat.looks && seat.machine.needs_polling() {
            seat.looks = true;
            self.looking.push(at);
        }
        self.deliver_mail(at);
        worked
    }

    /// Lets the sequencer and the Strobe Sender advance, as long as they answer each other.
    fn strobe(&mut self) -> bool {
        let Some(strobing) = &mut self.hosted.strobing else {
            return false;
        };
        self.working = STROBE_SENDER_PLACE;
        let mut progress = false;
        loop {
            let decided = strobing.sequencer.as_mut().is_some_and(Sequencer::poll);
            let retries = match (&strobing.sequencer, &self.hosted.colocated) {
                (Some(sequencer), _) => sequencer.retries(),
                (None, colocated) => colocated.as_ref().map_or(0, ColocatedPorts::retries),
            };
            let beginning = || self.beginning.ns();
            let (moved, over) = strobing
                .sender
                .poll(&beginning, retries, &mut *strobing.port);
            if let (Some(times), Some(recorder)) = (over, &mut strobing.recorder) {
                recorder.slice(times.row());
            }
            if !(decided || moved) {
                return progress;
            }
            progress = true;
        }
    }

    /// Delivers the mail of a state machine.
    fn deliver_mail(&mut self, from: usize) {
        self.to_ring.append(&mut self.out.to_ring);
        if self.out.mail.is_empty() {
            return;
        }
        let seat = &mut self.hosted.seats[from];
        let node = seat.node;
        for (thread, mut mail) in self.out.mail.drain(..) {
            if let (Some(_), Mail::Finished { tally, .. }) = (&self.stopwatch, &mut mail) {
                tally.worked = Some((seat.thread, std::mem::take(&mut seat.worked_ns)));
            }
            let at = self.places.get(thread_index(node, thread));
            if let Some(&at) = at.filter(|&&at| at != ELSEWHERE) {
                self.letters.push_back((at, mail));
                continue;
            }
            let route = &self.hosted.routes[&(node, thread)];
            // The other end outlives this one except in the last moments of the job.
            if route.sender.send((node, thread, mail)).is_ok() {
                self.to_wake.push(route.bell);
            }
        }
    }

    /// Polls cheaply for work: while the thread spins, and for the last time before a sleep, after
    /// it was announced (law 6).
    pub(super) fn has_work(&mut self) -> bool {
        if !(self.hosted.inbox.is_empty() && self.to_wake.is_empty()) {
            return true;
        }
        if let Some(strobing) = &mut self.hosted.strobing {
            let sequencer = strobing.sequencer.as_ref();
            if sequencer.is_some_and(Sequencer::has_requests) || strobing.sender.has_work(now_ns) {
                // In a slice, only a poll can tell whether the nodes have moved on.
                return self.turn() || self.has_rest_to_say();
            }
            if self.hosted.colocated.is_some() {
                // Between slices no other thread can signal the NICs of this one. But a rank may
                // have given back a lock for which one of them waits.
                return !self.looking.is_empty() && self.turn();
            }
        }
        self.beginning.forget(); // this thread may have slept since its last turn
        self.stop_the_watch();
        self.poll_seats() || !(self.letters.is_empty() && self.hosted.bells.is_empty())
    }

    /// Returns the oldest message for this pattern that a rank has not received, if it is known
    /// here.
    pub(super) fn oldest_unmatched_message(
        &self,
        rank: u32,
        pattern: Pattern,
    ) -> Option<MessageEnvelope> {
        let mut seats = self.hosted.seats.iter();
        seats.find_map(|seat| seat.machine.oldest_unmatched_message(rank, pattern))
    }

    /// Returns the unmatched operations of a rank, if they are here.
    pub(super) fn unmatched_operations(
        &self,
        rank: u32,
        most: usize,
    ) -> Option<UnmatchedOperations> {
        let mut seats = self.hosted.seats.iter();
        seats.find_map(|seat| seat.machine.unmatched_operations(rank, most))
    }

    /// Returns the first work of these NIC threads that only a slice can advance.
    pub(super) fn stalled_work(&self) -> Option<StalledWork> {
        let mut seats = self.hosted.seats.iter();
        seats.find_map(|seat| {
            let (node, thread) = (seat.node, seat.thread);
            let what = seat.machine.waits_for_slice()?;
            Some(StalledWork { node, thread, what })
        })
    }

    fn left_over(&self) -> Vec<NicFailure> {
        let of = |seat: &HostedNicThread| {
            let mut left = seat.machine.table_leaks(&*seat.port);
            left.retain(|left| left.count > 0 && !left.programs);
            let (node, thread) = (seat.node, seat.thread);
            (!left.is_empty()).then_some(NicFailure {
                node,
                cause: NicFailureCause::LeftOver { thread, left },
            })
        };
        self.hosted.seats.iter().filter_map(of).collect()
    }

    /// Returns what they recorded.
    pub(super) fn take_recordings(&mut self) -> Recordings {
        Recordings {
            left_over: self.left_over(),
            left_by_ranks: self
                .hosted
                .seats
                .iter()
                .flat_map(|seat| seat.machine.rank_leaks())
                .collect(),
            nodes: self
                .hosted
                .seats
                .iter_mut()
                .filter_map(|seat| seat.machine.take_recording(seat.worked_ns))
                .collect(),
            global: self
                .hosted
                .strobing
                .take()
                .and_then(|strobing| Some(strobing.recorder?.finish())),
        }
    }
}
