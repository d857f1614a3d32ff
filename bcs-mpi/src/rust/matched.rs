//! Matched probes, and receiving what they found.
#![expect(unsafe_code, reason = "hands slices to the untyped core by address")]

use super::communicator::Communicator;
use super::equivalence::{Equivalence, write};
use super::matching::{Source, Status, Tag};
use crate::mpi::{self, Result};

/// A message that was found and taken out: nobody else can receive it. (`MPI_Message`)
#[derive(Debug)]
#[must_use = "nobody else can receive this message"]
pub struct Message(mpi::Message);

impl Communicator {
    /// Waits for a message and takes it out. (`MPI_Mprobe`)
    ///
    /// # Errors
    /// When an argument is wrong or a rank is gone.
    #[track_caller]
    pub fn mprobe(&self, from: Source, tag: Tag) -> Result<Message> {
        self.0.mprobe(from.rank(), tag.tag()).map(Message)
    }

    /// Takes a message out if there is one. "No" may be an old answer, but asking again and again
    /// finds it. (`MPI_Improbe`)
    ///
    /// # Errors
    /// As [`mprobe`](Self::mprobe).
    #[track_caller]
    pub fn improbe(&self, from: Source, tag: Tag) -> Result<Option<Message>> {
        Ok(self.0.improbe(from.rank(), tag.tag())?.map(Message))
    }
}

impl Message {
    /// What was found.
    #[must_use]
    pub fn status(&self) -> Status {
        self.0.status().into()
    }

    /// Receives it into the start of `data`. (`MPI_Mrecv`)
    ///
    /// # Errors
    /// When the message is longer than `data`, or a rank is gone.
    #[track_caller]
    pub fn recv<T: Equivalence>(mut self, data: &mut [T]) -> Result<Status> {
        // SAFETY: borrowed for the call.
        let data = unsafe { write(data) };
        self.0.recv(data).map(Status::from)
    }

    /// Receives it into a vector of as many elements as it has; if that is no whole number, only the
    /// start of the last element comes from it. (`MPI_Mrecv`)
    ///
    /// # Errors
    /// When a rank is gone.
    #[track_caller]
    pub fn recv_vec<T: Equivalence + Default>(self) -> Result<(Vec<T>, Status)> {
        let bytes = self.status().bytes;
        let mut data: Vec<T> = std::iter::repeat_with(T::default)
            .take(bytes.div_ceil(T::datatype().size().max(1)))
            .collect();
        let status = self.recv(&mut data)?;
        Ok((data, status))
    }
}
