//! Matched probes, and receives of the messages they found.
#![expect(unsafe_code, reason = "hands slices to the untyped core by address")]

use super::communicator::Communicator;
use super::equivalence::{Equivalence, write};
use super::matching::{Source, Status, Tag};
use super::unchecked_memory::settled;
use crate::mpi::{self, Result};

/// A message that was found and taken out, so that no other call can receive it. (`MPI_Message`)
#[derive(Debug)]
#[must_use = "nobody else can receive this message"]
pub struct Message(mpi::Message);

impl Communicator {
    /// Waits for a message and takes it out. (`MPI_Mprobe`)
    ///
    /// # Errors
    /// When an argument is wrong or a rank is gone.
    #[track_caller]
    pub fn mprobe(&self, from: impl Into<Source>, tag: impl Into<Tag>) -> Result<Message> {
        self.0
            .mprobe(from.into().rank(), tag.into().tag())
            .map(Message)
    }

    /// Takes a message out if there is one. "No" may be outdated, but repeated calls find the
    /// message. (`MPI_Improbe`)
    ///
    /// # Errors
    /// As [`mprobe`](Self::mprobe).
    #[track_caller]
    pub fn improbe(&self, from: impl Into<Source>, tag: impl Into<Tag>) -> Result<Option<Message>> {
        Ok(self
            .0
            .improbe(from.into().rank(), tag.into().tag())?
            .map(Message))
    }
}

impl Communicator {
    /// Receives a message of any length, into a vector of as many elements as it has. (`MPI_Mprobe`
    /// and `MPI_Mrecv`)
    ///
    /// ```
    /// # fn main() -> bcs_mpi::Result<()> {
    /// # let universe = bcs_mpi::Universe::init()?;
    /// # let world = universe.world();
    /// world.send(&[1, 2, 3], world.rank(), 7)?;
    /// let (numbers, status) = world.recv_vec::<i32>(bcs_mpi::Source::Any, 7)?;
    /// assert_eq!((numbers, status.source), (vec![1, 2, 3], world.rank()));
    /// # universe.finalize()
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`mprobe`](Self::mprobe) and [`Message::recv_vec`].
    #[track_caller]
    pub fn recv_vec<T: Equivalence + Default>(
        &self,
        from: impl Into<Source>,
        tag: impl Into<Tag>,
    ) -> Result<(Vec<T>, Status)> {
        self.mprobe(from, tag)?.recv_vec()
    }
}

impl Message {
    /// Returns the status of the message.
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
        let slice = &raw mut *data;
        // SAFETY: borrowed for the call.
        let data = unsafe { write(data) };
        let came = self.0.recv(data).map(Status::from);
        // SAFETY: as above.
        unsafe { settled(slice, "MPI_Mrecv", came) }
    }

    /// Receives it into a vector of as many elements as it has. If that is not a whole number, only
    /// the start of the last element comes from it. (`MPI_Mrecv`)
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
