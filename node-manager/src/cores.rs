//! The cores of this machine that this process may use.

use std::num::NonZeroUsize;

/// Returns the cores of this process's affinity mask.
#[must_use]
pub fn allowed() -> Vec<usize> {
    match rustix::thread::sched_getaffinity(None) {
        Ok(set) => (0..rustix::thread::CpuSet::MAX_CPU)
            .filter(|&core| set.is_set(core))
            .collect(),
        Err(_) => Vec::new(),
    }
}

/// Returns how many of them can be busy at once: fewer if a cgroup has a quota.
#[must_use]
pub fn usable() -> usize {
    // The standard library looks at the affinity mask and at the quotas of both cgroup versions.
    std::thread::available_parallelism().map_or(1, NonZeroUsize::get)
}
