//! An application's view of an MPI: the operations that our programs use.

/// The world of a job as one of its processes sees it.
///
/// The semantics are those of MPI point-to-point messages and collectives over doubles: messages
/// between two processes with the same tag do not overtake each other, and a blocking `send` may
/// wait until its receive is posted. All buffer lengths are in elements.
pub trait MessagePassing {
    /// The error of a failed operation.
    type Error: std::error::Error + Send + Sync + 'static;

    /// A non-blocking operation that owns its buffer until it is waited for.
    type Request;

    /// Returns this process's rank, from 0.
    fn rank(&self) -> usize;

    /// Returns the number of processes in the job.
    fn size(&self) -> usize;

    /// Sends `data` and returns when it may be reused.
    #[track_caller]
    fn send(&self, data: &[f64], destination: usize, tag: i32) -> Result<(), Self::Error>;

    /// Receives exactly `data.len()` elements from `source`.
    #[track_caller]
    fn recv(&self, data: &mut [f64], source: usize, tag: i32) -> Result<(), Self::Error>;

    /// Starts to send `data`; [`wait`](Self::wait) returns the buffer when it may be reused.
    #[track_caller]
    fn isend(
        &self,
        data: Vec<f64>,
        destination: usize,
        tag: i32,
    ) -> Result<Self::Request, Self::Error>;

    /// Posts a receive of exactly `data.len()` elements; [`wait`](Self::wait) returns them.
    #[track_caller]
    fn irecv(&self, data: Vec<f64>, source: usize, tag: i32) -> Result<Self::Request, Self::Error>;

    /// Waits for a non-blocking operation and returns its buffer.
    #[track_caller]
    fn wait(&self, request: Self::Request) -> Result<Vec<f64>, Self::Error>;

    /// Waits for all of these non-blocking operations, and appends their buffers in the same order.
    #[track_caller]
    fn wait_all(
        &self,
        requests: &mut Vec<Self::Request>,
        buffers: &mut Vec<Vec<f64>>,
    ) -> Result<(), Self::Error> {
        for request in requests.drain(..) {
            buffers.push(self.wait(request)?);
        }
        Ok(())
    }

    /// Returns when every process has called it.
    #[track_caller]
    fn barrier(&self) -> Result<(), Self::Error>;

    /// Copies `data` of process `root` into `data` of every process.
    #[track_caller]
    fn bcast(&self, data: &mut [f64], root: usize) -> Result<(), Self::Error>;

    /// Replaces each element by its maximum over all processes.
    #[track_caller]
    fn allreduce_max(&self, data: &mut [f64]) -> Result<(), Self::Error>;

    /// Replaces each element by its sum over all processes.
    #[track_caller]
    fn allreduce_sum(&self, data: &mut [f64]) -> Result<(), Self::Error>;

    /// Replaces each element by its sum over all processes.
    #[track_caller]
    fn allreduce_sum_i64(&self, data: &mut [i64]) -> Result<(), Self::Error>;

    /// Waits until a message from `source` has arrived, and returns its number of elements.
    #[track_caller]
    fn probe(&self, source: usize, tag: i32) -> Result<usize, Self::Error>;

    /// Gives `data` of every process, of equal lengths, to every process, in the order of ranks.
    #[track_caller]
    fn allgather(&self, data: &[f64], result: &mut [f64]) -> Result<(), Self::Error>;

    /// Gives block i of `data` to process i; both slices hold a block for each process.
    #[track_caller]
    fn alltoall(&self, data: &[f64], result: &mut [f64]) -> Result<(), Self::Error>;
}
