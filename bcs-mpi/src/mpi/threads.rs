//! Threads (MPI 5.0, 11.6). The library is always ready for `MPI_THREAD_MULTIPLE`: any thread may
//! call it at any time. A program that says that its threads do less is told of more deadlocks.

use super::Process;
pub use super::objects::thread_level::ThreadLevel;

impl Process {
    /// `MPI_Query_thread`: what [`init_thread`](Self::init_thread) was asked for, which is always provided; without
    /// it `MPI_THREAD_MULTIPLE`.
    #[must_use]
    pub fn thread_level(&self) -> ThreadLevel {
        let said = self.thread_level.get();
        said.copied().unwrap_or(ThreadLevel::Multiple)
    }

    /// `MPI_Is_thread_main`: whether this thread initialised MPI.
    #[must_use]
    pub fn is_main_thread(&self) -> bool {
        self.main_thread() == std::thread::current().id()
    }
}
