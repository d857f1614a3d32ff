//! A benchmark's view of an MPI: bytes by reference, windows of messages, collectives.

use std::ops::Range;

use crate::MessagePassing;

/// Where messages of one size lie in a buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MessageWindow {
    /// The number of messages.
    pub count: usize,
    /// The length of each message in bytes.
    pub bytes: usize,
    /// Bytes from the beginning of one message to that of the next; 0 when all lie in the same
    /// place.
    pub stride: usize,
}

impl MessageWindow {
    /// Returns where a message lies, counted from 0.
    #[must_use]
    pub fn place(&self, message: usize) -> Range<usize> {
        let start = message * self.stride;
        start..start + self.bytes
    }

    /// Returns the bytes that all messages take.
    #[must_use]
    pub fn extent(&self) -> usize {
        self.place(self.count.saturating_sub(1)).end
    }
}

/// The calls that the loops of [`bench`](crate::bench) use beyond [`MessagePassing`].
///
/// A C program would write every operation with the same calls, so an implementation adds nothing
/// to the timed code: no copy and no allocation of its own. All windows are within one call, so
/// that implementations can keep non-blocking requests to themselves, and the loops need no unsafe
/// code.
pub trait BytePassing: MessagePassing {
    /// Sends `data` and returns when it may be reused. (`MPI_Send`)
    fn send_bytes(&self, data: &[u8], to: usize, tag: i32) -> Result<(), Self::Error>;

    /// Receives exactly `data.len()` bytes. (`MPI_Recv`)
    fn recv_bytes(&self, data: &mut [u8], from: usize, tag: i32) -> Result<(), Self::Error>;

    /// Sends `out` to one process and receives `into` from another, both at once. (`MPI_Sendrecv`)
    fn sendrecv_bytes(
        &self,
        out: (&[u8], usize),
        into: (&mut [u8], usize),
        tag: i32,
    ) -> Result<(), Self::Error>;

    /// Receives from and sends to the same process, both in flight at once. (`MPI_Irecv`,
    /// `MPI_Isend`, `MPI_Waitall`)
    fn exchange_bytes(
        &self,
        out: &[u8],
        into: &mut [u8],
        peer: usize,
        tag: i32,
    ) -> Result<(), Self::Error>;

    /// Starts to send all messages of a window, which lie in `data`, then waits for all.
    /// (`MPI_Isend`, `MPI_Waitall`)
    fn send_window(
        &self,
        data: &[u8],
        window: MessageWindow,
        to: usize,
        tag: i32,
    ) -> Result<(), Self::Error>;

    /// Starts to receive all messages of a window into `data`, then waits for all. (`MPI_Irecv`,
    /// `MPI_Waitall`)
    ///
    /// When all messages have the same place, their contents are the same, so the order of the
    /// writes does not matter.
    fn recv_window(
        &self,
        data: &mut [u8],
        window: MessageWindow,
        from: usize,
        tag: i32,
    ) -> Result<(), Self::Error>;

    /// Copies `data` of process `root` into `data` of every process. (`MPI_Bcast`)
    fn bcast_bytes(&self, data: &mut [u8], root: usize) -> Result<(), Self::Error>;

    /// Adds up `data` of every process into `result` of process `root`. (`MPI_Reduce`)
    fn reduce_sum(&self, data: &[f64], result: &mut [f64], root: usize) -> Result<(), Self::Error>;

    /// Adds up `data` of every process into `result` of every process. (`MPI_Allreduce`)
    fn allreduce_sum_into(&self, data: &[f64], result: &mut [f64]) -> Result<(), Self::Error>;

    /// Gives block i of `data` to process i; both slices hold a block for each process.
    /// (`MPI_Alltoall`)
    fn alltoall_bytes(&self, data: &[u8], result: &mut [u8]) -> Result<(), Self::Error>;
}
