//! Probes (MPI 5.0, 3.8.1): which message would a receive get?

use super::comm::exhausted;
use super::error::{Operation, Peer, Result};
use super::{Comm, PROC_NULL, Status};
use crate::bcs::Blocking;
use crate::recording::Primitive;

impl Comm {
    /// `MPI_Probe`: waits for a message and leaves it where it is.
    ///
    /// # Errors
    /// When an argument is wrong, or the NIC reports a failure.
    pub fn probe(&self, from: i32, tag: i32) -> Result<Status> {
        let find = || self.find(Blocking::Yes, "MPI_Probe", from, tag);
        let found = self.recorded(Primitive::Probe, None, find)?;
        Ok(found.expect("a blocking probe finds something"))
    }

    /// `MPI_Iprobe`: is there a message?
    ///
    /// Only the NIC knows, so the answer may be old; it does not stay "no" when it is asked again
    /// and again.
    ///
    /// # Errors
    /// As [`probe`](Self::probe).
    pub fn iprobe(&self, from: i32, tag: i32) -> Result<Option<Status>> {
        let begun = self.process().recording().begin();
        let found = self.find(Blocking::No, "MPI_Iprobe", from, tag);
        self.process().recording().end(begun, Primitive::Iprobe, 0);
        found
    }

    fn find(
        &self,
        blocking: Blocking,
        call: &'static str,
        from: i32,
        tag: i32,
    ) -> Result<Option<Status>> {
        let operation = Operation::message(call, None, Peer::From(from), tag);
        self.usable(operation)?;
        if from == PROC_NULL {
            return Ok(Some(Status::PROC_NULL));
        }
        let pattern = self.pattern(from, tag, operation)?;
        let found = self.process().endpoint().bcs_probe(blocking, pattern);
        let found = found.map_err(exhausted(operation))?;
        found
            .map(|outcome| self.status(&outcome, &operation))
            .transpose()
    }
}
