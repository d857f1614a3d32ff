//! Threads (MPI 5.0, 11.6). The library always supports `MPI_THREAD_MULTIPLE`: any thread may call
//! it at any time. For a program that declares a lower level, the library detects more deadlocks.

use super::Process;
pub use super::objects::thread_level::ThreadLevel;

impl Process {
    /// `MPI_Query_thread`: returns the level that [`init_thread`](Self::init_thread) requested,
    /// which is always provided; without that call `MPI_THREAD_MULTIPLE`.
    #[must_use]
    pub fn thread_level(&self) -> ThreadLevel {
        let said = self.thread_level.get();
        said.copied().unwrap_or(ThreadLevel::Multiple)
    }

    /// `MPI_Is_thread_main`: returns whether this thread initialised MPI.
    #[must_use]
    pub fn is_main_thread(&self) -> bool {
        self.main_thread() == std::thread::current().id()
    }
}
