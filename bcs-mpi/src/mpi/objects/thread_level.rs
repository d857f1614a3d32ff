//! How the threads of a program use MPI (MPI 5.0, 11.6).

/// How a program's threads use MPI, with the numbers of the standard's ABI (MPI 5.0, chapter 20).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(i32)]
pub enum ThreadLevel {
    /// `MPI_THREAD_SINGLE`: there is one thread.
    Single = 0,
    /// `MPI_THREAD_FUNNELED`: only the thread that initialised MPI calls it.
    Funneled = 1_024,
    /// `MPI_THREAD_SERIALIZED`: one thread at a time calls it.
    Serialized = 2_048,
    /// `MPI_THREAD_MULTIPLE`: any thread may call it, at any time.
    Multiple = 4_096,
}
