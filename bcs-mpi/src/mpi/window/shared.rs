//! Memory that all ranks of a window have mapped (MPI 5.0, 12.2.3).
//!
//! The heap of each rank lies in its slot, which the other ranks of its node map at the same
//! addresses. So shared memory is ordinary memory of one rank.

use super::create::allocated;
use super::memory::WindowMemory;
use super::state::{Window, WindowFlavor};
use crate::mpi::error::{ErrorClass, Operation, Result};
use crate::mpi::{Comm, PROC_NULL};

/// The shared memory of one rank.
#[derive(Debug)]
pub(super) struct SharedPart {
    pub(super) base: u64,
    /// The memory that this rank has allocated.
    pub(super) memory: Option<WindowMemory>,
    /// The rank that has allocated it.
    pub(super) owner: usize,
}

/// Memory of a rank, as `MPI_Win_shared_query` tells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SharedMemory {
    /// Its address in this process; 0 if there is none that this process can use.
    pub base: u64,
    /// Its bytes.
    pub size: u64,
    /// The displacement unit of that rank.
    pub disp_unit: u64,
}

impl Comm {
    /// Allocates the shared memory of a window in which each rank has `size` bytes.
    pub(super) fn shared_part(
        &self,
        size: u64,
        apart: bool,
        operation: Operation,
    ) -> Result<SharedPart> {
        let me = self.0.group.me;
        let sizes = self.gather_words(&[size, u64::from(apart)], operation)?;
        // Ranks that do not give the same hint get what needs no agreement.
        let apart = sizes.chunks_exact(2).any(|told| told[1] != 0);
        let sizes: Vec<u64> = sizes.chunks_exact(2).map(|told| told[0]).collect();
        let owner = if apart { me } else { 0 };
        let bytes = match (apart, me) {
            (true, _) => Some(size),
            (false, 0) => {
                let sum = |sum: u64, size: &u64| sum.checked_add(*size);
                let all = sizes.iter().try_fold(0, sum);
                Some(all.unwrap_or(u64::MAX))
            }
            (false, _) => None,
        };
        let memory = bytes.map(|bytes| allocated(bytes, operation)).transpose();
        let told = match &memory {
            Ok(Some(memory)) => memory.address(),
            _ => 0,
        };
        let bases = self.gather_words(&[told], operation)?;
        let memory = memory?;
        for rank in 0..sizes.len() {
            let (base, len) = match apart {
                true => (bases[rank], sizes[rank]),
                false => (bases[0], sizes.iter().sum()),
            };
            self.reaches_shared(if apart { rank } else { 0 }, (base, len), operation)?;
        }
        let before: u64 = sizes[..me].iter().sum();
        let base = match apart {
            true => bases[me],
            false => bases[0].wrapping_add(before),
        };
        Ok(SharedPart {
            base,
            memory,
            owner,
        })
    }

    /// Checks that this process has mapped memory of a rank.
    fn reaches_shared(
        &self,
        rank: usize,
        (base, len): (u64, u64),
        operation: Operation,
    ) -> Result<()> {
        if base == 0 {
            let reason = format!("rank {rank} has no memory for the window");
            return Err(operation.error(ErrorClass::NoMem, reason));
        }
        if self.is_mapped(rank, base, len.max(1)) {
            return Ok(());
        }
        let reason = format!(
            "the memory of rank {rank} is not mapped here: the ranks must be on one node, and their \
             heaps in slots (`bcs doctor`, `bcs run -v`); MPI_Comm_split_type makes a communicator of \
             each node"
        );
        Err(operation.error(ErrorClass::RmaShared, reason))
    }

    /// Returns whether memory of a rank can be loaded and stored at the same address here.
    pub(super) fn is_mapped(&self, rank: usize, base: u64, len: u64) -> bool {
        let process = self.process();
        let (own, world) = (process.world_rank(), self.members()[rank]);
        if world == own {
            return true;
        }
        let place = process.endpoint().place();
        let Some(at) = place.local.place_of(world) else {
            return false;
        };
        let Ok(len) = usize::try_from(len) else {
            return false;
        };
        process.slots().resolve(at, base, len).is_some()
    }
}

impl Window {
    /// `MPI_Win_shared_query`: returns where this process can load and store the memory of a rank;
    /// for [`PROC_NULL`], that of the lowest rank that has any. Memory of every window that lies in
    /// a slot is shared.
    ///
    /// # Errors
    /// When the window is dynamic, or there is no such rank.
    pub fn shared_query(&self, rank: i32) -> Result<SharedMemory> {
        let operation = Operation::plain("MPI_Win_shared_query");
        self.usable(operation)?;
        if self.0.flavor == WindowFlavor::Dynamic {
            let reason = "the memory of a dynamic window is not known to others";
            return Err(operation.error(ErrorClass::RmaFlavor, reason));
        }
        let place = match rank {
            PROC_NULL => {
                let has_memory = |&rank: &usize| self.part(rank).size > 0;
                (0..self.ranks()).find(has_memory)
            }
            rank => self.target(rank, operation)?,
        };
        Ok(place.map_or_else(|| self.shared(0), |place| self.shared(place)))
    }

    fn shared(&self, rank: usize) -> SharedMemory {
        let part = self.part(rank);
        let disp_unit = part.disp_unit;
        let is_mapped = || self.0.comm.is_mapped(part.owner, part.base, part.size);
        match part.size > 0 && is_mapped() {
            true => SharedMemory {
                base: part.base,
                size: part.size,
                disp_unit,
            },
            false => SharedMemory {
                base: 0,
                size: 0,
                disp_unit,
            },
        }
    }
}
