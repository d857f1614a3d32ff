//! The NIC as the node manager hosts it: its memory, its OS threads, its failures.

use crate::control::JobStart;
use crate::handshake::{HandshakeError, UdpSetup};
use crate::job_memory::SharedJobMemory;
use crate::limits::{NIC_STOP_LIMIT, PENDING_LISTED, PENDING_LOOKS};
use crate::shortage::advice;
use bcs_core::job::{IntranodeTransport, NodeId, Placement, SpawnedGroup};
use bcs_core::limits::FAN_OUT;
use bcs_core::lockstep::lock;
use bcs_core::matching::Pattern;
use bcs_core::memory::{MapError, NicMemory, Slot};
use bcs_core::smartmap::{NodeMemory, READ_ONLY, RankArea};
use bcs_core::wait_state::{MessagePeer, UntakenSend, WaitReason, WaitState};
use bcs_core::wake::{MachinePage, bell};
use bcs_fabric::shm::{
    DescriptorLocation, RankMemoryAccess as RankMemories, Segment, WriteLog, memory_file,
};
use bcs_fabric::udp::{HubConfig, InboundBytes, LinkSettings, RejectedDatagrams};
use bcs_nic::bounds::Bounds;
use bcs_nic::driver::{NicHost, NicHostConfig, NicHostEvent, Recordings, RemoteHosts};
use rustix::event::EventfdFlags;
use rustix::io::Errno;
use rustix::process::Pid;
use std::collections::BTreeMap;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, mpsc};

/// The box where NIC OS threads leave news, and wake its reader.
#[derive(Debug)]
pub struct NewsBox {
    event: OwnedFd,
    news: Mutex<Vec<NicHostEvent>>,
}

impl NewsBox {
    /// Makes an empty box.
    ///
    /// # Errors
    /// When no eventfd can be made.
    pub fn new() -> Result<Arc<Self>, Errno> {
        let event = rustix::event::eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Arc::new(Self {
            event,
            news: Mutex::new(Vec::new()),
        }))
    }

    /// Puts a piece of news in: for `NicHost::start`.
    pub fn report(&self, news: NicHostEvent) {
        lock(&self.news).push(news);
        // The counter cannot overflow: there are never 2^64 pieces.
        let _ = rustix::io::write(&self.event, &1_u64.to_ne_bytes());
    }

    /// Returns a descriptor that is readable while the box is not empty.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.event.as_fd()
    }

    /// Takes all news out.
    pub fn take(&self) -> Vec<NicHostEvent> {
        let _ = rustix::io::read(&self.event, &mut [0; 8]);
        std::mem::take(&mut *lock(&self.news))
    }
}

/// The NICs of this process's nodes.
#[derive(Debug)]
pub(crate) struct LocalNics {
    host: NicHost,
    segment: Segment,
    /// Kept open for other node managers of this machine, which may open it later.
    _segment_file: OwnedFd,
    page: OwnedFd,
    mapped_page: MachinePage,
    pub(crate) news: Arc<NewsBox>,
    /// NIC memory by world rank, until its rank has it.
    memory: Vec<Option<OwnedFd>>,
    /// The same memory, kept open for NICs of other processes.
    _deposited: Vec<OwnedFd>,
    /// The same memory as this process has mapped it.
    mapped: Arc<Vec<Option<NicMemory>>>,
    /// The area of each rank, by world rank, if messages within a node do not go through the NIC.
    desks: Vec<Option<RankArea>>,
    /// Node memory by node, if messages within a node do not go through the NIC.
    shared: BTreeMap<u16, OwnedFd>,
    placement: Placement,
}

/// The NICs could not be started.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NicError {
    #[error("{0}{advice}", advice = advice_on(.0))]
    Memory(#[from] MapError),
    #[error("failed to start the OS threads of the NIC: {0}{advice}", advice = advice_to(.0))]
    Threads(std::io::Error),
    #[error(transparent)]
    Meeting(#[from] HandshakeError),
    #[error("failed to make an eventfd: {0}{advice}", advice = advice(*.0))]
    Event(#[from] Errno),
}

fn advice_on(error: &MapError) -> String {
    match error {
        MapError::Create { errno, .. } => advice(*errno),
        // This error holds its own advice.
        MapError::Map { .. } => String::new(),
    }
}

fn advice_to(error: &std::io::Error) -> String {
    Errno::from_io_error(error).map(advice).unwrap_or_default()
}

impl LocalNics {
    pub(crate) fn start(
        start: &JobStart,
        inherited: SharedJobMemory,
        joined: Option<UdpSetup>,
    ) -> Result<Self, NicError> {
        let (nodes, ranks) = (start.placement.nodes(), start.placement.capacity());
        let segment = Segment::map(&inherited.segment, nodes, ranks)?;
        let page = MachinePage::map(&inherited.page, nodes)?;
        if joined.is_some() {
            page.set_cores(u32::try_from(start.cores.usable).unwrap_or(u32::MAX));
        }
        let mut memory_fds: Vec<_> = (0..ranks).map(|_| None).collect();
        let mut nic_memory: Vec<_> = (0..ranks).map(|_| None).collect();
        let mut desks: Vec<_> = (0..ranks).map(|_| None).collect();
        let mut shared = BTreeMap::new();
        for &node in &start.nodes {
            let here = start.placement.ranks_of(node);
            let smartmap = start.settings.intranode == IntranodeTransport::Smartmap;
            let create = || NodeMemory::create(here.clone().count());
            let (node_fd, node_memory) = smartmap.then(create).transpose()?.unzip();
            for (place, rank) in here.enumerate() {
                let (fd, mut memory) = NicMemory::create(start.settings.eager_limit)?;
                if let Some(node) = node_memory.clone() {
                    let desk = RankArea { node, place };
                    memory = memory.with_bell(desk.bell());
                    memory = memory.with_update_lock(desk.update_lock());
                    desks[rank as usize] = Some(desk);
                }
                memory_fds[rank as usize] = Some(fd);
                nic_memory[rank as usize] = Some(memory);
            }
            shared.extend(node_fd.map(|fd| (node.0, fd)));
        }
        let deposited = if start.nodes.len() < nodes {
            deposit(&memory_fds, &segment)?
        } else {
            Vec::new()
        };
        let news = NewsBox::new()?;
        let mapped = Arc::new(nic_memory);
        let config = NicHostConfig {
            placement: start.placement.clone(),
            settings: start.settings.clone(),
            bounds: Bounds::default(),
            bug: None,
            nodes: start.nodes.clone(),
            strobe_sender: start.strobe_sender,
            segment: segment.clone(),
            page: page.clone(),
            nic_memory: mapped.clone(),
            cores: start.cores.clone(),
            emds: start.record.emds.clone().filter(|_| start.mds.is_some()),
            far: far(start, joined, (&segment, &page), &mapped)?,
        };
        let report = news.clone();
        let host =
            NicHost::start(config, move |news| report.report(news)).map_err(NicError::Threads)?;
        Ok(Self {
            host,
            segment,
            _segment_file: inherited.segment,
            page: inherited.page,
            mapped_page: page,
            news,
            memory: memory_fds,
            _deposited: deposited,
            mapped,
            desks,
            shared,
            placement: start.placement.clone(),
        })
    }

    /// Prepares for the processes of spare ranks: call it before one of them is started.
    pub(crate) fn serve(&self, spawned: SpawnedGroup) {
        let end = spawned.first.saturating_add(spawned.ranks) as usize;
        let spare = end.saturating_sub(self.placement.ranks());
        self.mapped_page
            .set_spawned(u32::try_from(spare).unwrap_or(u32::MAX));
    }

    /// Takes the NIC memory for a rank; returns `None` when the rank has it already.
    pub(crate) fn take_memory(&mut self, rank: u32) -> Option<OwnedFd> {
        self.memory[rank as usize].take()
    }

    /// Returns a rank's wait state, with its number.
    pub(crate) fn wait_state(&self, rank: u32) -> Option<(u64, WaitState)> {
        self.mapped.get(rank as usize)?.as_ref()?.wait_state()
    }

    /// Returns how often these ranks, and the OS threads of the NICs, have gone to sleep, if all
    /// sleep until another thread rings.
    pub(crate) fn sleep_count(&self, ranks: impl Iterator<Item = u32>) -> Option<u64> {
        let memory = |rank: u32| self.mapped.get(rank as usize)?.as_ref();
        let bells = ranks.filter_map(memory).map(NicMemory::bell);
        Some(
            self.host
                .sleep_count()?
                .wrapping_add(bell::total_sleeps(bells)?),
        )
    }

    /// Describes work in the NICs that only a slice can advance, though no slice is wanted.
    pub(crate) fn stalled_work(&self) -> Option<String> {
        Some(self.host.stalled_work()?.to_string())
    }

    /// Demands a slice at once.
    pub(crate) fn demand_slice(&self) {
        self.host.demand_slice();
    }

    /// Adds messages in the NIC that have come instead of those that a rank waits for.
    pub(crate) fn add_unmatched(&self, rank: u32, told: &mut WaitState) {
        let instead = told.near_misses();
        let kept = instead.filter_map(|pattern| self.host.oldest_unmatched_message(rank, pattern));
        let kept: Vec<MessagePeer> = kept
            .map(|kept| MessagePeer::from(Pattern::from(kept)))
            .collect();
        for peer in kept {
            if told.unmatched.len() < WaitState::UNMATCHED && !told.unmatched.contains(&peer) {
                told.unmatched.push(peer);
            }
        }
    }

    /// Returns a rank's unmatched operations: sends, receives and collectives that the NIC has not
    /// taken, receives without a message, and messages without a receive. Operations that their
    /// owner has locked at the moment are left out.
    pub(crate) fn pending(&self, rank: u32) -> WaitState {
        let mut looks = 1;
        loop {
            let taken = self.receives_taken(rank);
            let pending = self.look_at_pending(rank);
            // A receive that the NIC took between the two looks would be told twice.
            if looks == PENDING_LOOKS || self.receives_taken(rank) == taken {
                return pending;
            }
            looks += 1;
        }
    }

    fn receives_taken(&self, rank: u32) -> Option<u64> {
        let memory = self.mapped.get(rank as usize)?.as_ref()?;
        Some(memory.taken(NicMemory::receive_ring()))
    }

    fn look_at_pending(&self, rank: u32) -> WaitState {
        let mut pending = WaitState::default();
        if let Some(memory) = self.mapped.get(rank as usize).and_then(Option::as_ref) {
            let (posted, more) = memory.posted(PENDING_LISTED);
            pending.waits = posted;
            pending.more = u32::try_from(more).unwrap_or(u32::MAX);
        }
        if let Some(kept) = self.host.unmatched_operations(rank, WaitState::WAITS) {
            let receives = kept.receives.into_iter();
            let receives = receives.map(|pattern| WaitReason::Receive(MessagePeer::from(pattern)));
            pending.waits.extend(receives);
            let more = u32::try_from(kept.more_receives).unwrap_or(u32::MAX);
            pending.more = pending.more.saturating_add(more);
            let messages = kept.messages.into_iter().map(Pattern::from);
            pending.unmatched = messages.map(MessagePeer::from).collect();
        }
        pending
    }

    /// Returns the number of the slice that was last struck.
    pub(crate) fn slice(&self) -> u64 {
        self.mapped_page.slice()
    }

    /// Returns how many of a rank's requests the NIC has completed so far.
    pub(crate) fn completions(&self, rank: u32) -> u64 {
        let memory = self.mapped.get(rank as usize).and_then(Option::as_ref);
        memory.map_or(0, |memory| memory.completions().load(Ordering::Relaxed))
    }

    /// Returns the rank of the same node to which a rank has sent this, if that rank has not taken
    /// it.
    pub(crate) fn not_taken(&self, rank: u32, sent: &UntakenSend) -> Option<u32> {
        let RankArea { node, place } = self.desks.get(rank as usize)?.as_ref()?;
        let here = self.placement.node_ranks(self.placement.node_of(rank)?);
        let to = sent.place as usize;
        let there = to < node.ranks() && node.taken(*place, to) <= sent.position;
        there.then(|| here.rank_at(to))
    }

    /// Returns the process that joined as a rank, if it lives and NICs may access its memory.
    pub(crate) fn pid(&self, rank: u32) -> Option<u32> {
        let pid = self.segment.pid(rank)?.load(Ordering::Acquire);
        (pid != 0).then_some(pid)
    }

    /// Returns the memory that the ranks of a node share, if they do.
    pub(crate) fn node_memory(&self, node: NodeId) -> Option<BorrowedFd<'_>> {
        self.shared.get(&node.0).map(AsFd::as_fd)
    }

    /// Returns the machine page.
    pub(crate) fn page(&self) -> BorrowedFd<'_> {
        self.page.as_fd()
    }

    /// Publishes to NICs the slot of a rank, which has this place on its node. Call it before the
    /// rank's process is published. The descriptor stays open as long as this process lives.
    pub(crate) fn publish_slot(&self, rank: u32, place: usize, slot: BorrowedFd<'_>) {
        // If it cannot be found, the kernel copies.
        if let (Some(place), Ok(deposit)) = (
            Slot::at_place(place),
            DescriptorLocation::for_descriptor(slot),
        ) {
            self.segment.publish_slot(rank, place, deposit);
        }
    }

    /// Lets the NIC and the other ranks of the node access the memory of this process, a child of
    /// ours, for the rank's data.
    pub(crate) fn publish_child(&self, rank: u32, pid: Pid) {
        let pid = pid.as_raw_nonzero().get().unsigned_abs();
        self.publish(rank, pid, 0);
    }

    /// The same for a process that a script started. Its id may be recycled before we notice its
    /// end, so nobody writes by that id.
    pub(crate) fn publish_descendant(&self, rank: u32, pid: Pid) {
        let pid = pid.as_raw_nonzero().get();
        // If the kernel refuses us, it lets nobody access the rank's memory.
        if let Ok(file) = memory_file(pid) {
            self.segment.set_memory_file(rank, file);
            self.publish(rank, pid.unsigned_abs(), READ_ONLY);
        }
    }

    fn publish(&self, rank: u32, pid: u32, mark: u32) {
        if let Some(Some(RankArea { node, place })) = self.desks.get(rank as usize) {
            node.process_id(*place).store(pid | mark, Ordering::Release);
        }
        if let Some(word) = self.segment.pid(rank) {
            word.store(pid, Ordering::Release);
        }
    }

    /// Ends that access: when the rank has finalized, and in any case before we reap it and its id
    /// is recycled.
    pub(crate) fn withdraw_pid(&self, rank: u32) {
        self.publish(rank, 0, 0);
    }

    /// Returns the datagrams from other machines that were rejected so far.
    pub(crate) fn strays(&self) -> RejectedDatagrams {
        self.host.rejected_datagrams()
    }

    /// Returns how bytes of messages from other machines have come to ranks so far.
    pub(crate) fn inbound_bytes(&self) -> InboundBytes {
        self.host.inbound_bytes()
    }

    /// Takes what the ranks, which have all ended, have posted, and then strikes no more slices.
    pub(crate) fn quiesce(&self) {
        self.host.quiesce();
    }

    /// Stops the OS threads and returns their records (EMDS).
    pub(crate) fn stop(self) -> Recordings {
        self.host.stop()
    }

    /// Does the same after a failure, which may have been one of theirs. Returns `None` if they do
    /// not stop in time.
    pub(crate) fn stop_in_time(self) -> Option<Recordings> {
        let (stopped, is_stopped) = mpsc::channel();
        let stop = move || {
            // The receiver may be gone by now.
            let _late = stopped.send(self.host.stop());
        };
        let stopping = std::thread::Builder::new().spawn(stop);
        stopping.ok()?;
        is_stopped.recv_timeout(NIC_STOP_LIMIT).ok()
    }
}

/// Makes the connections to other machines, if there are any.
fn far(
    start: &JobStart,
    joined: Option<UdpSetup>,
    (segment, page): (&Segment, &MachinePage),
    mapped: &Arc<Vec<Option<NicMemory>>>,
) -> Result<Option<RemoteHosts>, NicError> {
    let (Some(far), Some(joined)) = (&start.far, joined) else {
        return Ok(None);
    };
    if far.shared_memory_nodes().len() == start.placement.nodes() {
        return Ok(None);
    }
    let ledger = start.strobe_sender.then(WriteLog::default);
    let memory = RankMemories::new(segment.clone(), mapped.clone()).with_settings(&start.settings);
    let machines = far.machines.iter();
    let machines = machines.map(|machine| machine.iter().copied().collect());
    let hub = HubConfig {
        placement: start.placement.clone(),
        parties: far.parties.clone(),
        me: far.me,
        machine: far.shared_memory_nodes().iter().copied().collect(),
        machines: machines.collect(),
        fan_out: FAN_OUT,
        beside_sequencer: far.beside_first.clone(),
        segment: segment.clone(),
        page: page.clone(),
        memory,
        ledger: ledger.clone(),
        link: LinkSettings {
            bytes_per_second: start.settings.link_bandwidth,
            ..LinkSettings::default()
        },
        paths: Vec::new(),
    };
    Ok(Some(RemoteHosts {
        wires: joined.wires(far, hub)?,
        ledger,
        node_timeout_ns: u64::try_from(far.node_timeout.as_nanos()).unwrap_or(u64::MAX),
    }))
}

/// Keeps NIC memory open for NICs of other processes, which write eager messages into it.
fn deposit(memory: &[Option<OwnedFd>], segment: &Segment) -> Result<Vec<OwnedFd>, Errno> {
    let here = (0..)
        .zip(memory)
        .filter_map(|(rank, memory)| Some((rank, memory.as_ref()?)));
    here.map(|(rank, memory)| {
        let kept = rustix::io::fcntl_dupfd_cloexec(memory, 0)?;
        segment.publish_nic_memory(rank, DescriptorLocation::for_descriptor(&kept)?);
        Ok(kept)
    })
    .collect()
}
