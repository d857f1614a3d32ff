//! An OS thread of a NIC: it lets its state machines work until none advances, then sleeps on its
//! bell.
//!
//! **A thread that is short of cores helps.** It does the work of another, sleeping OS thread of
//! its process itself, if that thread would have no core to itself. To wake that thread, and to
//! have it switch with the one that computes there, takes longer than nearly all that NIC threads
//! do. So each OS thread's state machines lie behind a lock. An owner that finds the lock taken at
//! its last poll before it sleeps stays awake. A helper that finds it taken rings the owner. So one
//! of them sees all that comes.
//!
//! **In a slice it keeps its core** for a moment, if there is one for each node: the next
//! microphase is about to come, and everybody waits for it.

use super::alarm::Alarm;
use super::remote_hosts::RemoteHosts;
use super::reports::{NicHostEventHandler, Recordings};
use super::worker::{LockedMachines, MachineRegistry, Worker};
use bcs_core::clock::now_ns;
use bcs_core::wake::MachinePage;
use bcs_core::wake::home_core;
use bcs_core::wake::waiting::{self, WaitPolicy};
use bcs_fabric::shm::PendingBells;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// An OS thread.
pub(super) struct OsThread {
    worker: Worker,
    /// Its own station.
    place: usize,
    patience: WaitPolicy,
    /// Whether it keeps its core while a slice is under way.
    stays: bool,
    alarm: Alarm,
    /// The latest time at which it must poll again.
    timer: Option<u64>,
    far: Option<RemoteHosts>,
    /// The bells of threads for which something has come from remote nodes.
    far_bells: Option<PendingBells>,
}

impl OsThread {
    pub(super) fn new(
        stations: Arc<MachineRegistry>,
        place: usize,
        page: MachinePage,
        patience: WaitPolicy,
        far: Option<RemoteHosts>,
    ) -> Self {
        // Where one OS thread runs all NICs of the job, it waits for no other in a slice.
        let nodes = page.nodes();
        Self {
            stays: u32::try_from(nodes).is_ok_and(|nodes| nodes <= page.core_load().cores),
            worker: Worker::new(stations, Some(place), page),
            place,
            patience,
            alarm: Alarm::default(),
            timer: None,
            far_bells: far.as_ref().map(|far| far.wires.hub().bells()),
            far,
        }
    }

    /// Runs until the stop flag is set. A panic ends the job: all other nodes would wait for this
    /// one.
    pub(super) fn run(mut self, stop: &AtomicBool, report: &NicHostEventHandler) -> Recordings {
        let ended = catch_unwind(AssertUnwindSafe(|| self.run_on(stop, report)));
        match ended {
            Ok(()) => self.worker.stations.all[self.place]
                .lock()
                .take_recordings(),
            Err(panic) => {
                self.worker.panicked(&*panic, report);
                Recordings::default()
            }
        }
    }

    fn run_on(&mut self, stop: &AtomicBool, report: &NicHostEventHandler) {
        self.worker.page.count_awake(true);
        let wires = self.far.as_ref().map(|far| far.wires.clone());
        let look_out = || wires.as_ref().map(|wires| wires.start_polling());
        // As long as this thread is awake no other is woken for incoming datagrams.
        let mut lookout = look_out();
        while !stop.load(Ordering::Acquire) {
            self.work_off(report);
            if !self.wait(stop) {
                drop(lookout);
                self.sleep(stop);
                lookout = look_out();
            }
        }
        drop(lookout);
        // Others may have posted work before the end, after this thread had polled.
        self.work_off(report);
        self.worker.page.count_awake(false);
    }

    fn work_off(&mut self, report: &NicHostEventHandler) {
        if let Some(bells) = &self.far_bells {
            // The threads for which the last poll found something.
            bells.take(&mut self.worker.to_wake);
        }
        self.worker.work_off(report);
        if let Some(far) = &self.far {
            far.wires.flush(now_ns());
        }
    }

    /// Polls for work while it has patience. Returns whether there is any.
    fn wait(&mut self, stop: &AtomicBool) -> bool {
        self.worker.working = self.place;
        let page = &self.worker.page;
        let cores_suffice = page.cores_suffice();
        let due = self.station().lock().take_deadline_ns();
        self.timer = due.map(|due| self.alarm.set(due, now_ns(), cores_suffice));
        let in_slice = self.stays && page.in_slice();
        let patience = if in_slice {
            home_core::return_home_if_due(now_ns());
            WaitPolicy::IN_SLICE
        } else {
            self.patience
        };
        let is_over = || in_slice && !page.in_slice();
        let has_come = || {
            let far = self.far.as_ref();
            far.is_some_and(|far| far.wires.poll(now_ns()))
        };
        let look = || is_over() || self.has_work(stop) || has_come();
        let is_found = self.has_work(stop) || waiting::spin(page, self.timer, patience, look);
        if is_found {
            self.alarm.end_wait(now_ns());
        }
        is_found
    }

    /// Sleeps until there is work.
    fn sleep(&mut self, stop: &AtomicBool) {
        let page = &self.worker.page;
        let bell = page.bell(self.station().bell);
        waiting::sleep(bell, page, self.timer, || self.has_work(stop));
        self.alarm.end_wait(now_ns());
    }

    fn station(&self) -> &LockedMachines {
        &self.worker.stations.all[self.place]
    }

    /// Polls for work cheaply.
    fn has_work(&self, stop: &AtomicBool) -> bool {
        if stop.load(Ordering::Acquire) {
            return true;
        }
        // Law 6 for the demands of ranks on a Strobe Sender elsewhere.
        let far = self.far.as_ref();
        if far.is_some_and(|far| far.wires.has_news(now_ns())) {
            return true;
        }
        let Some(mut machines) = self.station().try_lock() else {
            return true; // the helper may have polled already
        };
        // A thread that arms the next strobe rings to have the deadline changed.
        !machines.deadline_is_told() || self.alarm.has_rung(now_ns) || machines.has_work()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bounds::Bounds;
    use crate::driver::os_thread_plan::Mailboxes;
    use crate::driver::state_machines::StateMachines;
    use crate::driver::{NicHostConfig, NicHostEvent, plan_os_threads, state_machines_config};
    use bcs_core::job::{Cores, NicThreading, NodeId, Placement, Settings};
    use bcs_core::memory::NicMemory;
    use bcs_core::wake::bell::{ASLEEP, AWAKE};
    use bcs_fabric::shm::Segment;

    /// Creates the OS threads of a node's NIC and of the Strobe Sender, of which only the latter
    /// runs; the other sleeps.
    fn beside_a_sleeper(driver: NicThreading, cores: u32) -> (OsThread, MachinePage) {
        let page = MachinePage::private(1, cores).unwrap();
        let settings = Settings {
            driver,
            ..Settings::default()
        };
        let memory = NicMemory::private(settings.eager_limit).unwrap();
        let config = NicHostConfig {
            placement: Placement::block(1, 1).unwrap(),
            settings,
            bounds: Bounds::default(),
            bug: None,
            nodes: vec![NodeId(0)],
            strobe_sender: true,
            segment: Segment::private(1, 1).unwrap(),
            page: page.clone(),
            nic_memory: Arc::new(vec![Some(memory)]),
            cores: Cores::default(),
            emds: None,
            far: None,
        };
        let crews = plan_os_threads(&config);
        let Mailboxes { routes, inboxes } = Mailboxes::new(&crews, &page);
        for crew in &crews[1..] {
            page.bell(crew.bell).store(ASLEEP, Ordering::Relaxed);
        }
        let machines = crews.into_iter().zip(inboxes).map(|(crew, inbox)| {
            let machines =
                StateMachines::new(state_machines_config(&crew, &config, routes.clone(), inbox));
            (crew, machines)
        });
        let stations = Arc::new(MachineRegistry::new(machines.collect()));
        page.count_awake(true);
        let thread = OsThread::new(stations, 0, page.clone(), WaitPolicy::NIC, None);
        (thread, page)
    }

    fn asleep(thread: &OsThread) -> usize {
        let bells = thread.worker.stations.all[1..].iter();
        let asleep = |station: &&LockedMachines| {
            thread
                .worker
                .page
                .bell(station.bell)
                .load(Ordering::Relaxed)
        };
        bells.filter(|station| asleep(station) != AWAKE).count()
    }

    #[test]
    fn where_cores_are_short_a_slice_wakes_nobody_of_the_process() {
        for (driver, sleepers) in [(NicThreading::Coprocessor, 1), (NicThreading::Dedicated, 6)] {
            let (mut thread, page) = beside_a_sleeper(driver, 1);
            page.demand();
            thread.work_off(&|news| panic!("{news:?}"));
            assert_eq!(asleep(&thread), sleepers, "{driver:?}");
            assert!(!page.in_slice() && page.wanted() == (false, false));
        }
    }

    #[test]
    fn who_has_a_core_to_itself_is_woken() {
        for (driver, left) in [(NicThreading::Coprocessor, 0), (NicThreading::Dedicated, 5)] {
            let (mut thread, page) = beside_a_sleeper(driver, 2);
            page.demand();
            thread.work_off(&|news| panic!("{news:?}"));
            assert_eq!(asleep(&thread), left, "{driver:?}");
            assert!(
                page.in_slice(),
                "its node has not finished the first microphase"
            );
        }
    }

    #[test]
    fn at_the_end_what_is_wanted_is_struck_and_then_nothing() {
        let (mut thread, page) = beside_a_sleeper(NicThreading::Shared, 1);
        let (said, news) = std::sync::mpsc::channel();
        let report = move |news| said.send(news).unwrap();
        page.demand();
        thread.worker.stations.quiesce();
        thread.work_off(&report);
        assert_eq!(page.slice(), 1, "somebody wanted it");
        page.demand();
        thread.work_off(&report);
        assert_eq!(page.slice(), 1, "nobody is there any more");
        assert_eq!(
            news.try_iter().collect::<Vec<_>>(),
            [NicHostEvent::Quiesced]
        );
        assert!(thread.worker.stations.all[0].lock().deadline_ns().is_none());
    }

    /// Otherwise it would sleep until a time that has been changed.
    #[test]
    fn who_is_helped_hears_of_another_deadline() {
        let (mut thread, page) = beside_a_sleeper(NicThreading::Coprocessor, 1);
        let (strobes, nic) = (thread.place, 1);
        thread.worker.place = Some(nic);
        page.bell(thread.worker.stations.all[strobes].bell)
            .store(ASLEEP, Ordering::Relaxed);
        page.arm();
        thread
            .worker
            .run_machines(strobes, &|news| panic!("{news:?}"));
        let bell = page.bell(thread.worker.stations.all[strobes].bell);
        assert_eq!(bell.load(Ordering::Relaxed), AWAKE);
    }
}
