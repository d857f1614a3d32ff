//! The universe as a rank knows it: all ranks of its job, those that were spawned among them.

use super::context_ids::CommFamily;
use super::members::Members;
use bcs_core::job::SpawnedGroup;
use std::collections::BTreeSet;
use std::sync::atomic::AtomicU32;
use std::sync::{Arc, Mutex, OnceLock};

/// The start of this rank, as the launcher has told it.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::mpi) struct RankStart {
    /// The number of its program among those that were started with it, if there is a launcher.
    pub(in crate::mpi) application: Option<u32>,
    /// `MPI_UNIVERSE_SIZE`, if the user has given it.
    pub(in crate::mpi) universe_size: Option<u32>,
    /// A number that no other job has.
    pub(in crate::mpi) job: u64,
    /// The ranks that were spawned with this one, if it was.
    pub(in crate::mpi) spawned: Option<SpawnedGroup>,
}

/// The world of ranks that were spawned.
#[derive(Debug)]
pub(in crate::mpi) struct SpawnedWorld {
    pub(in crate::mpi) context: u32,
    pub(in crate::mpi) group: Members,
    pub(in crate::mpi) family: Arc<CommFamily>,
}

/// The state of a rank in the universe, with communicators of this type.
#[derive(Debug)]
pub(in crate::mpi) struct UniverseState<C> {
    pub(in crate::mpi) start: RankStart,
    /// The world of this rank, if it was spawned.
    pub(in crate::mpi) world: OnceLock<SpawnedWorld>,
    /// The communicator with the ranks that have spawned this one, until it is freed.
    pub(in crate::mpi) parent: Mutex<Option<C>>,
    /// The open ports of this rank.
    pub(in crate::mpi) ports: Mutex<BTreeSet<u32>>,
    /// The number of the next port, and of the next connection that this rank makes.
    pub(in crate::mpi) next_port: AtomicU32,
    pub(in crate::mpi) next_connection: AtomicU32,
}

impl<C> UniverseState<C> {
    /// Makes the state of a rank that has just started.
    pub(in crate::mpi) fn new(start: RankStart) -> Self {
        Self {
            start,
            world: OnceLock::new(),
            parent: Mutex::new(None),
            ports: Mutex::default(),
            next_port: AtomicU32::new(0),
            next_connection: AtomicU32::new(0),
        }
    }
}
