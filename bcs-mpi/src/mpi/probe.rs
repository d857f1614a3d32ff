//! Probes (MPI 5.0, 3.8.1): they report which message a receive would get.

use super::comm::exhausted;
use super::error::{Operation, Peer, Result};
use super::{Comm, PROC_NULL, Status};
use crate::bcs::Blocking;
use crate::call_site;
use crate::recording::{CallTiming, Primitive, Site};

impl Comm {
    /// `MPI_Probe`: waits for a message and leaves it where it is.
    ///
    /// # Errors
    /// When an argument is wrong, or the NIC reports a failure.
    #[track_caller]
    pub fn probe(&self, from: i32, tag: i32) -> Result<Status> {
        let operation = Operation::message("MPI_Probe", None, Peer::From(from), tag);
        let _at = call_site::enter(Site::here());
        let find = |_| self.find(Blocking::Yes, operation, from, tag);
        let found = self.record_call((Primitive::Probe, CallTiming::Waits), &operation, find)?;
        Ok(found.expect("a blocking probe finds something"))
    }

    /// `MPI_Iprobe`: returns whether there is a message.
    ///
    /// Only the NIC knows, so "no" may be outdated, but repeated calls find the message in the end.
    ///
    /// # Errors
    /// As [`probe`](Self::probe).
    #[track_caller]
    pub fn iprobe(&self, from: i32, tag: i32) -> Result<Option<Status>> {
        let operation = Operation::message("MPI_Iprobe", None, Peer::From(from), tag);
        let find = |_| self.find(Blocking::No, operation, from, tag);
        self.record_call((Primitive::Iprobe, CallTiming::Asks), &operation, find)
    }

    fn find(
        &self,
        blocking: Blocking,
        operation: Operation,
        from: i32,
        tag: i32,
    ) -> Result<Option<Status>> {
        self.usable(&operation)?;
        if from == PROC_NULL {
            return Ok(Some(Status::PROC_NULL));
        }
        let pattern = self.pattern(from, tag, &operation)?;
        let found = self.process().endpoint().bcs_probe(blocking, pattern);
        let found = found.map_err(exhausted(&operation))?;
        found
            .map(|outcome| self.status(&outcome, &operation))
            .transpose()
    }
}
