//! Waiting: one thread of the rank listens to the bell, the others wait for that thread.
//!
//! A wait polls its target under the lock. If it is not there, the thread sleeps without the lock
//! until the NIC has done something since *before* that poll. The count of completions shows what
//! the NIC has done. A thread that waits for room in a ring or for the end of its sends also
//! watches how much the NIC has taken. The NIC rings for completions. It rings for the rest only if
//! the rank requests it, each time before it sleeps ([`NicMemory::request_space`]).
//!
//! The bell has room for one sleeper. The first thread that waits takes the [`Turn`] and sleeps on
//! the bell; others sleep on a condition variable. The holder of the turn wakes them all when it
//! wakes. No wake-up is missed: a thread decides under the turn's lock to sleep behind the holder,
//! after it has seen that the count is still what it was before its poll. The holder sleeps at most
//! until the count changes, and then needs that lock to wake the others. While any thread waits for
//! room, or any thread's descriptors do, the holder of the turn also does so for them, whatever its
//! own target is. That was recorded before the NIC was requested to ring, and the ring makes the
//! holder check it.

use super::endpoint::Endpoint;
use super::poll_watch::{PollFinding, PollWatch, ThreadTimes};
use super::state::EndpointState;
use super::turn::ListenerState;
use super::wait_target::WaitTarget;
use crate::transport::Blocking;
use crate::transport::smartmap::SmartMap;
use bcs_core::clock::now_ns;
use bcs_core::job::StrobeMode;
use bcs_core::lockstep;
use bcs_core::memory::NicMemory;
use bcs_core::smartmap::RankArea;
use bcs_core::wake::MachinePage;
use bcs_core::wake::waiting::{self, WaitPolicy};
use std::sync::atomic::Ordering;
use std::{iter, mem};

/// The events that wake a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Watch {
    /// Completions.
    Completions,
    /// Also that the NIC took descriptors, and that it delivered those that it held back.
    Rings,
}

/// The progress so far, by the NIC and within the node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ProgressSnapshot {
    completions: u64,
    heads: [u64; 3],
    held_back: u64,
    local: LocalProgress,
}

/// Progress within the node so far: by others, which no queue reports, and by threads of this rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct LocalProgress {
    news: u64,
    progressed: u64,
}

/// Counts this rank as blocked in the job (law 2's hunger) as long as it lives.
#[derive(Debug)]
struct BlockedGuard<'a>(&'a MachinePage);

impl<'a> BlockedGuard<'a> {
    fn new(page: &'a MachinePage) -> Self {
        page.count_blocked(true);
        Self(page)
    }
}

impl Drop for BlockedGuard<'_> {
    fn drop(&mut self) {
        self.0.count_blocked(false);
    }
}

impl Endpoint {
    /// Polls once, or until there is a result.
    pub(crate) fn poll_or_wait<T>(
        &self,
        blocking: Blocking,
        what: WaitTarget<'_>,
        mut look: impl FnMut(&mut EndpointState) -> Option<T>,
    ) -> Option<T> {
        match blocking {
            Blocking::Yes => Some(self.wait_for(Watch::Completions, what, look)),
            Blocking::No => {
                let mut state = self.lock();
                self.progress(&mut state);
                let mut found = look(&mut state);
                if state.has_deferred_copies() {
                    self.run_deferred_copies(state);
                    state = self.lock();
                    found = found.or_else(|| look(&mut state));
                }
                if found.is_some() {
                    self.polls_no_more(&mut state);
                } else {
                    self.polled_in_vain(&mut state, what);
                    state.mux.nic.found_nothing();
                    drop(state);
                    waiting::give_way(&self.page);
                }
                found
            }
        }
    }

    /// Polls until there is a result.
    pub(crate) fn wait_for<T>(
        &self,
        watch: Watch,
        what: WaitTarget<'_>,
        mut look: impl FnMut(&mut EndpointState) -> Option<T>,
    ) -> T {
        let mut blocked = None;
        let mut waiter = None;
        let mut soon = what.is_local();
        let patience = match self.settings.strobe {
            _ if soon => WaitPolicy::LOCAL_PEERS,
            StrobeMode::Fixed | StrobeMode::Auto => WaitPolicy::FIXED_STROBE_RANK,
            StrobeMode::Elastic => WaitPolicy::RANK,
        };
        loop {
            let mut state = self.lock();
            let seen = self.snapshot();
            self.progress(&mut state);
            if let Some(found) = look(&mut state) {
                if let Some(waiter) = waiter {
                    state.deferred_copies.waits_no_more(waiter);
                }
                self.leave(state);
                return found;
            }
            if waiter.is_none() && self.has_threads() {
                waiter = Some(state.deferred_copies.waits(what));
            }
            if state.has_deferred_copies()
                && let Some(errand) = state.take_deferred_copy(waiter)
            {
                self.run_deferred_copy(state, errand);
                continue;
            }
            if soon && !state.leads() {
                // A rank of this node may answer soon, before the wait state needs to be published.
                drop(state);
                let came = || self.has_advanced(&seen, watch);
                soon = waiting::spin(&self.page, None, WaitPolicy::SHORT, came);
                continue;
            }
            match &mut blocked {
                None => {
                    let hungry = BlockedGuard::new(&self.page);
                    self.polls_no_more(&mut state);
                    state.mux.nic.about_to_block();
                    blocked = Some((hungry, self.publish_wait_state(&mut state, what)));
                }
                Some((_, said)) => {
                    state.mux.nic.found_nothing();
                    // By now some of several requests may be done, or another message may have
                    // come.
                    if what.is_several() || said.is_old(&state) {
                        *said = self.publish_wait_state(&mut state, what);
                    }
                }
            }
            // Before the lock is released: see `note`.
            self.turn.sleepers.fetch_add(1, Ordering::Relaxed);
            drop(state);
            self.sleep(watch, patience, &seen);
            self.turn.sleepers.fetch_sub(1, Ordering::Relaxed);
        }
    }

    fn snapshot(&self) -> ProgressSnapshot {
        let heads = [
            NicMemory::send_ring(),
            NicMemory::receive_ring(),
            NicMemory::collective_ring(),
        ]
        .map(|ring| self.memory.taken(ring));
        let held_back = self.memory.undelivered_sends().load(Ordering::Acquire);
        ProgressSnapshot {
            completions: self.completions(),
            heads,
            held_back,
            local: self.local_progress(),
        }
    }

    fn local_progress(&self) -> LocalProgress {
        let news = |desk: &RankArea| desk.node.event_count(desk.place).load(Ordering::Acquire);
        LocalProgress {
            news: self.rank_area.as_ref().map_or(0, news),
            progressed: self.turn.progressed(),
        }
    }

    /// Notifies other threads of this rank, which may have waited for messages of this node that
    /// were taken.
    pub(crate) fn tell_threads(&self, state: &EndpointState) {
        let near = state.mux.local.as_ref().map_or(0, SmartMap::progressed);
        let ended = state.undertakings.ended_so_far();
        let own = state.deferred_copies.done.wrapping_add(ended);
        if self.turn.note(near.wrapping_add(own)) {
            self.page.wake(self.memory.bell());
        }
    }

    /// Returns whether a rank of this node has sent something that was not taken yet.
    fn has_local_messages(&self) -> bool {
        self.rank_area
            .as_ref()
            .is_some_and(|RankArea { node, place }| {
                let place = *place;
                let acquaintance = |from| node.next_known_sender(place, from, node.ranks());
                let mut known = iter::successors(acquaintance(0), |&from| acquaintance(from + 1));
                known.any(|from| node.has_news(from, place))
            })
    }

    fn has_advanced(&self, seen: &ProgressSnapshot, watch: Watch) -> bool {
        match watch {
            Watch::Completions => {
                self.completions() != seen.completions
                    || self.local_progress() != seen.local
                    || self.has_local_messages()
            }
            Watch::Rings => self.snapshot() != *seen || self.has_local_messages(),
        }
    }

    /// Returns whether there is news for this thread, or for one that sleeps behind it. It is the
    /// last poll before a sleep, and each one after a ring.
    fn has_news(&self, seen: &ProgressSnapshot, watch: Watch) -> bool {
        // Law 5: room in a ring is a reason to go on, whatever this wait is for.
        if watch == Watch::Rings || self.turn.wants_room() {
            self.memory.request_space();
            return self.has_advanced(seen, Watch::Rings);
        }
        self.has_advanced(seen, watch)
    }

    fn sleep(&self, watch: Watch, patience: WaitPolicy, seen: &ProgressSnapshot) {
        let room = u32::from(watch == Watch::Rings);
        self.turn.want_room.fetch_add(room, Ordering::AcqRel);
        self.take_turns(watch, patience, seen);
        self.turn.want_room.fetch_sub(room, Ordering::AcqRel);
    }

    fn take_turns(&self, watch: Watch, patience: WaitPolicy, seen: &ProgressSnapshot) {
        let lock = || lockstep::lock(&self.turn.listening);
        let mut listening = lock();
        if self.has_news(seen, watch) {
            return;
        }
        if listening.taken {
            listening.others = true;
            lockstep::wait(&self.turn.passed, listening);
            return;
        }
        listening.taken = true;
        drop(listening);
        waiting::wait(self.memory.bell(), &self.page, None, patience, || {
            self.has_news(seen, watch)
        });
        let ListenerState { others, .. } = mem::take(&mut *lock());
        if others {
            lockstep::notify_all(&self.turn.passed);
        }
    }
}

/// Polls in vain, for the deadlock detector ([`super::poll_watch`]).
impl Endpoint {
    /// Counts a poll that has found nothing.
    #[inline(always)]
    pub(super) fn polled_in_vain(&self, state: &mut EndpointState, what: WaitTarget<'_>) {
        if state.poll_watch.count() {
            self.judge_polls(state, what);
        }
    }

    #[cold]
    fn judge_polls(&self, state: &mut EndpointState, what: WaitTarget<'_>) {
        match state.poll_watch.judge(now_ns(), ThreadTimes::now()) {
            PollFinding::Nothing => {}
            PollFinding::Pause => self.withdraw_polls(state),
            PollFinding::Vain => {
                let number = self.publish_polls(state, what);
                state.poll_watch.published = Some(number);
            }
        }
    }

    /// Begins to count anew: a poll has found something, or the rank waits.
    #[inline(always)]
    pub(super) fn polls_no_more(&self, state: &mut EndpointState) {
        if !state.poll_watch.is_new() {
            self.withdraw_polls(state);
            state.poll_watch = PollWatch::default();
        }
    }

    #[cold]
    fn withdraw_polls(&self, state: &mut EndpointState) {
        if let Some(number) = state.poll_watch.published.take() {
            self.memory.clear_wait_state(number);
        }
    }
}
