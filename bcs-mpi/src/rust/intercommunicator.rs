//! Communicators of two groups over typed slices: blocking calls.
//!
//! They are a type of their own, because ranks and blocks here are those of the other group. The
//! untyped core has the other calls (non-blocking, vector and persistent collectives).
#![expect(unsafe_code, reason = "hands slices to the untyped core by address")]

use super::collectives::block_of;
use super::communicator::Communicator;
use super::equivalence::{Equivalence, read, write};
use super::matching::{Destination, Source, Status, Tag, as_rank};
use super::operation::Operation;
use super::unchecked_memory::settled;
use crate::mpi::{Buffer, Comm, Group, InvalidArguments, PROC_NULL, ROOT, Result};

/// Two groups of ranks, each of which communicates with the other.
///
/// Ranks in arguments are those of the other group, and collectives collect data from there.
#[derive(Clone, Debug)]
pub struct Intercommunicator(Comm);

impl Intercommunicator {
    /// Makes the typed handle of an intercommunicator.
    pub(crate) fn over(comm: Comm) -> Self {
        Self(comm)
    }
}

/// The place of the root of a collective between two groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Root {
    /// This rank is the root. (`MPI_ROOT`)
    Here,
    /// Another rank of this group is the root, and this rank takes no part. (`MPI_PROC_NULL`)
    Beside,
    /// This rank of the other group is the root.
    Remote(usize),
}

impl Root {
    fn rank(self) -> i32 {
        match self {
            Self::Here => ROOT,
            Self::Beside => PROC_NULL,
            Self::Remote(rank) => as_rank(rank),
        }
    }
}

impl Communicator {
    /// Makes a communicator of two groups of this communicator and that of the remote leader, which
    /// must have no member in common. All ranks of both call it. The leader of this one, `leader`,
    /// passes a communicator that both leaders are in and the remote leader's rank there. Other
    /// ranks may pass `None`. (`MPI_Intercomm_create`)
    ///
    /// # Errors
    /// When there is no such leader, the tag is negative, the groups have a member in common, no
    /// context is free, or a rank is gone.
    #[track_caller]
    pub fn intercomm_create(
        &self,
        leader: usize,
        remote: Option<(&Self, usize)>,
        tag: i32,
    ) -> Result<Intercommunicator> {
        let (peer, remote_leader) = remote.unzip();
        let peer = peer.map(Self::untyped);
        let remote_leader = remote_leader.map_or(0, as_rank);
        let comm = self
            .untyped()
            .intercomm_create(as_rank(leader), peer, remote_leader, tag);
        comm.map(Intercommunicator)
    }
}

impl Intercommunicator {
    /// Returns this process's rank in its group.
    #[must_use]
    pub fn rank(&self) -> usize {
        usize::try_from(self.0.rank()).expect("ranks are not negative")
    }

    /// Returns the number of ranks in its group.
    #[must_use]
    pub fn size(&self) -> usize {
        self.0.members().len()
    }

    /// Returns the number of ranks in the other group. (`MPI_Comm_remote_size`)
    #[must_use]
    pub fn remote_size(&self) -> usize {
        self.0.remote_members().len()
    }

    /// Returns this process's group. (`MPI_Comm_group`)
    #[must_use]
    pub fn group(&self) -> Group {
        self.0.group()
    }

    /// Returns the other group. (`MPI_Comm_remote_group`)
    ///
    /// # Errors
    /// When the communicator was freed in the untyped core.
    pub fn remote_group(&self) -> Result<Group> {
        self.0.remote_group()
    }

    /// Returns the communicator of the untyped core.
    #[must_use]
    pub fn untyped(&self) -> &Comm {
        &self.0
    }

    /// Makes a communicator of both groups. The group that passes `high` comes after the other one.
    /// (`MPI_Intercomm_merge`)
    ///
    /// # Errors
    /// When ranks of one group do not pass the same, no context is free, or a rank is gone.
    #[track_caller]
    pub fn merge(&self, high: bool) -> Result<Communicator> {
        self.0.intercomm_merge(high).map(Communicator)
    }

    /// Makes a communicator of the same two groups with its own messages. (`MPI_Comm_dup`)
    ///
    /// # Errors
    /// When no context is free, or a rank is gone or calls another collective.
    #[track_caller]
    pub fn dup(&self) -> Result<Self> {
        self.0.dup().map(Self)
    }

    /// Makes a communicator of the ranks of both groups with the same colour, in the order of their
    /// keys. A rank gets none without a colour, or if only one group has ranks of that colour.
    /// (`MPI_Comm_split`)
    ///
    /// # Errors
    /// As [`dup`](Self::dup).
    #[track_caller]
    pub fn split(&self, color: Option<u32>, key: i32) -> Result<Option<Self>> {
        Ok(self.0.split(color, key)?.map(Self))
    }

    /// Sends to a rank of the other group. (`MPI_Send`)
    ///
    /// # Errors
    /// When an argument is wrong or a rank is gone.
    #[track_caller]
    pub fn send<T: Equivalence>(
        &self,
        data: &[T],
        to: impl Into<Destination>,
        tag: i32,
    ) -> Result<()> {
        // SAFETY: borrowed for the call.
        let data = unsafe { read(data) };
        self.0.send(data, to.into().rank(), tag)
    }

    /// Receives from the other group into the start of `data`. (`MPI_Recv`)
    ///
    /// # Errors
    /// When an argument is wrong, the message is longer than `data`, or a rank is gone.
    #[track_caller]
    pub fn recv<T: Equivalence>(
        &self,
        data: &mut [T],
        from: impl Into<Source>,
        tag: impl Into<Tag>,
    ) -> Result<Status> {
        let slice = &raw mut *data;
        // SAFETY: borrowed for the call.
        let data = unsafe { write(data) };
        let came = self.0.recv(data, from.into().rank(), tag.into().tag());
        // SAFETY: as above.
        unsafe { settled(slice, "MPI_Recv", came.map(Status::from)) }
    }

    /// Sends `out` and receives into `data`, at the same time. (`MPI_Sendrecv`)
    ///
    /// # Errors
    /// As [`send`](Self::send) and [`recv`](Self::recv).
    #[track_caller]
    pub fn sendrecv<T: Equivalence, U: Equivalence>(
        &self,
        (out, to, out_tag): (&[T], impl Into<Destination>, i32),
        (data, from, tag): (&mut [U], impl Into<Source>, impl Into<Tag>),
    ) -> Result<Status> {
        // SAFETY: borrowed for the call.
        let out = unsafe { read(out) };
        let slice = &raw mut *data;
        // SAFETY: as above.
        let data = unsafe { write(data) };
        let out = (out, to.into().rank(), out_tag);
        let came = self
            .0
            .sendrecv(out, (data, from.into().rank(), tag.into().tag()));
        // SAFETY: as above.
        unsafe { settled(slice, "MPI_Sendrecv", came.map(Status::from)) }
    }

    /// Waits for a message and leaves it where it is. (`MPI_Probe`)
    ///
    /// # Errors
    /// When an argument is wrong or a rank is gone.
    #[track_caller]
    pub fn probe(&self, from: impl Into<Source>, tag: impl Into<Tag>) -> Result<Status> {
        self.0
            .probe(from.into().rank(), tag.into().tag())
            .map(Status::from)
    }

    /// Waits until every rank of both groups has called it. (`MPI_Barrier`)
    ///
    /// # Errors
    /// When a rank is gone, or calls another collective.
    #[track_caller]
    pub fn barrier(&self) -> Result<()> {
        self.0.barrier()
    }

    /// Returns one of the blocks that a buffer consists of, one for each rank of the other group.
    /// If they are not equally long, the ranks that wait for this one are notified.
    #[track_caller]
    fn block(
        &self,
        buffer: &Buffer,
        call: &'static str,
        arguments: InvalidArguments,
    ) -> Result<Buffer> {
        block_of(buffer, self.remote_size(), "ranks of the other group", call)
            .map_err(|error| self.0.tell_of_invalid_call(error, arguments))
    }

    #[track_caller]
    fn block_at(&self, root: Root, buffer: &Buffer, call: &'static str) -> Result<Buffer> {
        match root {
            Root::Here => self.block(buffer, call, InvalidArguments::of_root(root.rank())),
            _ => Ok(Buffer::EMPTY),
        }
    }

    /// Copies `data` of the root to that of all ranks of the other group. (`MPI_Bcast`)
    ///
    /// # Errors
    /// When an argument is wrong, the groups disagree about the length, or a rank is gone.
    #[track_caller]
    pub fn bcast<T: Equivalence>(&self, data: &mut [T], root: Root) -> Result<()> {
        let slice = &raw mut *data;
        // SAFETY: borrowed for the call.
        let data = unsafe { write(data) };
        let done = self.0.bcast(data, root.rank());
        // SAFETY: as above.
        unsafe { settled(slice, "MPI_Bcast", done) }
    }

    /// Gives each rank of the other group its block of the root's `blocks`. Elsewhere `blocks` may
    /// be empty, and so may `data` in the root's group. (`MPI_Scatter`)
    ///
    /// # Errors
    /// As [`bcast`](Self::bcast).
    #[track_caller]
    pub fn scatter<T: Equivalence>(&self, blocks: &[T], data: &mut [T], root: Root) -> Result<()> {
        // SAFETY: borrowed for the call.
        let blocks = unsafe { read(blocks) };
        let slice = &raw mut *data;
        // SAFETY: as above.
        let data = unsafe { write(data) };
        let blocks = self.block_at(root, &blocks, "MPI_Scatter")?;
        let done = self.0.scatter(blocks, Some(data), root.rank());
        // SAFETY: as above.
        unsafe { settled(slice, "MPI_Scatter", done) }
    }

    /// Collects the `data` of all ranks of the other group in the root's `blocks`. Elsewhere
    /// `blocks` may be empty, and so may `data` in the root's group. (`MPI_Gather`)
    ///
    /// # Errors
    /// As [`bcast`](Self::bcast).
    #[track_caller]
    pub fn gather<T: Equivalence>(&self, data: &[T], blocks: &mut [T], root: Root) -> Result<()> {
        // SAFETY: borrowed for the call.
        let data = unsafe { read(data) };
        let slice = &raw mut *blocks;
        // SAFETY: as above.
        let blocks = unsafe { write(blocks) };
        let blocks = self.block_at(root, &blocks, "MPI_Gather")?;
        let done = self.0.gather(Some(data), blocks, root.rank());
        // SAFETY: as above.
        unsafe { settled(slice, "MPI_Gather", done) }
    }

    /// Collects the `data` of all ranks of the other group in `blocks`. The groups may contribute
    /// different numbers of elements, and one group none. (`MPI_Allgather`)
    ///
    /// # Errors
    /// As [`bcast`](Self::bcast).
    #[track_caller]
    pub fn allgather<T: Equivalence>(&self, data: &[T], blocks: &mut [T]) -> Result<()> {
        // SAFETY: borrowed for the call.
        let data = unsafe { read(data) };
        let slice = &raw mut *blocks;
        // SAFETY: as above.
        let blocks = unsafe { write(blocks) };
        let blocks = self.block(&blocks, "MPI_Allgather", InvalidArguments::default())?;
        let done = self.0.allgather(Some(data), blocks);
        // SAFETY: as above.
        unsafe { settled(slice, "MPI_Allgather", done) }
    }

    /// Sends a block to each rank of the other group, and receives one from each. (`MPI_Alltoall`)
    ///
    /// # Errors
    /// As [`bcast`](Self::bcast).
    #[track_caller]
    pub fn alltoall<T: Equivalence>(&self, data: &[T], blocks: &mut [T]) -> Result<()> {
        // SAFETY: borrowed for the call.
        let data = unsafe { read(data) };
        let slice = &raw mut *blocks;
        // SAFETY: as above.
        let blocks = unsafe { write(blocks) };
        let data = self.block(&data, "MPI_Alltoall", InvalidArguments::default())?;
        let blocks = self.block(&blocks, "MPI_Alltoall", InvalidArguments::default())?;
        let done = self.0.alltoall(Some(data), blocks);
        // SAFETY: as above.
        unsafe { settled(slice, "MPI_Alltoall", done) }
    }

    /// Combines the `data` of all ranks of the other group into the root's `result`, in their
    /// order. Elsewhere `result` may be empty, and so may `data` in the root's group.
    /// (`MPI_Reduce`)
    ///
    /// # Errors
    /// As [`bcast`](Self::bcast), and when the operation is not defined on the type.
    #[track_caller]
    pub fn reduce<T: Equivalence>(
        &self,
        data: &[T],
        result: &mut [T],
        op: impl Operation<T>,
        root: Root,
    ) -> Result<()> {
        // SAFETY: borrowed for the call.
        let data = unsafe { read(data) };
        let slice = &raw mut *result;
        // SAFETY: as above.
        let result = unsafe { write(result) };
        let done = self.0.reduce(data, result, op.untyped(), root.rank());
        // SAFETY: as above.
        unsafe { settled(slice, "MPI_Reduce", done) }
    }

    /// Combines the `data` of all ranks of the other group into `result`, in their order.
    /// (`MPI_Allreduce`)
    ///
    /// # Errors
    /// As [`reduce`](Self::reduce).
    #[track_caller]
    pub fn allreduce<T: Equivalence>(
        &self,
        data: &[T],
        result: &mut [T],
        op: impl Operation<T>,
    ) -> Result<()> {
        // SAFETY: borrowed for the call.
        let data = unsafe { read(data) };
        let slice = &raw mut *result;
        // SAFETY: as above.
        let result = unsafe { write(result) };
        let done = self.0.allreduce(data, result, op.untyped());
        // SAFETY: as above.
        unsafe { settled(slice, "MPI_Allreduce", done) }
    }
}
