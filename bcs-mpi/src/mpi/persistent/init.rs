//! The calls that make persistent requests (MPI 5.0, 3.9, 6.13 and 8.8). Those of most collectives
//! are [with the collectives](crate::mpi::exchange).

use super::collective::CollectiveTemplate;
use super::message::{MessageTemplate, StartedCall};
use super::partitioned::Partitioned;
use super::request::{Persistent, StartAction};
use crate::mpi::error::Result;
use crate::mpi::{Buffer, Comm, Request};
use crate::recording::CallStart;
use std::sync::Arc;

impl Comm {
    fn persistent(
        &self,
        kind: StartedCall,
        data: Buffer,
        peer: i32,
        tag: i32,
    ) -> Result<Persistent> {
        let message = MessageTemplate::new(self, kind, data, peer, tag)?;
        Ok(Persistent::of(StartAction::Message(message)))
    }

    /// `MPI_Send_init`.
    ///
    /// # Errors
    /// When an argument is wrong.
    pub fn send_init(&self, data: Buffer, to: i32, tag: i32) -> Result<Persistent> {
        self.persistent(StartedCall::Send, data, to, tag)
    }

    /// `MPI_Ssend_init`.
    ///
    /// # Errors
    /// When an argument is wrong.
    pub fn ssend_init(&self, data: Buffer, to: i32, tag: i32) -> Result<Persistent> {
        self.persistent(StartedCall::Synchronous, data, to, tag)
    }

    /// `MPI_Rsend_init`.
    ///
    /// # Errors
    /// When an argument is wrong.
    pub fn rsend_init(&self, data: Buffer, to: i32, tag: i32) -> Result<Persistent> {
        self.persistent(StartedCall::Ready, data, to, tag)
    }

    /// `MPI_Bsend_init`.
    ///
    /// # Errors
    /// When an argument is wrong.
    pub fn bsend_init(&self, data: Buffer, to: i32, tag: i32) -> Result<Persistent> {
        self.persistent(StartedCall::Buffered, data, to, tag)
    }

    /// `MPI_Recv_init`.
    ///
    /// # Errors
    /// When an argument is wrong.
    pub fn recv_init(&self, data: Buffer, from: i32, tag: i32) -> Result<Persistent> {
        self.persistent(StartedCall::Receive, data, from, tag)
    }

    /// `MPI_Psend_init`: makes a message of several parts. The buffer is the first part; the others
    /// follow it and are as long.
    ///
    /// # Errors
    /// When an argument is wrong, or all request slots are in use.
    pub fn psend_init(
        &self,
        partitions: usize,
        data: &Buffer,
        to: i32,
        tag: i32,
    ) -> Result<Persistent> {
        let message = Partitioned::send(self, partitions, data, (to, tag))?;
        Ok(Persistent::of(StartAction::Partitioned(Arc::new(message))))
    }

    /// `MPI_Precv_init`.
    ///
    /// # Errors
    /// As [`psend_init`](Self::psend_init).
    pub fn precv_init(
        &self,
        partitions: usize,
        data: &Buffer,
        from: i32,
        tag: i32,
    ) -> Result<Persistent> {
        let message = Partitioned::receive(self, partitions, data, (from, tag))?;
        Ok(Persistent::of(StartAction::Partitioned(Arc::new(message))))
    }

    /// Makes a collective that can be started again and again, with the name of the call that makes
    /// it, and of a start.
    #[track_caller]
    pub(in crate::mpi) fn persistent_collective(
        &self,
        init: &'static str,
        start: &'static str,
        post: impl Fn(&Comm, CallStart) -> Result<Request> + 'static,
    ) -> Result<Persistent> {
        let comm = self.congruent(init)?;
        let post = Box::new(post);
        Ok(Persistent::of(StartAction::Collective(
            CollectiveTemplate {
                init,
                comm,
                post,
                start,
            },
        )))
    }

    /// `MPI_Barrier_init`: a start begins an [`ibarrier`](Self::ibarrier). All ranks call the inits
    /// of a communicator in the same order, and may start the requests in any order.
    ///
    /// # Errors
    /// As [`dup`](Self::dup).
    #[track_caller]
    pub fn barrier_init(&self) -> Result<Persistent> {
        let (init, start) = ("MPI_Barrier_init", "MPI_Start (MPI_Barrier_init)");
        self.persistent_collective(init, start, Comm::start_barrier)
    }
}
