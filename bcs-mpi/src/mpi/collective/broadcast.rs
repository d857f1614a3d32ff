//! Barriers and broadcasts (MPI 5.0, 6.3 and 6.4).
#![expect(unsafe_code, reason = "buffers are named by address")]

use super::call::{Call, blocking};
use crate::mpi::comm::exhausted;
use crate::mpi::error::{Operation, Peer, Result};
use crate::mpi::{Buffer, Comm, Request, Status};
use crate::recording::Primitive;

impl Comm {
    fn post_barrier(&self, (call, primitive): Call) -> Result<Request> {
        let begun = (self.process().recording().begin(), primitive);
        let operation = Operation::plain(call);
        self.usable(operation)?;
        if self.is_single() {
            return Ok(Request::done(Ok(Status::EMPTY), 0, self, begun));
        }
        let endpoint = self.process().endpoint();
        let posted = endpoint.bcs_barrier(self.0.context, blocking(primitive));
        let request = posted.map_err(exhausted(operation))?;
        Ok(self.posted(request, operation, begun))
    }

    /// # Safety
    /// As for [`ibcast`](Self::ibcast).
    unsafe fn post_bcast(
        &self,
        (call, primitive): Call,
        data: &Buffer,
        root: i32,
    ) -> Result<Request> {
        if self.is_inter() {
            // SAFETY: the caller's promise.
            return unsafe { self.bcast_between((call, primitive), data, root) };
        }
        let begun = (self.process().recording().begin(), primitive);
        let bytes = data.bytes().map(|bytes| bytes as u64);
        let operation = Operation {
            call,
            bytes,
            peer: Some(Peer::Root(root)),
            tag: None,
        };
        self.usable(operation)?;
        let data = data.piece(operation)?;
        let world_root = self.world_rank(root, operation)?;
        if self.is_single() {
            return Ok(Request::done(Ok(Status::EMPTY), 0, self, begun));
        }
        let (endpoint, context) = (self.process().endpoint(), self.0.context);
        let blocking = blocking(primitive);
        let posted = if data.layout.is_none() {
            // SAFETY: the caller's promise.
            unsafe { endpoint.bcs_bcast(context, world_root, (data.address, data.len), blocking) }
        } else {
            let (members, root) = (self.members_of_context(), root.unsigned_abs() as usize);
            // SAFETY: the caller's promise.
            unsafe { endpoint.bcs_bcast_packed(members, root, data) }
        };
        let request = posted.map_err(exhausted(operation))?;
        Ok(self.posted(request, operation, begun))
    }

    /// `MPI_Barrier`.
    ///
    /// # Errors
    /// When the NIC reports a failure.
    pub fn barrier(&self) -> Result<()> {
        let call = ("MPI_Barrier", Primitive::Barrier);
        self.blocking(call.1, None, || self.post_barrier(call))
    }

    /// `MPI_Ibarrier`.
    ///
    /// # Errors
    /// When an argument is wrong.
    pub fn ibarrier(&self) -> Result<Request> {
        self.post_barrier(("MPI_Ibarrier", Primitive::Ibarrier))
    }

    /// `MPI_Bcast`.
    ///
    /// # Safety
    /// `data` may be read (at the root) or written (elsewhere), and nobody else uses it during the
    /// call.
    ///
    /// # Errors
    /// When an argument is wrong, or the NIC reports a failure.
    pub unsafe fn bcast(&self, data: Buffer, root: i32) -> Result<()> {
        let call = ("MPI_Bcast", Primitive::Bcast);
        // SAFETY: the caller's promise.
        self.blocking(call.1, data.bytes(), || unsafe {
            self.post_bcast(call, &data, root)
        })
    }

    /// `MPI_Ibcast`.
    ///
    /// # Safety
    /// As for [`bcast`](Self::bcast), until the request is done.
    ///
    /// # Errors
    /// When an argument is wrong.
    pub unsafe fn ibcast(&self, data: Buffer, root: i32) -> Result<Request> {
        // SAFETY: the caller's promise.
        unsafe { self.post_bcast(("MPI_Ibcast", Primitive::Ibcast), &data, root) }
    }
}
