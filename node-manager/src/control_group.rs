//! The memory limit of the control group (of the container), and the memory of the machine: finds
//! out whether the kernel has killed a process because either was used up, and keeps memory with
//! which to report it.

use bcs_core::memory::GuardedBytes;
use std::path::{Path, PathBuf};

/// The length of a reserve in bytes. Much of it is for the kernel, which charges what it allocates
/// for a process (64 pages at a time, for each core) to the group, too.
const RESERVE_BYTES: usize = 512 << 10;

const PAGE_BYTES: usize = 4096;

/// Memory that belongs to this process and that it does not need before the kernel has killed a
/// rank for the group's limit.
///
/// The heap of a rank is shared memory. It stays charged after the rank's death, as long as the
/// rank's peers and NIC have it mapped. So that death gives back next to nothing, and the next page
/// that a process of the group needs would have the kernel kill that process, too: `bcs run` or the
/// node manager, before they have reported the death. Dropping the reserve gives its pages back.
#[derive(Debug)]
pub struct MemoryReserve {
    _pages: GuardedBytes,
}

impl MemoryReserve {
    /// Allocates a reserve.
    fn allocate() -> Option<Self> {
        let mut pages = GuardedBytes::new(RESERVE_BYTES).ok()?;
        // The kernel charges a page when it is first written.
        pages
            .iter_mut()
            .step_by(PAGE_BYTES)
            .for_each(|byte| *byte = 1);
        Some(Self { _pages: pages })
    }
}

/// The control group of this process, and of all processes that it starts here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ControlGroup {
    /// The kernel's counter of kills.
    counter: PathBuf,
    /// The memory limits of the group and of its parents.
    limits: Vec<PathBuf>,
    /// The first value of the counter.
    before: u64,
}

impl ControlGroup {
    /// Finds the control group of this process, if it can be read.
    #[must_use]
    pub fn own() -> Option<Self> {
        let groups = std::fs::read_to_string("/proc/self/cgroup").ok()?;
        Self::find(&groups, Path::new("/sys/fs/cgroup"))
    }

    /// Finds it by the lines of `/proc/self/cgroup`: of version 2, else that of version 1 which
    /// controls memory.
    fn find(groups: &str, root: &Path) -> Option<Self> {
        let part = |line: &str| {
            let mut parts = line.splitn(3, ':').skip(1);
            Some((parts.next()?.to_owned(), parts.next()?.to_owned()))
        };
        let parts: Vec<(String, String)> = groups.lines().filter_map(part).collect();
        let of = |wanted: &str| {
            let mut all = parts.iter();
            let is_it = |controllers: &str| match wanted {
                "" => controllers.is_empty(),
                _ => controllers.split(',').any(|one| one == wanted),
            };
            all.find(|(controllers, _)| is_it(controllers))
                .map(|(_, path)| path)
        };
        let at = |mount: &Path, path: &str, counter: &str, limit: &str| {
            let group = mount.join(path.trim_start_matches('/'));
            let above = group
                .ancestors()
                .take_while(|above| above.starts_with(mount));
            let limits = above.map(|above| above.join(limit)).collect();
            let counter = group.join(counter);
            let before = kills(&counter)?;
            Some(Self {
                counter,
                limits,
                before,
            })
        };
        let second = of("").and_then(|path| at(root, path, "memory.events", "memory.max"));
        let first = || {
            let mount = root.join("memory");
            at(
                &mount,
                of("memory")?,
                "memory.oom_control",
                "memory.limit_in_bytes",
            )
        };
        second.or_else(first)
    }

    /// Returns the likely reason of a SIGKILL, if the kernel has killed a process for lack of
    /// memory.
    #[must_use]
    pub fn why_killed(&self) -> Option<String> {
        self.why_killed_on(machine_memory())
    }

    /// Returns a reserve, if the group has a memory limit.
    #[must_use]
    pub fn reserve(&self) -> Option<MemoryReserve> {
        self.limit_below(machine_memory())?;
        MemoryReserve::allocate()
    }

    /// Returns the least limit that is below `memory` bytes. One above those is no limit: version 1
    /// writes a large number where version 2 writes `max`.
    fn limit_below(&self, memory: u64) -> Option<u64> {
        let limits = self
            .limits
            .iter()
            .filter_map(|file| std::fs::read_to_string(file).ok());
        let limits = limits.filter_map(|text| text.trim().parse::<u64>().ok());
        limits.filter(|&bytes| bytes < memory).min()
    }

    /// Does so on a machine that has `memory` bytes.
    fn why_killed_on(&self, memory: u64) -> Option<String> {
        if kills(&self.counter)? <= self.before {
            return None;
        }
        let units = |bytes| bcs_core::job::in_units(bytes, "bytes");
        Some(match self.limit_below(memory) {
            Some(limit) => format!(
                "the memory limit of the control group ({}) was reached: raise memory.max of the \
                 container, or give each rank less to do",
                units(limit)
            ),
            None => format!(
                "the memory of the machine ({}) was used up: use more machines, or give each rank \
                 less to do",
                units(memory)
            ),
        })
    }
}

/// Returns the bytes of the machine's memory.
fn machine_memory() -> u64 {
    let system = rustix::system::sysinfo();
    system.totalram.saturating_mul(system.mem_unit.into())
}

/// Reads how many processes were killed.
fn kills(counter: &Path) -> Option<u64> {
    let text = std::fs::read_to_string(counter).ok()?;
    let mut words = text.lines().filter_map(|line| line.split_once(' '));
    words
        .find(|(name, _)| *name == "oom_kill")?
        .1
        .trim()
        .parse()
        .ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(directory: &Path, files: &[(&str, &str)]) {
        for (name, text) in files {
            let path = directory.join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
    }

    #[test]
    fn the_limit_is_named_when_the_kernel_has_killed_because_of_it() {
        for (groups, counter, limits) in [
            (
                "0::/a/b\n",
                "a/b/memory.events",
                ["a/memory.max", "a/b/memory.max"],
            ),
            (
                "4:cpu,memory:/a/b\n0::/\n",
                "memory/a/b/memory.oom_control",
                [
                    "memory/a/memory.limit_in_bytes",
                    "memory/a/b/memory.limit_in_bytes",
                ],
            ),
        ] {
            let root = tempfile::tempdir().unwrap();
            files(root.path(), &[(counter, "oom 3\noom_kill 2\n")]);
            files(
                root.path(),
                &[(limits[0], "67108864\n"), (limits[1], "max\n")],
            );
            let group = ControlGroup::find(groups, root.path()).unwrap();
            assert_eq!(group.why_killed(), None, "that was before");
            files(root.path(), &[(counter, "oom 4\noom_kill 3\n")]);
            let why = group.why_killed_on(1 << 30).unwrap();
            assert!(
                why.starts_with("the memory limit of the control group (64MiB) was reached"),
                "{why}"
            );
            // As version 1 writes that there is no limit.
            files(root.path(), &[(limits[0], "9223372036854771712\n")]);
            let why = group.why_killed_on(1 << 30).unwrap();
            assert!(
                why.starts_with("the memory of the machine (1GiB) was used up"),
                "{why}"
            );
        }
    }

    #[test]
    fn where_nothing_can_be_read_nothing_is_said() {
        let root = tempfile::tempdir().unwrap();
        assert_eq!(ControlGroup::find("0::/a\n", root.path()), None);
        assert_eq!(ControlGroup::find("rubbish", root.path()), None);
    }
}
