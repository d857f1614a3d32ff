//! Communicators over typed slices: blocking calls.
#![expect(unsafe_code, reason = "hands slices to the untyped core by address")]

use super::equivalence::{Equivalence, read, write};
use super::matching::{Destination, Source, Status, Tag};
use super::unchecked_memory::settled;
use crate::mpi::{Comm, Result};

/// A group of ranks that communicate only with each other.
///
/// Clones are handles of the same communicator. It is freed when the last handle, and the last
/// request on it, is gone. Freeing is local and not collective.
#[derive(Clone, Debug)]
pub struct Communicator(pub(crate) Comm);

impl Communicator {
    /// Returns this process's rank, from 0. (`MPI_Comm_rank`)
    #[must_use]
    pub fn rank(&self) -> usize {
        usize::try_from(self.0.rank()).expect("ranks are not negative")
    }

    /// Returns the number of ranks. (`MPI_Comm_size`)
    #[must_use]
    pub fn size(&self) -> usize {
        self.0.members().len()
    }

    /// Returns its name, as `bcs` shows it; empty if it has none. (`MPI_Comm_get_name`)
    #[must_use]
    pub fn name(&self) -> String {
        self.0.name()
    }

    /// Gives it a name, for this process. A name longer than
    /// [`MAX_OBJECT_NAME`](crate::mpi::comm::MAX_OBJECT_NAME) bytes is cut. (`MPI_Comm_set_name`)
    pub fn set_name(&self, name: &str) {
        self.0.set_name(name);
    }

    /// Returns the communicator of the untyped core.
    #[must_use]
    pub fn untyped(&self) -> &Comm {
        &self.0
    }

    /// Sends, and returns when `data` may be used again. (`MPI_Send`)
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

    /// Sends, and returns when the receive was matched. (`MPI_Ssend`)
    ///
    /// # Errors
    /// As [`send`](Self::send).
    #[track_caller]
    pub fn ssend<T: Equivalence>(
        &self,
        data: &[T],
        to: impl Into<Destination>,
        tag: i32,
    ) -> Result<()> {
        // SAFETY: borrowed for the call.
        let data = unsafe { read(data) };
        self.0.ssend(data, to.into().rank(), tag)
    }

    /// Sends, with a receive that is posted already. (`MPI_Rsend`)
    ///
    /// # Errors
    /// As [`send`](Self::send).
    #[track_caller]
    pub fn rsend<T: Equivalence>(
        &self,
        data: &[T],
        to: impl Into<Destination>,
        tag: i32,
    ) -> Result<()> {
        // SAFETY: borrowed for the call.
        let data = unsafe { read(data) };
        self.0.rsend(data, to.into().rank(), tag)
    }

    /// Sends from a copy in the attached buffer
    /// ([`Universe::attach_buffer`](crate::Universe::attach_buffer)), and returns at once.
    /// (`MPI_Bsend`)
    ///
    /// # Errors
    /// When an argument is wrong, or the buffer has no room for the message.
    #[track_caller]
    pub fn bsend<T: Equivalence>(
        &self,
        data: &[T],
        to: impl Into<Destination>,
        tag: i32,
    ) -> Result<()> {
        // SAFETY: borrowed for the call.
        let data = unsafe { read(data) };
        self.0.bsend(data, to.into().rank(), tag)
    }

    /// Receives into the start of `data`. (`MPI_Recv`)
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

    /// Sends `data` and receives into it, at the same time. (`MPI_Sendrecv_replace`)
    ///
    /// # Errors
    /// As [`send`](Self::send) and [`recv`](Self::recv).
    #[track_caller]
    pub fn sendrecv_replace<T: Equivalence>(
        &self,
        data: &mut [T],
        (to, out_tag): (impl Into<Destination>, i32),
        (from, tag): (impl Into<Source>, impl Into<Tag>),
    ) -> Result<Status> {
        let slice = &raw mut *data;
        let (to, from) = (
            (to.into().rank(), out_tag),
            (from.into().rank(), tag.into().tag()),
        );
        // SAFETY: borrowed for the call.
        let data = unsafe { write(data) };
        let came = self.0.sendrecv_replace(data, to, from);
        // SAFETY: as above.
        unsafe { settled(slice, "MPI_Sendrecv_replace", came.map(Status::from)) }
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

    /// Returns whether there is a message. "No" may be outdated, but repeated calls find the
    /// message. (`MPI_Iprobe`)
    ///
    /// # Errors
    /// As [`probe`](Self::probe).
    #[track_caller]
    pub fn iprobe(&self, from: impl Into<Source>, tag: impl Into<Tag>) -> Result<Option<Status>> {
        Ok(self
            .0
            .iprobe(from.into().rank(), tag.into().tag())?
            .map(Status::from))
    }

    /// Makes a communicator of the ranks with the same colour, in the order of their keys and then
    /// of their ranks here. Without a colour this rank is in none. (`MPI_Comm_split`)
    ///
    /// # Errors
    /// When no context is free, or a rank is gone or calls another collective.
    #[track_caller]
    pub fn split(&self, color: Option<u32>, key: i32) -> Result<Option<Self>> {
        Ok(self.0.split(color, key)?.map(Self))
    }

    /// Makes a communicator of the same ranks with its own messages. (`MPI_Comm_dup`)
    ///
    /// # Errors
    /// As [`split`](Self::split).
    #[track_caller]
    pub fn dup(&self) -> Result<Self> {
        self.0.dup().map(Self)
    }

    /// Ends the whole job with this exit code. (`MPI_Abort`)
    pub fn abort(&self, code: i32, reason: &str) -> ! {
        self.0.process().abort(code, reason)
    }
}
