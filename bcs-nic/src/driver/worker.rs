//! The state machines of this process's OS threads, and how a thread works on its own and on those
//! of others ([`super::os_thread`] says when it helps).

use super::os_thread_plan::OsThreadPlan;
use super::reports::{NicHostEvent, NicHostEventHandler};
use super::state_machines::StateMachines;
use crate::threads::{StalledWork, UnmatchedOperations};
use bcs_core::matching::{MessageEnvelope, Pattern};
use bcs_core::wake::MachinePage;
use bcs_core::wake::bell::{self, AWAKE};
use bcs_core::wake::machine_page::BellId;
use std::collections::HashMap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};

/// The state machines of an OS thread, behind a lock so that other threads of the process can help.
pub(super) struct LockedMachines {
    pub(super) bell: BellId,
    machines: Mutex<StateMachines>,
}

impl LockedMachines {
    /// Locks the machines. A panic in one of them ends the job; until then they stay as it left
    /// them.
    pub(super) fn lock(&self) -> MutexGuard<'_, StateMachines> {
        self.machines.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn try_lock(&self) -> Option<MutexGuard<'_, StateMachines>> {
        match self.machines.try_lock() {
            Ok(machines) => Some(machines),
            Err(TryLockError::Poisoned(machines)) => Some(machines.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// Tries to lock the machines a number of times.
    fn try_lock_repeatedly(&self) -> Option<MutexGuard<'_, StateMachines>> {
        const LOOKS: usize = 16;
        (0..LOOKS).find_map(|_| {
            let machines = self.try_lock();
            if machines.is_none() {
                std::thread::yield_now();
            }
            machines
        })
    }
}

/// All OS threads of NICs in this process.
pub(super) struct MachineRegistry {
    pub(super) all: Vec<LockedMachines>,
    /// Maps each bell to its OS thread.
    by_bell: HashMap<BellId, usize>,
}

impl MachineRegistry {
    pub(super) fn new(all: Vec<(OsThreadPlan, StateMachines)>) -> Self {
        let bells = |(at, (crew, _)): (usize, &(OsThreadPlan, StateMachines))| {
            let seats = crew.hosted.iter();
            let bells = seats.map(|&(node, thread)| BellId::for_nic_thread(node, thread));
            let bells: Vec<BellId> = bells.chain([crew.bell]).collect();
            bells.into_iter().map(move |bell| (bell, at))
        };
        Self {
            by_bell: all.iter().enumerate().flat_map(bells).collect(),
            all: all
                .into_iter()
                .map(|(crew, machines)| LockedMachines {
                    bell: crew.bell,
                    machines: Mutex::new(machines),
                })
                .collect(),
        }
    }
}

impl std::fmt::Debug for MachineRegistry {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{} stations", self.all.len())
    }
}

impl MachineRegistry {
    /// Returns the oldest message for this pattern that a rank has not received, if the thread that
    /// holds it is at rest.
    pub(super) fn oldest_unmatched_message(
        &self,
        rank: u32,
        pattern: Pattern,
    ) -> Option<MessageEnvelope> {
        let mut stations = self.all.iter();
        stations.find_map(|station| station.try_lock()?.oldest_unmatched_message(rank, pattern))
    }

    /// Returns the first work that only a slice can advance, if its holder is found at rest within
    /// a few polls.
    pub(super) fn stalled_work(&self) -> Option<StalledWork> {
        let mut stations = self.all.iter();
        stations.find_map(|station| station.try_lock_repeatedly()?.stalled_work())
    }

    /// Tells the Strobe Sender to rest, if it is here.
    pub(super) fn quiesce(&self) {
        self.all.iter().for_each(|station| station.lock().quiesce());
    }

    /// Returns the unmatched operations of a rank, if their holder is found at rest within a few
    /// polls.
    pub(super) fn unmatched_operations(
        &self,
        rank: u32,
        most: usize,
    ) -> Option<UnmatchedOperations> {
        let mut stations = self.all.iter();
        stations.find_map(|station| {
            station
                .try_lock_repeatedly()?
                .unmatched_operations(rank, most)
        })
    }
}

/// A thread's access to state machines: to its own, and to others of the process.
pub(super) struct Worker {
    pub(super) stations: Arc<MachineRegistry>,
    /// The place of its own machines, if it has any.
    pub(super) place: Option<usize>,
    pub(super) page: MachinePage,
    /// Bells of threads that have something to do.
    pub(super) to_wake: Vec<BellId>,
    /// Stations that it must help.
    to_help: Vec<usize>,
    /// The place where it worked last.
    pub(super) working: usize,
}

impl Worker {
    pub(super) fn new(
        stations: Arc<MachineRegistry>,
        place: Option<usize>,
        page: MachinePage,
    ) -> Self {
        Self {
            stations,
            place,
            page,
            to_wake: Vec::new(),
            to_help: Vec::new(),
            working: place.unwrap_or(0),
        }
    }

    /// Lets its own state machines work until none advances, and then those of others that have got
    /// something from them.
    pub(super) fn work_off(&mut self, report: &NicHostEventHandler) {
        let mut next = self.place.or_else(|| self.wake_or_help());
        while let Some(place) = next {
            self.run_machines(place, report);
            next = self.wake_or_help();
        }
    }

    pub(super) fn run_machines(&mut self, place: usize, report: &NicHostEventHandler) {
        let station = &self.stations.all[place];
        let is_own = self.place == Some(place);
        let mut machines = if is_own {
            station.lock()
        } else if let Some(machines) = station.try_lock() {
            machines
        } else {
            // The thread that holds the lock may have polled already.
            return self.page.ring(station.bell);
        };
        self.working = place;
        let failures = machines.run_until_rest();
        let rests = machines
            .has_newly_quiesced()
            .then_some(NicHostEvent::Quiesced);
        machines.take_to_wake(&mut self.to_wake);
        let timer_is_wrong = !is_own && !machines.deadline_is_told();
        drop(machines);
        let by_bell = &self.stations.by_bell;
        self.to_wake
            .retain(|bell| by_bell.get(bell) != Some(&place));
        if timer_is_wrong {
            self.page.ring(station.bell);
        }
        let failures = failures.into_iter().map(NicHostEvent::Failed);
        failures.chain(rests).for_each(report);
    }

    /// Wakes the threads that have got something to do, except those that it is better to help.
    /// Returns the place to help next.
    fn wake_or_help(&mut self) -> Option<usize> {
        while let Some(bell) = self.to_wake.pop() {
            match self.stations.by_bell.get(&bell) {
                Some(&place) if self.place == Some(place) || self.should_help(place) => {
                    self.to_help.push(place);
                }
                _ => self.page.ring(bell),
            }
        }
        self.to_help.pop()
    }

    /// Whether the thread at this place would have to be woken and would have no core to itself. A
    /// worker without a place of its own is awake for this purpose, and helps every sleeper.
    fn should_help(&self, place: usize) -> bool {
        let bell = self.page.bell(self.stations.all[place].bell);
        let sleeps = bell::state(bell.load(Ordering::Relaxed)) != AWAKE;
        sleeps && (self.place.is_none() || !self.page.has_a_core_to_spare())
    }

    /// Reports the panic of a state machine that this worker let work.
    pub(super) fn panicked(
        &self,
        panic: &(dyn std::any::Any + Send),
        report: &NicHostEventHandler,
    ) {
        let worked = self.stations.all[self.working].lock();
        report(NicHostEvent::Failed(worked.panic_failure(panic)));
    }
}
