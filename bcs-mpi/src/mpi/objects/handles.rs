//! The state of a process and of a communicator. They know each other: a communicator belongs to a
//! process, and the process keeps the properties of the world and of the rank's own communicator,
//! whose functions get communicators. Their methods are in [`process`](crate::mpi::process), in
//! [`comm`](crate::mpi::comm), and in the modules after these.

use super::closing_contexts::ClosingContext;
use super::context_ids::{CommFamily, HeldContextIds};
use super::group_families::GroupFamilies;
use super::invalid_calls::InvalidCalls;
use super::lent_functions::ReturnedFunctions;
use super::members::{Members, RemoteGroup};
use super::part_tags::PartTags;
use super::properties::ObjectProperties;
use super::single_contexts::SingleContexts;
use super::thread_level::ThreadLevel;
use super::universe::UniverseState;
use super::user_error_codes::ErrorCodes;
use crate::attachment::NodeManagerLink;
use crate::bcs::Endpoint;
use crate::checked::JobChecks;
use crate::mpi::account::AttachedBuffer;
use crate::mpi::checked_windows::CheckedWindows;
use crate::mpi::topology::Topology;
use crate::recording::Recording;
use crate::send_sites::SendSites;
use crate::transport::smartmap::Slots;
use bcs_core::job::Placement;
use bcs_core::wait_state::LeakReport;
use std::sync::atomic::{AtomicBool, AtomicU32};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread::ThreadId;

/// A rank of a job, as the library sees it. A process has one, except in tests.
#[derive(Debug)]
pub struct Process {
    pub(in crate::mpi) endpoint: Endpoint,
    pub(in crate::mpi) placement: Placement,
    pub(in crate::mpi) link: Option<Arc<NodeManagerLink>>,
    pub(in crate::mpi) slots: Arc<Slots>,
    pub(in crate::mpi) recording: Recording,
    /// The state of a checked job; `None` if the job is not checked.
    pub(in crate::mpi) checked: Option<Box<JobChecks>>,
    /// The windows of a checked job.
    pub(in crate::mpi) checked_windows: CheckedWindows,
    pub(in crate::mpi) held_contexts: Arc<HeldContextIds>,
    pub(in crate::mpi) world_family: Arc<CommFamily>,
    /// The families that choose ids for two groups that agree.
    pub(in crate::mpi) pair_families: GroupFamilies,
    /// The ranks that were spawned, as this one knows them.
    pub(in crate::mpi) universe: UniverseState<Comm>,
    pub(in crate::mpi) finalized: AtomicBool,
    /// The numbers of communicators of one rank.
    pub(in crate::mpi) single_contexts: SingleContexts,
    /// The tags of partitioned messages.
    pub(in crate::mpi) part_tags: Arc<PartTags>,
    pub(in crate::mpi) closing: Mutex<Vec<ClosingContext>>,
    /// Functions of operations that schedules have released.
    pub(in crate::mpi) returned_functions: Arc<ReturnedFunctions>,
    pub(in crate::mpi) buffered: AttachedBuffer,
    /// Buffers of communicators and sessions that have held messages.
    pub(in crate::mpi) other_buffers: Mutex<Vec<AttachedBuffer>>,
    pub(in crate::mpi) world_properties: Arc<ObjectProperties<Comm>>,
    pub(in crate::mpi) self_properties: Arc<ObjectProperties<Comm>>,
    pub(in crate::mpi) error_codes: ErrorCodes,
    pub(in crate::mpi) main_thread: ThreadId,
    /// How the program's threads use MPI, as it has declared.
    pub(in crate::mpi) thread_level: OnceLock<ThreadLevel>,
    /// Leaks of the program that the tables of its transports do not show.
    pub(in crate::mpi) leaks: Mutex<LeakReport>,
    /// The calls that sent messages.
    pub(in crate::mpi) sent_from: SendSites,
}

/// The state that all handles of a communicator share.
#[derive(Debug)]
pub(in crate::mpi) struct CommState {
    pub(in crate::mpi) process: Arc<Process>,
    pub(in crate::mpi) context: u32,
    pub(in crate::mpi) group: Members,
    /// The other group, if this is an intercommunicator.
    pub(in crate::mpi) remote: Option<RemoteGroup>,
    /// The family that chooses the ids of its children.
    pub(in crate::mpi) family: Arc<CommFamily>,
    /// The family that chose its own id, if the id has to be given back.
    pub(in crate::mpi) origin: Option<Arc<CommFamily>>,
    /// Whether `MPI_Comm_free` was called on a handle.
    pub(in crate::mpi) freed: AtomicBool,
    /// Name, attributes, error handler, info.
    pub(in crate::mpi) properties: Arc<ObjectProperties<Comm>>,
    /// Whether its collectives, or parts of them, do without a NIC; set at the first use.
    pub(in crate::mpi) has_local_members: OnceLock<bool>,
    /// The neighbours of its ranks, if it has a topology.
    pub(in crate::mpi) topology: Option<Arc<Topology>>,
    /// The families that choose ids for parts of it that agree on their own.
    pub(in crate::mpi) group_families: GroupFamilies,
    /// How often it was duplicated without waiting.
    pub(in crate::mpi) duplications: AtomicU32,
    /// This rank's part in collectives that it called with wrong arguments.
    pub(in crate::mpi) invalid: InvalidCalls,
}

/// A communicator. Clones are handles of the same one. Its context lives until the last handle, and
/// the last request on it, is gone.
#[derive(Clone, Debug)]
pub struct Comm(pub(in crate::mpi) Arc<CommState>);

impl PartialEq for Comm {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Drop for CommState {
    fn drop(&mut self) {
        let invalid = std::mem::take(&mut self.invalid);
        if !self.process.is_finalized() && !invalid.are_over(&self.process.endpoint) {
            return; // the id is not used again
        }
        match self.origin.take() {
            Some(origin) => self.process.clone().close(self.context, origin),
            None => self.process.single_contexts.give_back(self.context),
        }
    }
}
