//! The UDP endpoint of a process: its hub, the one socket, and the filter of what comes.
//!
//! Any OS thread may [`flush`](UdpEndpoint::flush) what is to be sent. While one thread sends,
//! others leave their data to it. One OS thread [waits](UdpEndpoint::wait) for what comes. As long
//! as another is awake and has nothing else to do, that one [polls](SocketPollGuard) the socket
//! itself. Then no thread has to be woken for what comes.
//!
//! All datagrams that come pass the [`DatagramFilter`].

use super::batch::{SendBatch, UnsentDatagrams};
use super::datagram_filter::{DatagramFilter, RejectedDatagrams};
use super::hub::{Hub, InboundBytes};
use super::poller_gate::PollerGate;
use super::seal::{Crypto, Direction, JobKey, Opener, Seal};
use super::socket::Socket;
use bcs_core::clock;
use bcs_core::job::NodeId;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Another process that hosts NICs.
#[derive(Clone, Copy, Debug)]
pub struct PeerAddress {
    /// Its party.
    pub party: usize,
    /// The first of its nodes.
    pub node: NodeId,
    /// Its socket.
    pub socket: SocketAddr,
}

/// The settings with which a process seals what it sends.
#[derive(Debug)]
pub struct SealSettings {
    /// The job's key.
    pub key: JobKey,
    /// The protection.
    pub crypto: Crypto,
    /// The job's epoch: 32 bits that identify the job.
    pub epoch: u32,
    /// The first node of this process.
    pub me: NodeId,
}

/// The channel to a process.
#[derive(Debug)]
struct PeerChannel {
    address: PeerAddress,
    seal: Seal,
    opener: Opener,
}

#[derive(Debug)]
struct SendHalf {
    socket: Socket,
    /// The address and seal of each party.
    seals: Vec<Option<(SocketAddr, Seal)>>,
    /// Datagrams that the socket did not take.
    rest: UnsentDatagrams,
}

/// The UDP endpoint of a process.
#[derive(Debug)]
pub struct UdpEndpoint {
    hub: Hub,
    sending: Mutex<SendHalf>,
    receiving: Mutex<ReceiveHalf>,
    /// Whether something is to be sent.
    is_due: AtomicBool,
    /// Whether the socket has not taken all.
    is_full: AtomicBool,
    /// The socket, to wait for.
    socket: OwnedFd,
    timer: OwnedFd,
    /// When something is to be sent next, as of the last flush.
    due_ns: AtomicU64,
    /// When the waiting thread polls again at the latest; 0 while it does not wait for the socket.
    rings_ns: AtomicU64,
    desk: PollerGate,
}

#[derive(Debug)]
struct ReceiveHalf {
    socket: Socket,
    entrance: DatagramFilter,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The most calls that take datagrams at once.
const MAX_TAKES: usize = 16;

/// The timer is not set.
const NEVER: u64 = u64::MAX;

impl UdpEndpoint {
    /// Makes the endpoint of a hub whose parties are at these addresses.
    ///
    /// # Errors
    /// The kernel's answer.
    pub fn new(
        hub: Hub,
        socket: Socket,
        sealing: &SealSettings,
        addresses: &[PeerAddress],
    ) -> io::Result<Self> {
        let parties = addresses.iter().map(|address| address.party + 1).max();
        let mut seals: Vec<_> = (0..parties.unwrap_or(0)).map(|_| None).collect();
        let mut openers: Vec<_> = (0..parties.unwrap_or(0)).map(|_| None).collect();
        for way in addresses
            .iter()
            .map(|&address| PeerChannel::new(address, sealing))
        {
            let PeerAddress { party, socket, .. } = way.address;
            seals[party] = Some((socket, way.seal));
            openers[party] = Some(way.opener);
        }
        let flags = TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK;
        Ok(Self {
            socket: socket.clone_fd()?,
            receiving: Mutex::new(ReceiveHalf {
                socket: socket.duplicate()?,
                entrance: DatagramFilter::new(hub.clone(), openers),
            }),
            hub,
            sending: Mutex::new(SendHalf {
                socket,
                seals,
                rest: UnsentDatagrams::default(),
            }),
            is_due: AtomicBool::new(false),
            is_full: AtomicBool::new(false),
            timer: timerfd_create(TimerfdClockId::Monotonic, flags)?,
            due_ns: AtomicU64::new(NEVER),
            rings_ns: AtomicU64::new(0),
            desk: PollerGate::default(),
        })
    }

    /// Returns the hub.
    #[must_use]
    pub fn hub(&self) -> &Hub {
        &self.hub
    }

    /// Returns the datagrams that were rejected so far.
    #[must_use]
    pub fn rejected(&self) -> RejectedDatagrams {
        lock(&self.receiving).entrance.rejected()
    }

    /// Returns the bytes of transfers that have come so far, by path.
    #[must_use]
    pub fn inbound_bytes(&self) -> InboundBytes {
        self.hub.inbound_bytes()
    }

    /// Returns whether ranks want something of which other machines have not been notified.
    #[must_use]
    pub fn has_news(&self, now_ns: u64) -> bool {
        self.hub.has_news(now_ns)
    }

    /// Sends what is to be sent, or leaves it to the thread that is sending.
    pub fn flush(&self, now_ns: u64) {
        self.is_due.store(true, Ordering::SeqCst);
        while self.is_due.load(Ordering::SeqCst)
            && let Ok(mut sending) = self.sending.try_lock()
        {
            self.is_due.store(false, Ordering::SeqCst);
            let is_full = !sending.send_all(&self.hub, now_ns);
            self.is_full.store(is_full, Ordering::Relaxed);
        }
        let due_ns = self.hub.deadline_ns().unwrap_or(NEVER);
        self.due_ns.store(due_ns, Ordering::SeqCst);
        if self.desk.is_free() {
            self.set_timer();
        }
    }

    /// Makes the waiting thread poll again when something is due. As long as other threads poll,
    /// they find that out themselves.
    fn set_timer(&self) {
        // Either this sees when the waiting thread polls next, or that thread, which stores that
        // time first, sees what is due.
        let due_ns = self.due_ns.load(Ordering::SeqCst);
        if due_ns < self.rings_ns.load(Ordering::SeqCst) {
            self.ring_at(due_ns);
        }
    }

    fn ring_at(&self, ns: u64) {
        self.rings_ns.fetch_min(ns, Ordering::SeqCst);
        let spec = Itimerspec {
            it_interval: timespec(0),
            // A time of zero would switch the timer off.
            it_value: timespec(ns.max(1)),
        };
        // An open timer takes any time.
        let _set = timerfd_settime(&self.timer, TimerfdTimerFlags::ABSTIME, &spec);
    }

    /// Makes the caller poll the socket instead of the waiting thread, until the guard is dropped.
    #[must_use]
    pub fn start_polling(&self) -> SocketPollGuard<'_> {
        self.desk.enter();
        SocketPollGuard(self)
    }

    /// Polls once: takes what has come, and sends what is due. Returns whether any datagram came.
    pub fn poll(&self, now_ns: u64) -> bool {
        if now_ns >= self.due_ns.load(Ordering::Relaxed) {
            self.flush(now_ns);
        }
        // If another thread has the lock, it polls already.
        let receiving = self.receiving.try_lock();
        receiving.is_ok_and(|mut receiving| receiving.take(now_ns) > 0)
    }

    /// Waits until something has come, a deadline is over, or another thread [wakes](Self::wake)
    /// it, for at most `most_ns`. While another thread polls, it waits until that one stops.
    pub fn wait(&self, most_ns: u64) {
        if !self.desk.rest(most_ns) {
            return;
        }
        let flags = if self.is_full.load(Ordering::Relaxed) {
            PollFlags::IN | PollFlags::OUT
        } else {
            PollFlags::IN
        };
        let mut fds = [
            PollFd::from_borrowed_fd(self.socket.as_fd(), flags),
            PollFd::from_borrowed_fd(self.timer.as_fd(), PollFlags::IN),
        ];
        let now_ns = clock::now_ns();
        let at_most_ns = now_ns.saturating_add(most_ns);
        self.rings_ns.store(at_most_ns, Ordering::SeqCst);
        let until_ns = self.due_ns.load(Ordering::SeqCst).min(at_most_ns);
        let most = timespec(until_ns.saturating_sub(now_ns));
        self.rings_ns.fetch_min(until_ns, Ordering::SeqCst);
        // Interrupted or not, the caller checks what there is.
        let _ready = poll(&mut fds, Some(&most));
        self.rings_ns.store(0, Ordering::SeqCst);
        if fds[1].revents().contains(PollFlags::IN) {
            let _rung = rustix::io::read(&self.timer, &mut [0; 8]);
        }
    }

    /// Ends a [`wait`](Self::wait), now or the next one.
    pub fn wake(&self) {
        self.ring_at(1);
        self.desk.wake();
    }

    /// Takes what has come. Returns the number of datagrams.
    pub fn take(&self, now_ns: u64) -> usize {
        lock(&self.receiving).take(now_ns)
    }
}

fn timespec(ns: u64) -> Timespec {
    const SECOND: u64 = 1_000_000_000;
    let signed = |ns: u64| i64::try_from(ns).unwrap_or(i64::MAX);
    Timespec {
        tv_sec: signed(ns / SECOND),
        tv_nsec: signed(ns % SECOND),
    }
}

/// A guard: its owner polls the socket until it is dropped.
#[derive(Debug)]
pub struct SocketPollGuard<'a>(&'a UdpEndpoint);

impl Drop for SocketPollGuard<'_> {
    fn drop(&mut self) {
        if self.0.desk.leave() {
            // The waiting thread has not been notified of what became due meanwhile.
            self.0.set_timer();
            self.0.desk.wake(); // WORK
        }
    }
}

impl ReceiveHalf {
    fn take(&mut self, now_ns: u64) -> usize {
        let Self { socket, entrance } = self;
        let mut all = 0;
        // Not for ever: what has come is to be answered.
        for _ in 0..MAX_TAKES {
            match entrance.receive(socket, now_ns) {
                Ok(taken) => {
                    all += taken.datagrams;
                    if taken.is_all {
                        break;
                    }
                }
                Err(_) => break,
            }
        }
        all
    }
}

impl PeerChannel {
    fn new(address: PeerAddress, sealing: &SealSettings) -> Self {
        let SealSettings {
            key,
            crypto,
            epoch,
            me,
        } = sealing;
        let direction = |from, to| Direction {
            epoch: *epoch,
            from,
            to,
        };
        Self {
            address,
            seal: Seal::new(key, *crypto, direction(*me, address.node)),
            opener: Opener::new(key, *crypto, direction(address.node, *me)),
        }
    }
}

impl SendHalf {
    /// Sends all that is to be sent now. Returns false if the socket does not take it.
    fn send_all(&mut self, hub: &Hub, now_ns: u64) -> bool {
        let Self {
            socket,
            seals,
            rest,
        } = self;
        // Datagrams that the socket did not take the last time.
        if !rest.send(socket) {
            return false;
        }
        hub.settle(now_ns);
        for (party, way) in seals.iter_mut().enumerate() {
            let Some((address, seal)) = way else {
                continue;
            };
            let mut batch = SendBatch::new(*address, rest);
            while batch.write(hub, party, seal, now_ns) {
                if !batch.send_those_before(socket) {
                    return false;
                }
            }
            if !batch.send(socket) {
                return false;
            }
        }
        true
    }
}
