//! The operating system's account of a thread.

/// A thread's account with the kernel (`getrusage` of the thread), since the thread began.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ThreadUsage {
    /// A number that no other thread of the process has.
    pub thread: u64,
    /// The time on a core, in the program and in the kernel.
    pub cpu_ns: u64,
    /// How often the thread gave its core away, because it had to wait for something.
    pub sleeps: u64,
    /// How often the kernel took the core from the thread.
    pub preemptions: u64,
}

/// The last reading, and the sums of times then.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct UsageReading {
    pub(super) at_ns: u64,
    pub(super) usage: ThreadUsage,
    pub(super) computation_ns: u64,
    pub(super) overhead_ns: u64,
}
