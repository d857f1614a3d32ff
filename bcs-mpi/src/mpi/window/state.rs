//! A window, and what all its handles share.

use super::control_block::ControlBlock;
use super::direct_targets::DirectTargets;
use super::epoch_state::Epochs;
use super::memory::WindowMemory;
use super::posted_operations::Outstanding;
use super::races::RaceDetector;
use crate::mpi::error::{Error, ErrorClass, Operation, Result};
use crate::mpi::group::as_rank;
use crate::mpi::{Comm, Group, Info, PROC_NULL, Process};
use crate::transport::DirectAccess;
use crate::transport::RequestOutcome;
use crate::transport::one_sided::OneSidedRefusal;
use bcs_core::lockstep;
use bcs_core::request::RequestFailure;
use bcs_core::wait_state::MessagePeer;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

/// How a window was made (`MPI_WIN_CREATE_FLAVOR`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WindowFlavor {
    /// It is memory that the program has (`MPI_Win_create`).
    Create,
    /// With memory of its own (`MPI_Win_allocate`).
    Allocate,
    /// Its memory is attached later (`MPI_Win_create_dynamic`).
    Dynamic,
    /// With memory that all its ranks have mapped (`MPI_Win_allocate_shared`).
    Shared,
}

/// The memory of one rank in a window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct WindowPart {
    /// Its address in the process that has allocated it.
    pub(super) base: u64,
    pub(super) size: u64,
    pub(super) disp_unit: u64,
    /// The address of the rank's control block.
    pub(super) control: u64,
    /// In a checked job the address of the log of accesses, and of the rank's number of releases.
    pub(super) log: u64,
    pub(super) releases: u64,
    /// The rank in the window whose process has allocated the memory.
    pub(super) owner: usize,
}

/// A window. Clones are handles of the same one.
#[derive(Clone, Debug)]
pub struct Window(pub(super) Arc<WindowState>);

#[derive(Debug)]
pub(super) struct WindowState {
    /// A communicator of the window's own: its barriers meet no other calls, and its context names
    /// the window in what waiting ranks report.
    pub(super) comm: Comm,
    pub(super) flavor: WindowFlavor,
    pub(super) parts: Vec<WindowPart>,
    pub(super) control: ControlBlock,
    /// The memory that the library has allocated for this rank.
    pub(super) memory: Option<WindowMemory>,
    pub(super) direct: DirectAccess,
    pub(super) direct_targets: DirectTargets,
    pub(super) epochs: Epochs,
    pub(super) outstanding: Outstanding,
    /// In a checked job.
    pub(super) races: Option<Box<RaceDetector>>,
    /// Attached memory of this rank: address and length.
    pub(super) attached: Mutex<Vec<(u64, u64)>>,
    pub(super) info: Mutex<Info>,
    pub(super) name: Mutex<String>,
    pub(super) freed: AtomicBool,
}

/// Other ranks may still use the memory of a window that was not freed, so it stays.
impl Drop for WindowState {
    fn drop(&mut self) {
        if !self.freed.load(Ordering::Relaxed) {
            std::mem::forget(std::mem::take(&mut self.control));
            std::mem::forget(self.races.take());
            std::mem::forget(self.memory.take());
        }
    }
}

impl PartialEq for Window {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Window {
    /// Returns the process that this handle belongs to.
    #[must_use]
    pub fn process(&self) -> &Arc<Process> {
        self.0.comm.process()
    }

    /// `MPI_Win_get_group`.
    #[must_use]
    pub fn group(&self) -> Group {
        self.0.comm.group()
    }

    /// Returns this rank's number in the window.
    #[must_use]
    pub fn rank(&self) -> i32 {
        self.0.comm.rank()
    }

    /// Returns the number of ranks.
    #[must_use]
    pub fn size(&self) -> i32 {
        self.0.comm.size()
    }

    /// `MPI_WIN_CREATE_FLAVOR`.
    #[must_use]
    pub fn flavor(&self) -> WindowFlavor {
        self.0.flavor
    }

    /// `MPI_WIN_BASE`, `MPI_WIN_SIZE` and `MPI_WIN_DISP_UNIT` of this rank.
    #[must_use]
    pub fn own_memory(&self) -> (u64, u64, u64) {
        let part = self.part(self.me());
        (part.base, part.size, part.disp_unit)
    }

    pub(super) fn me(&self) -> usize {
        self.0.comm.0.group.me
    }

    pub(super) fn ranks(&self) -> usize {
        self.0.parts.len()
    }

    pub(super) fn part(&self, rank: usize) -> &WindowPart {
        &self.0.parts[rank]
    }

    pub(super) fn direct(&self) -> &DirectAccess {
        &self.0.direct
    }

    pub(super) fn world_rank(&self, rank: usize) -> u32 {
        self.0.comm.members()[rank]
    }

    /// Checks that the library is initialised and the window not freed.
    #[inline]
    pub(super) fn usable(&self, operation: Operation) -> Result<()> {
        self.process().alive(&operation)?;
        if self.0.freed.load(Ordering::Relaxed) {
            return Err(operation.error(ErrorClass::Win, "the window was freed"));
        }
        Ok(())
    }

    /// Returns the place of a rank of the window; `None` for [`PROC_NULL`].
    #[inline]
    pub(super) fn target(&self, rank: i32, operation: Operation) -> Result<Option<usize>> {
        let place = usize::try_from(rank).ok();
        match place.filter(|&place| place < self.ranks()) {
            Some(place) => Ok(Some(place)),
            None if rank == PROC_NULL => Ok(None),
            None => {
                let last = self.ranks() - 1;
                let reason = format!("the window has no rank {rank}, but 0 to {last}");
                Err(operation.error(ErrorClass::Rank, reason))
            }
        }
    }

    /// Returns the window's name in messages.
    pub(super) fn title(&self) -> String {
        match self.name() {
            name if name.is_empty() => format!("a window of {} ranks", self.ranks()),
            name => format!("the window {name:?}"),
        }
    }

    /// Returns a rank of the window as waits name it. The context is the window's.
    pub(super) fn peer(&self, rank: Option<usize>, about: Option<usize>) -> MessagePeer {
        MessagePeer {
            context: self.0.comm.0.context,
            rank: rank.map(|rank| self.world_rank(rank)),
            tag: about.map(as_rank),
        }
    }

    /// Returns the error of an operation that was refused.
    #[cold]
    pub(super) fn refusal(
        &self,
        why: OneSidedRefusal,
        rank: usize,
        operation: Operation,
    ) -> Box<Error> {
        match why {
            OneSidedRefusal::Memory => self.unreachable(rank, operation),
            OneSidedRefusal::TooManyRequests(many) => {
                operation.error(ErrorClass::Other, many.to_string())
            }
        }
    }

    /// Returns the error for memory of a target that cannot be read or written.
    #[cold]
    fn unreachable(&self, rank: usize, operation: Operation) -> Box<Error> {
        let reason = match self.0.flavor {
            WindowFlavor::Dynamic => {
                format!("rank {rank} has no memory there: it must attach it (MPI_Win_attach)")
            }
            _ => format!("the memory of rank {rank} in {} is not there", self.title()),
        };
        operation.error(ErrorClass::RmaRange, reason)
    }

    /// Checks how an operation at a target has ended.
    pub(super) fn check_outcome(
        &self,
        outcome: &RequestOutcome,
        rank: usize,
        operation: Operation,
    ) -> Result<()> {
        match outcome.failure {
            RequestFailure::None => Ok(()),
            RequestFailure::TargetMemory => Err(self.unreachable(rank, operation)),
            failure => Err(operation.failure(failure, outcome.len)),
        }
    }

    /// `MPI_Win_get_name`: returns the name, which may be empty.
    #[must_use]
    pub fn name(&self) -> String {
        lockstep::lock(&self.0.name).clone()
    }
}
