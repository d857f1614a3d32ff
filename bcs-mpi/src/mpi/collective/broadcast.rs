//! Barriers and broadcasts (MPI 5.0, 6.3 and 6.4).

use super::call::{CollectiveFunction, RecordedCall, collectives};
use crate::bcs::Blocking;
use crate::checked::UsedMemory;
use crate::mpi::blocks::BlockLayout;
use crate::mpi::checks::CommonArguments;
use crate::mpi::error::Result;
use crate::mpi::{Buffer, Comm, Request};
use crate::recording::{CallStart, Primitive, Site};

const IBARRIER: &CollectiveFunction =
    &CollectiveFunction::starting("MPI_Ibarrier", Primitive::Ibarrier);

impl Comm {
    fn post_barrier(&self, call: RecordedCall) -> Result<Request> {
        let begin = self.enter(call, None, None)?;
        if self.is_single() {
            return Ok(self.alone(&begin));
        }
        let endpoint = self.process().endpoint();
        let posted = endpoint.bcs_barrier(self.0.context, begin.blocking());
        self.started(begin, posted)
    }

    fn post_bcast(&self, call: RecordedCall, data: Buffer, root: i32) -> Result<Request> {
        if self.is_inter() {
            return self.bcast_between(call, &data, root);
        }
        let mut begin = self.enter(call, data.bytes(), Some(root))?;
        let element = data.element_bytes();
        let data = data.piece(&begin.operation)?;
        let world_root = self.world_rank(root, &begin.operation)?;
        self.uses(&mut begin, || {
            vec![match self.is_root(root) {
                true => UsedMemory::reads(data.clone(), element),
                false => UsedMemory::writes(data.clone(), element),
            }]
        })?;
        let data = match self.is_root(root) {
            true => data,
            false => begin.staged(data, element),
        };
        if self.is_single() {
            return Ok(self.alone(&begin));
        }
        let (endpoint, context) = (self.process().endpoint(), self.0.context);
        let posted = if let Some(data) = data.plain() {
            endpoint.bcs_bcast(context, world_root, data, begin.blocking())
        } else {
            let (members, root) = (self.members_of_context(), root.unsigned_abs() as usize);
            endpoint.bcs_bcast_packed(members, root, data)
        };
        self.started(begin, posted)
    }

    /// `MPI_Barrier`: waits until all members have called it.
    ///
    /// # Errors
    /// When the NIC reports a failure.
    #[track_caller]
    pub fn barrier(&self) -> Result<()> {
        let call = &const { CollectiveFunction::blocking("MPI_Barrier", Primitive::Barrier) };
        let site = Site::here();
        if self.process().is_checked() {
            self.calls_alike(
                "MPI_Barrier",
                Blocking::Yes,
                None,
                CommonArguments::NOTHING,
                site,
            )?;
        }
        if !self.process().recording().is_on() {
            return self.waited_for(self.post_barrier(RecordedCall::unrecorded(call)), site);
        }
        self.recorded_collective(call, 0, None, |calling| {
            self.waited_for(self.post_barrier(calling), site)
        })
    }

    /// Waits until all ranks of a window have come to the same call (`MPI_Win_fence`,
    /// `MPI_Win_free`). The communicator is the window's own.
    pub(in crate::mpi) fn barrier_of_window(&self, name: &'static str, site: Site) -> Result<()> {
        if self.process().is_checked() {
            let arguments = CommonArguments::NOTHING;
            self.calls_alike(name, Blocking::Yes, None, arguments, site)?;
        }
        let call = &const { CollectiveFunction::blocking("MPI_Win_fence", Primitive::Barrier) };
        self.waited_for(self.post_barrier(RecordedCall::unrecorded(call)), site)
    }

    /// `MPI_Ibarrier`.
    ///
    /// # Errors
    /// When an argument is wrong.
    #[track_caller]
    pub fn ibarrier(&self) -> Result<Request> {
        let site = Site::here();
        if self.process().is_checked() {
            self.calls_alike(
                "MPI_Ibarrier",
                Blocking::No,
                None,
                CommonArguments::NOTHING,
                site,
            )?;
        }
        if !self.process().recording().is_on() {
            let posted = self.post_barrier(RecordedCall::unrecorded(IBARRIER));
            return self.compared_later(posted, "MPI_Ibarrier", site);
        }
        self.recorded_collective(IBARRIER, 0, None, |calling| {
            self.compared_later(self.post_barrier(calling), "MPI_Ibarrier", site)
        })
    }

    /// Begins what a start of an `MPI_Barrier_init` starts.
    pub(in crate::mpi) fn start_barrier(&self, begun: CallStart) -> Result<Request> {
        self.count_collective(begun, 0);
        self.post_barrier(RecordedCall::recorded(IBARRIER, begun))
    }
}

collectives! {
    /// (6.4): gives all members the `data` of the root.
    bcast "MPI_Bcast" Bcast, ibcast "MPI_Ibcast" Ibcast, bcast_init:
    post_bcast(data: Buffer, root: i32),
    comm => data.all_bytes(1), root root, alike CommonArguments::of(&data);
}
