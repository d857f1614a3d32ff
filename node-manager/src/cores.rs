//! The cores of this machine, as far as this process may use them.

use std::num::NonZeroUsize;

/// The cores of this process's affinity mask.
#[must_use]
pub fn allowed() -> Vec<usize> {
    match rustix::thread::sched_getaffinity(None) {
        Ok(set) => (0..rustix::thread::CpuSet::MAX_CPU)
            .filter(|&core| set.is_set(core))
            .collect(),
        Err(_) => Vec::new(),
    }
}

/// How many of them can be busy at once: fewer where a cgroup's quota says so.
#[must_use]
pub fn usable() -> usize {
    // The standard library looks at the affinity mask and at the quotas of both cgroup versions.
    std::thread::available_parallelism().map_or(1, NonZeroUsize::get)
}
