//! This rank: initialise, finalise, abort (MPI 5.0, 11.2 and 9.7).

use super::account::AttachedBuffer;
use super::checked_windows::CheckedWindows;
use super::environment;
use super::error::{Error, ErrorClass, Operation, Result};
use super::objects::closing_contexts::ClosingContext;
use super::objects::context_ids::{CommFamily, HeldContextIds};
use super::objects::group_families::GroupFamilies;
pub use super::objects::handles::Process;
use super::objects::handles::{Comm, CommState};
use super::objects::invalid_calls::InvalidCalls;
use super::objects::lent_functions::ReturnedFunctions;
use super::objects::members::Members;
use super::objects::properties::ObjectProperties;
use super::objects::single_contexts::{ITSELF, SingleContexts};
use super::objects::universe::{RankStart, UniverseState};
use super::objects::user_error_codes::ErrorCodes;
use super::threads::ThreadLevel;
use super::topology::Topology;
use crate::attachment::{Attachment, NodeManagerLink};
use crate::bcs::{Endpoint, FinalizeOutcome, RankLocation};
use crate::call_site;
use crate::checked::JobChecks;
use crate::foreign;
use crate::forked;
use crate::other_launchers;
use crate::recording::{CallInfo, CallStart, CallTiming, Primitive, Recording, Site};
use crate::send_sites::SendSites;
use crate::shared_memory::SharedMemory;
use crate::transport::smartmap::Slots;
use bcs_core::job::handshake::FromRank;
use bcs_core::job::{Placement, RankAnswer, RankRequest, Settings};
use bcs_core::limits::DEFAULT_EAGER_LIMIT;
use bcs_core::lockstep;
use bcs_core::memory::{MapError, NicMemory};
use bcs_core::request::RequestFailure;
use bcs_core::smartmap::{NodeMemory, RankArea};
use bcs_core::wake::{MachinePage, core_sharing, home_core};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread::ThreadId;

impl Process {
    /// `MPI_Init`: finds the node manager, or starts a world of one if there is none.
    ///
    /// # Errors
    /// When there is a node manager but it does not accept this process.
    pub fn init() -> Result<Arc<Self>> {
        let process = Self::found()?;
        environment::set_process(&process);
        process.join_universe()?;
        let parents = Arc::downgrade(&process);
        forked::guard(move || {
            if let Some(process) = parents.upgrade() {
                process.abandon();
                // A thread that the child does not have may have held the lock.
                std::mem::forget(process);
            }
        });
        Ok(process)
    }

    /// `MPI_Init_thread`: [`init`](Self::init) of a program whose threads use MPI only up to this
    /// level, which is provided. If only the calling thread calls MPI and is in a call that can
    /// never return, this is detected as a deadlock, whatever the other threads do.
    ///
    /// # Errors
    /// As `init`.
    pub fn init_thread(level: ThreadLevel) -> Result<Arc<Self>> {
        let process = Self::init()?;
        process.promise(level);
        Ok(process)
    }

    /// Declares that threads of this rank use MPI only up to this level.
    pub(crate) fn promise(&self, level: ThreadLevel) {
        let _once = self.thread_level.set(level);
        let others = self.thread_level() >= ThreadLevel::Serialized;
        self.endpoint.others_may_call(others);
    }

    fn found() -> Result<Arc<Self>> {
        let fail = |error: &dyn std::fmt::Display| {
            Operation::plain("MPI_Init").error(ErrorClass::Other, error.to_string())
        };
        let Some(attachment) = Attachment::find().map_err(|error| fail(&error))? else {
            other_launchers::tell_who_is_alone();
            let memory = memory_alone().map_err(|error| fail(&error))?;
            let placement = Placement::block(1, 1).expect("one rank fits one node");
            let recording = Recording::new(None, memory.page.clone());
            return Ok(Self::with_endpoint(
                Endpoint::alone(memory),
                placement,
                None,
                recording,
            ));
        };
        let Attachment {
            link,
            welcome,
            memory,
            record,
        } = attachment;
        for message in foreign::place_messages() {
            link.say(&message).map_err(|error| fail(&error))?;
        }
        let link = Arc::new(link);
        let slots = slots(&welcome.placement, welcome.rank, link.clone());
        let place = place(&welcome.placement, welcome.rank);
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        if place.local.starting() as usize > cores {
            // Cores are assigned by world rank, because several nodes may be on this machine.
            let sharers = welcome.placement.ranks() / cores;
            home_core::set_home_core(welcome.rank as usize, sharers);
        } else {
            core_sharing::take_seat(welcome.rank as usize);
        }
        let recording = Recording::new(record, memory.page.clone());
        let endpoint = Endpoint::new(memory, place, welcome.settings);
        let start = RankStart {
            application: Some(welcome.application),
            universe_size: welcome.universe_size,
            job: welcome.job,
            spawned: welcome.spawned,
        };
        let placement = welcome.placement;
        Ok(Self::with_slots(
            endpoint,
            placement,
            (start, Some(link)),
            slots,
            recording,
        ))
    }

    /// Makes a rank with this endpoint of a NIC.
    pub(crate) fn with_endpoint(
        endpoint: Endpoint,
        placement: Placement,
        link: Option<NodeManagerLink>,
        recording: Recording,
    ) -> Arc<Self> {
        let link = link.map(Arc::new);
        let start = RankStart::default();
        Self::with_slots(
            endpoint,
            placement,
            (start, link),
            Slots::alone(),
            recording,
        )
    }

    /// Makes a rank whose memory its host has made: the simulator runs ranks as threads of one
    /// process. The rank has no node manager.
    #[must_use]
    pub fn hosted(
        memory: SharedMemory,
        placement: Placement,
        rank: u32,
        settings: Settings,
    ) -> Arc<Self> {
        let recording = Recording::new(None, memory.page.clone());
        let endpoint = Endpoint::new(memory, place(&placement, rank), settings);
        Self::with_endpoint(endpoint, placement, None, recording)
    }

    fn with_slots(
        endpoint: Endpoint,
        placement: Placement,
        (start, link): (RankStart, Option<Arc<NodeManagerLink>>),
        slots: Slots,
        recording: Recording,
    ) -> Arc<Self> {
        let slots = Arc::new(slots);
        endpoint.use_slots(&slots);
        link.iter().for_each(|link| endpoint.report_to(link));
        let held_contexts = HeldContextIds::new();
        let checked = endpoint.settings().checked;
        let checked = checked.then(|| Box::new(JobChecks::new(placement.capacity())));
        let world_family = CommFamily::new(held_contexts.clone(), placement.ranks(), None);
        Arc::new(Self {
            endpoint,
            placement,
            link,
            slots,
            recording,
            checked,
            checked_windows: CheckedWindows::default(),
            world_family,
            pair_families: GroupFamilies::default(),
            held_contexts,
            universe: UniverseState::new(start),
            finalized: AtomicBool::new(false),
            single_contexts: SingleContexts::default(),
            part_tags: Arc::default(),
            closing: Mutex::default(),
            returned_functions: Arc::default(),
            buffered: AttachedBuffer::default(),
            other_buffers: Mutex::default(),
            world_properties: Arc::new(ObjectProperties::named("MPI_COMM_WORLD")),
            self_properties: Arc::new(ObjectProperties::named("MPI_COMM_SELF")),
            error_codes: ErrorCodes::default(),
            main_thread: std::thread::current().id(),
            thread_level: OnceLock::new(),
            leaks: Mutex::default(),
            sent_from: SendSites::default(),
        })
    }

    /// Returns `MPI_COMM_WORLD`.
    #[must_use]
    pub fn world(self: &Arc<Self>) -> Comm {
        let (context, group, family) = match self.universe.world.get() {
            Some(world) => (world.context, world.group.clone(), world.family.clone()),
            None => {
                let ranks = u32::try_from(self.placement.ranks()).expect("MAX_RANKS fits u32");
                let group = Members::new((0..ranks).collect(), self.world_rank() as usize);
                (0, group, self.world_family.clone())
            }
        };
        Comm(Arc::new(CommState {
            process: self.clone(),
            context,
            group,
            family,
            remote: None,
            origin: None,
            freed: AtomicBool::new(false),
            properties: self.world_properties.clone(),
            topology: None,
            has_local_members: OnceLock::new(),
            group_families: GroupFamilies::default(),
            duplications: AtomicU32::new(0),
            invalid: InvalidCalls::default(),
        }))
    }

    /// Returns a communicator of this rank alone, like `MPI_COMM_SELF`.
    #[must_use]
    pub fn itself(self: &Arc<Self>) -> Comm {
        let group = Members::new(vec![self.world_rank()], 0);
        self.of_one(ITSELF, group, None, self.self_properties.clone())
    }

    /// Returns a communicator of one rank, with this context.
    pub(super) fn of_one(
        self: &Arc<Self>,
        context: u32,
        group: Members,
        topology: Option<Arc<Topology>>,
        kept: Arc<ObjectProperties<Comm>>,
    ) -> Comm {
        Comm(Arc::new(CommState {
            process: self.clone(),
            context,
            group,
            remote: None,
            family: self.world_family.clone(), // Never used: its children have one rank, too.
            origin: None,
            freed: AtomicBool::new(false),
            properties: kept,
            topology,
            has_local_members: OnceLock::new(),
            group_families: GroupFamilies::default(),
            duplications: AtomicU32::new(0),
            invalid: InvalidCalls::default(),
        }))
    }

    /// Pretends that this rank has used all numbers of communicators of one rank and all tags of
    /// parts but `left`.
    #[cfg(test)]
    pub(crate) fn numbers_are_left(&self, left: u32) {
        self.single_contexts.begin_before_the_end(left);
        self.part_tags.leave(left);
    }

    /// Returns whether a context is that of this rank's world.
    pub(super) fn is_world(&self, context: u32) -> bool {
        let own = self.universe.world.get();
        context == own.map_or(0, |world| world.context)
    }

    /// Asks the launcher for something, and waits for its answer.
    pub(super) fn ask_launcher(
        &self,
        request: RankRequest,
    ) -> std::result::Result<RankAnswer, String> {
        let Some(link) = &self.link else {
            let why = "no launcher has started this process: `bcs run -n 1 PROGRAM` starts it so";
            return Err(why.to_owned());
        };
        link.ask(request).map_err(|error| error.to_string())
    }

    /// Waits until all buffered messages of this rank are sent.
    pub(super) fn flush_buffers(&self) {
        self.buffers().iter().for_each(AttachedBuffer::flush);
    }

    /// Returns the rank's number in the job. For ranks that start with it this is their rank in the
    /// world.
    #[must_use]
    pub fn world_rank(&self) -> u32 {
        self.endpoint.place().rank
    }

    /// Returns the nodes of the ranks.
    #[must_use]
    pub fn placement(&self) -> &Placement {
        &self.placement
    }

    pub(super) fn main_thread(&self) -> ThreadId {
        self.main_thread
    }

    pub(super) fn error_codes(&self) -> &ErrorCodes {
        &self.error_codes
    }

    /// Returns the heaps of this node's ranks, as far as they lie in slots.
    #[must_use]
    pub fn slots(&self) -> &Slots {
        &self.slots
    }

    /// Returns this rank's endpoint of its NIC.
    #[must_use]
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    pub(crate) fn recording(&self) -> &Recording {
        &self.recording
    }

    /// Makes a call without a communicator, which is recorded if calls are.
    #[inline(always)]
    #[track_caller]
    pub(super) fn recorded<T>(
        &self,
        primitive: Primitive,
        manner: CallTiming,
        call: impl FnOnce(CallStart) -> T,
    ) -> T {
        if !self.recording.is_on() {
            return call(CallStart::UNKNOWN);
        }
        let called = CallInfo::plain(primitive, manner == CallTiming::Waits);
        self.recording
            .record_call(Site::here(), manner, called, call)
    }

    /// `MPI_Pcontrol` (MPI 5.0, 15.2.4): level 0 stops the recording of this rank's calls, any
    /// other level resumes it, if its job records ([`bcs run --mds`](crate::manual)). Level 2 is to
    /// write the records. For that nothing has to be done, since the node manager reads them in
    /// place, even if the rank dies.
    ///
    /// Calls that were not recorded count as computation.
    pub fn pcontrol(&self, level: i32) {
        self.recording.switch(level != 0);
    }

    /// Registers a buffer that will hold messages, so that finalize waits for them.
    pub(super) fn register_buffer(&self, buffer: &AttachedBuffer) {
        if *buffer == self.buffered {
            return;
        }
        let mut known = lockstep::lock(&self.other_buffers);
        if !known.contains(buffer) {
            known.push(buffer.clone());
        }
    }

    /// Returns all buffers that have held messages.
    pub(super) fn buffers(&self) -> Vec<AttachedBuffer> {
        let others = lockstep::lock(&self.other_buffers);
        let own = std::iter::once(&self.buffered);
        own.chain(others.iter()).cloned().collect()
    }

    pub(super) fn held_contexts(&self) -> &Arc<HeldContextIds> {
        &self.held_contexts
    }

    /// Returns the family of these ranks, from which two communicators choose the id of their
    /// intercommunicator.
    pub(super) fn pair_family(&self, members: &[u32]) -> Arc<CommFamily> {
        let (held, world) = (&self.held_contexts, &self.world_family);
        self.pair_families.of(members, held, world)
    }

    /// Returns how many of these world ranks are on this rank's node.
    pub(super) fn local_members(&self, members: &[u32]) -> u32 {
        let node = Some(self.endpoint.place().node);
        let local = members
            .iter()
            .filter(|&&member| self.placement.node_of(member) == node);
        u32::try_from(local.count()).expect("MAX_RANKS fits u32")
    }

    /// `MPI_Finalized`: returns whether finalize was called. It is true in a forked child.
    #[must_use]
    pub fn is_finalized(&self) -> bool {
        self.finalized.load(Ordering::Acquire)
    }

    pub(super) fn alive(&self, operation: &Operation) -> Result<()> {
        if self.is_finalized() {
            return Err(self.finalized_error(operation));
        }
        Ok(())
    }

    #[cold]
    fn finalized_error(&self, operation: &Operation) -> Box<Error> {
        let reason = if forked::is_child() {
            let rank = self.world_rank();
            if self.is_checked() {
                self.tell_of_child(operation);
            }
            format!("called in a forked child of rank {rank}: such a child is no rank")
        } else {
            "called after MPI_Finalize".to_owned()
        };
        operation.error(ErrorClass::Other, reason)
    }

    /// Gives up MPI in a forked child: all of its state belongs to the parent.
    fn abandon(&self) {
        self.finalized.store(true, Ordering::Release);
        self.endpoint.abandon();
        self.recording.abandon();
    }

    /// Closes a context that this rank no longer uses.
    pub(super) fn close(&self, context: u32, origin: Arc<CommFamily>) {
        if self.is_finalized() {
            return;
        }
        // Without a free request slot the job cannot use the id again, but nothing else is lost.
        if let Ok(request) = self.endpoint.bcs_close(context) {
            let mut closing = lockstep::lock(&self.closing);
            closing.push(ClosingContext {
                request,
                context,
                origin,
            });
        }
    }

    pub(super) fn returned(&self) -> &Arc<ReturnedFunctions> {
        &self.returned_functions
    }

    /// Gives back the ids of the contexts that this rank has closed.
    pub(super) fn reap_closed(&self) {
        self.endpoint.bcs_reap_freed();
        let closing = std::mem::take(&mut *lockstep::lock(&self.closing));
        for closing in closing {
            closing.finish(&self.endpoint);
        }
    }

    /// Does the same for those that are closed by now, without waiting.
    pub(super) fn reap_closed_by_now(&self) {
        self.endpoint.bcs_reap_freed();
        let mut closing = lockstep::lock(&self.closing);
        let all = std::mem::take(&mut *closing);
        let rest = all
            .into_iter()
            .filter_map(|one| one.finish_if_closed(&self.endpoint));
        closing.extend(rest);
    }

    /// `MPI_Finalize`: returns when this rank's sends have completed. Calling it again does
    /// nothing.
    ///
    /// # Errors
    /// When a message that was sent eagerly or buffered could not be delivered, or the node manager
    /// is gone.
    #[track_caller]
    pub fn finalize(self: &Arc<Self>) -> Result<()> {
        let operation = Operation::plain("MPI_Finalize");
        let _at = call_site::enter(Site::here());
        if forked::is_child() {
            return Err(self.finalized_error(&operation));
        }
        // This must come first (11.2.2): its functions may call MPI.
        let deleted = if self.finalized.load(Ordering::Acquire) {
            Ok(())
        } else {
            self.itself().delete_attributes()
        };
        // These functions may own communicators, which must be closed while that is possible.
        self.returned_functions.drop_all();
        let agreed = match self.finalized.load(Ordering::Acquire) {
            true => Ok(()),
            false => self.compare_remaining_calls(),
        };
        if self.finalized.swap(true, Ordering::AcqRel) {
            return Ok(());
        }
        let wait = || {
            self.buffers().iter().for_each(AttachedBuffer::flush);
            self.reap_closed();
            self.endpoint.bcs_finalize()
        };
        let FinalizeOutcome { lost, left } =
            self.recorded(Primitive::Finalize, CallTiming::Waits, |_| wait());
        self.endpoint.bcs_reap_freed();
        self.recording.finish();
        if let Some(link) = &self.link {
            let mut last = self.leak_reports(left);
            last.push(FromRank::Finalized);
            let said = last.iter().try_for_each(|what| link.say(what));
            said.map_err(|error| operation.error(ErrorClass::Other, error.to_string()))?;
            link.finalize_elsewhere();
        }
        if lost != RequestFailure::None {
            return Err(operation.failure(lost, 0));
        }
        self.buffers().iter().try_for_each(AttachedBuffer::lost)?;
        agreed.and(deleted)
    }

    /// Does the part of `MPI_Finalize` for a process that has used sessions, and may open another
    /// one: it deletes the attributes of its own communicator, and waits until buffered messages
    /// are sent. The process [finalizes](Self::finalize) when it exits.
    ///
    /// # Errors
    /// When a function that deletes an attribute fails, or a buffered message could not be
    /// delivered.
    pub fn leave_world(self: &Arc<Self>) -> Result<()> {
        let deleted = self.itself().delete_attributes();
        self.returned_functions.drop_all();
        self.buffers().iter().for_each(AttachedBuffer::flush);
        self.buffers().iter().try_for_each(AttachedBuffer::lost)?;
        deleted
    }

    /// `MPI_Abort`: ends the job with this exit code, and reports the reason to the user. A forked
    /// child ends itself.
    pub fn abort(&self, code: i32, reason: &str) -> ! {
        if let Some(link) = &self.link
            && !forked::is_child()
        {
            // If the node manager is gone, this rank can only end itself.
            let _gone = foreign::script_places().map(|places| link.say(&places));
            let _gone = link.say(&FromRank::Abort {
                code,
                reason: reason.to_owned(),
                address: foreign::address(),
            });
            link.abort_elsewhere(code);
        } else if !reason.is_empty() {
            eprintln!("aborted: {reason}");
        }
        std::process::exit(code)
    }
}

/// Returns the memory of a world of one: a node of one rank without a NIC, which shares it with no
/// process.
pub(crate) fn memory_alone() -> std::result::Result<SharedMemory, MapError> {
    let node = NodeMemory::private(1)?;
    node.process_id(0)
        .store(std::process::id(), Ordering::Release);
    let desk = RankArea { node, place: 0 };
    let nic = NicMemory::private(DEFAULT_EAGER_LIMIT)?;
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let page = MachinePage::private(1, u32::try_from(cores).unwrap_or(u32::MAX))?;
    Ok(SharedMemory::new(nic, Some(desk), page))
}

/// Returns the location of a rank.
pub(crate) fn place(placement: &Placement, rank: u32) -> RankLocation {
    let node = placement
        .node_of(rank)
        .expect("the rank is one of the job's");
    RankLocation {
        rank,
        node,
        local: placement.node_ranks(node),
        ranks: u32::try_from(placement.ranks()).expect("MAX_RANKS fits u32"),
    }
}

/// Returns the slots of a rank's node.
fn slots(placement: &Placement, rank: u32, link: Arc<NodeManagerLink>) -> Slots {
    let node = placement
        .node_of(rank)
        .expect("the rank is one of the job's");
    let place = placement.ranks_of(node).position(|of| of == rank);
    let place = place.expect("a rank is on its node");
    Slots::new(place, placement.ranks_of(node).count(), link)
}

/// `MPI_Wtime`: returns the seconds since a moment that is the same for all ranks of a machine.
#[must_use]
pub fn wtime() -> f64 {
    #[expect(
        clippy::cast_precision_loss,
        reason = "53 bits of nanoseconds are a hundred days"
    )]
    let ns = bcs_core::clock::now_ns() as f64;
    ns * 1e-9
}

static THE_PROCESS: OnceLock<()> = OnceLock::new();

/// Ensures that a process initialises once.
pub(crate) fn claim_process() -> Result<()> {
    THE_PROCESS.set(()).map_err(|()| {
        let reason = "this process has been initialised before";
        Operation::plain("MPI_Init").error(ErrorClass::Other, reason)
    })
}
