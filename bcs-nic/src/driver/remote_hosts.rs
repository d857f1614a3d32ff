//! The connection to nodes on other machines: an OS thread that waits for datagrams.
//!
//! The network wakes it, while bells wake the OS threads of NICs: no thread can wait for both. When
//! something comes for a NIC thread whose OS thread sleeps, it does the work itself instead of
//! waking that thread. The OS thread that lets NIC threads work also sends their data. An OS thread
//! that is awake polls for datagrams, too, and then this one rests.

use super::reports::{NicHostEvent, NicHostEventHandler};
use super::worker::{MachineRegistry, Worker};
use crate::failure::{NicFailure, NicFailureCause};
use bcs_core::clock::now_ns;
use bcs_core::job::{NicThreadId, NodeId};
use bcs_core::wake::{MachinePage, scheduling};
use bcs_fabric::Port;
use bcs_fabric::shm::{ShmPort, WriteLog};
use bcs_fabric::udp::{InboundBytes, RejectedDatagrams, UdpEndpoint, UdpPort};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;

/// The connection to nodes on other machines.
#[derive(Clone, Debug)]
pub struct RemoteHosts {
    /// The hub of this process, and its socket.
    pub wires: Arc<UdpEndpoint>,
    /// The sequencer's writes, if the sequencer is in this process.
    pub ledger: Option<WriteLog>,
    /// A node from which nothing comes for so long is lost, and the job with it.
    pub node_timeout_ns: u64,
}

/// Returns the port of a NIC thread, or of the Strobe Sender. It reaches nodes of this machine
/// through `near`.
pub(super) fn port(
    far: Option<&RemoteHosts>,
    near: ShmPort,
    who: Option<(NodeId, NicThreadId)>,
) -> Box<dyn Port + Send> {
    match far {
        None => Box::new(near),
        Some(far) => Box::new(UdpPort::new(near, far.wires.hub().clone(), who)),
    }
}

/// The wakes of the thread, for the deadlock detector: it does the work of NIC threads that sleep
/// on, so their sleeps do not show that nothing has moved.
///
/// The number is odd while the thread is awake. A wake without a message takes its count back,
/// since other machines send pings all the time. So if an observer reads the same even number
/// twice, nothing was done in between.
#[derive(Debug, Default)]
struct WakeCount(AtomicU64);

impl WakeCount {
    fn begin(&self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }

    fn end(&self, has_worked: bool) {
        match has_worked {
            true => self.0.fetch_add(1, Ordering::SeqCst),
            false => self.0.fetch_sub(1, Ordering::SeqCst),
        };
    }

    /// Returns the number, unless the thread is awake.
    fn while_asleep(&self) -> Option<u64> {
        let wakes = self.0.load(Ordering::SeqCst);
        wakes.is_multiple_of(2).then_some(wakes)
    }
}

/// The running OS thread.
#[derive(Debug)]
pub(super) struct DatagramThread {
    wires: Arc<UdpEndpoint>,
    wakes: Arc<WakeCount>,
    handle: JoinHandle<()>,
}

impl DatagramThread {
    pub(super) fn start(
        far: RemoteHosts,
        stations: Arc<MachineRegistry>,
        page: MachinePage,
        stop: Arc<AtomicBool>,
        report: Arc<NicHostEventHandler>,
    ) -> std::io::Result<Self> {
        let (wires, wakes) = (far.wires.clone(), Arc::<WakeCount>::default());
        let counted = wakes.clone();
        let thread = std::thread::Builder::new().name("bcs-wires".to_owned());
        let handle = thread.spawn(move || {
            scheduling::prefer_short_slices();
            scheduling::prefer_exact_timers();
            let mut worker = Worker::new(stations, None, page.clone());
            let ended = catch_unwind(AssertUnwindSafe(|| {
                run(&far, &mut worker, (&page, &counted), &stop, &*report);
            }));
            if let Err(panic) = ended {
                worker.panicked(&*panic, &*report);
            }
        })?;
        Ok(Self {
            wires,
            wakes,
            handle,
        })
    }

    /// Returns a number that grows with each wake in which it works, if it sleeps and nothing is in
    /// flight or waits to be sent.
    pub(super) fn rest_count(&self) -> Option<u64> {
        // The wakes come first: if the number is the same later, nothing was sent in between.
        let wakes = self.wakes.while_asleep()?;
        self.wires.hub().is_idle().then_some(wakes)
    }

    /// Returns the number of datagrams that were rejected so far.
    pub(super) fn rejected_datagrams(&self) -> RejectedDatagrams {
        self.wires.rejected()
    }

    /// Returns by which paths the bytes of transfers have come so far.
    pub(super) fn inbound_bytes(&self) -> InboundBytes {
        self.wires.inbound_bytes()
    }

    /// Stops it, once the stop flag is set.
    pub(super) fn stop(self) {
        self.wires.wake();
        if let Err(panic) = self.handle.join() {
            std::panic::resume_unwind(panic);
        }
    }
}

fn run(
    far: &RemoteHosts,
    worker: &mut Worker,
    (page, wakes): (&MachinePage, &WakeCount),
    stop: &AtomicBool,
    report: &NicHostEventHandler,
) {
    let hub = far.wires.hub();
    let bells = hub.bells();
    let (mut is_lost, mut is_told) = (false, false);
    far.wires.flush(now_ns());
    while !stop.load(Ordering::Acquire) {
        far.wires.wait(far.node_timeout_ns / 8);
        wakes.begin();
        page.count_awake(true);
        let before = hub.taken();
        far.wires.take(now_ns());
        bells.take(&mut worker.to_wake);
        let has_worked = hub.taken() != before || !worker.to_wake.is_empty();
        worker.work_off(report);
        far.wires.flush(now_ns());
        // Reported once, so that nobody can fill a log from outside. The total is reported at the
        // end.
        if !is_told && let Some(strays) = suspicious_datagrams(far) {
            is_told = true;
            report(NicHostEvent::RejectedDatagrams(strays));
        }
        if !is_lost && let Some(failure) = find_lost_node(far) {
            is_lost = true;
            report(NicHostEvent::Failed(failure));
        }
        page.count_awake(false);
        wakes.end(has_worked);
    }
}

/// Returns the datagrams that came from outside of the job, if there are many.
fn suspicious_datagrams(far: &RemoteHosts) -> Option<RejectedDatagrams> {
    Some(far.wires.rejected()).filter(RejectedDatagrams::are_many)
}

/// Returns a node that must end the job, because it is silent or sends invalid data.
fn find_lost_node(far: &RemoteHosts) -> Option<NicFailure> {
    let hub = far.wires.hub();
    if let Some(broken) = hub.take_broken().first() {
        return Some(NicFailure {
            node: broken.node,
            cause: NicFailureCause::Nonsense(broken.what),
        });
    }
    let (node, heard_ns) = hub.longest_silent_peer()?;
    let silent_ns = now_ns().saturating_sub(heard_ns);
    (silent_ns > far.node_timeout_ns).then_some(NicFailure {
        node,
        cause: NicFailureCause::Silent {
            seconds: silent_ns / 1_000_000_000,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wake_shows_while_it_lasts_and_afterwards_if_a_message_came() {
        let wakes = WakeCount::default();
        let before = wakes.while_asleep();
        assert!(before.is_some());
        wakes.begin();
        assert_eq!(wakes.while_asleep(), None);
        wakes.end(false);
        assert_eq!(wakes.while_asleep(), before, "a ping is no message");
        wakes.begin();
        wakes.end(true);
        assert!(wakes.while_asleep() > before);
    }
}
