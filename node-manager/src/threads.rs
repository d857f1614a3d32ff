//! Threads of ranks, as the kernel knows them.
//!
//! A rank records what one of its threads waits for, and whether other threads may call MPI
//! (`MPI_THREAD_SERIALIZED`, `MPI_THREAD_MULTIPLE`). If they may, they do so at any time: a rank
//! with other threads may continue some day, even if all of them sleep now. If they may not, none
//! of them can help the one that waits.

use crate::control::OtherThreads;
use std::fs;
use std::path::Path;

/// The kernel's record of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Thread {
    state: u8,
    /// How often it got a core, or lost it.
    switches: u64,
}

impl Thread {
    /// Reads `/proc/PID/task/TID/status`.
    fn parse(status: &str) -> Option<Self> {
        let field = |name: &str| {
            let mut lines = status.lines();
            lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))
        };
        // A kernel in a sandbox may not count them. Then only the state counts.
        let count = |name| field(name)?.trim().parse::<u64>().ok();
        let switches = |name| count(name).unwrap_or(0);
        Some(Self {
            state: *field("State")?.trim_start().as_bytes().first()?,
            switches: switches("voluntary_ctxt_switches")
                .wrapping_add(switches("nonvoluntary_ctxt_switches")),
        })
    }
}

/// Examines the threads of these ranks' processes, except the one that sleeps in a call. The flag
/// of a process is whether they may call MPI. A process that cannot be read counts as running.
pub(crate) fn other_threads(processes: impl Iterator<Item = (Option<u32>, bool)>) -> OtherThreads {
    let mut all = OtherThreads::None;
    for (process, may_call) in processes {
        let of_rank = process.and_then(|pid| read(Path::new(&format!("/proc/{pid}/task"))));
        let Some(threads) = of_rank else {
            return OtherThreads::Running;
        };
        all = match (all, judge(&threads, may_call)) {
            (_, OtherThreads::Running) | (OtherThreads::Running, _) => {
                return OtherThreads::Running;
            }
            (OtherThreads::None, other) | (other, OtherThreads::None) => other,
            (OtherThreads::Asleep(one), OtherThreads::Asleep(other)) => {
                OtherThreads::Asleep(one.wrapping_add(other))
            }
        };
    }
    all
}

/// Returns how often a process has called `read` or the like; 0 if the kernel does not say.
pub(crate) fn reads_so_far(pid: u32) -> u64 {
    let io = fs::read_to_string(format!("/proc/{pid}/io")).unwrap_or_default();
    let mut lines = io.lines();
    let reads = lines.find_map(|line| line.strip_prefix("syscr:"));
    reads
        .and_then(|reads| reads.trim().parse().ok())
        .unwrap_or(0)
}

fn read(tasks: &Path) -> Option<Vec<Thread>> {
    let mut threads = Vec::new();
    for task in fs::read_dir(tasks).ok()? {
        let status = fs::read_to_string(task.ok()?.path().join("status")).ok()?;
        threads.push(Thread::parse(&status)?);
    }
    Some(threads)
}

/// Judges the threads of a process, one of which sleeps in a call.
fn judge(threads: &[Thread], may_call: bool) -> OtherThreads {
    // One that runs without having been rung is about to sleep; a debugger may hold one that is
    // stopped.
    let is_free = |thread: &Thread| matches!(thread.state, b'S' | b'R' | b'D');
    match threads {
        [] => OtherThreads::Running,
        all if !may_call || all.len() == 1 => match all.iter().all(is_free) {
            true => OtherThreads::None,
            false => OtherThreads::Running,
        },
        all if all.iter().any(|thread| thread.state != b'S') => OtherThreads::Running,
        all => {
            let switches = all.iter().map(|thread| thread.switches);
            OtherThreads::Asleep(switches.fold(all.len() as u64, u64::wrapping_add))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn thread(state: u8, switches: u64) -> Thread {
        Thread { state, switches }
    }

    #[test]
    fn a_thread_is_what_the_kernel_says() {
        let status = "Name:\tprog\nState:\tS (sleeping)\nTgid:\t7\n\
                      voluntary_ctxt_switches:\t150\nnonvoluntary_ctxt_switches:\t545\n";
        assert_eq!(Thread::parse(status), Some(thread(b'S', 695)));
        assert_eq!(Thread::parse("Name:\tprog\n"), None);
    }

    #[test]
    fn a_rank_with_other_threads_may_go_on() {
        let asleep = thread(b'S', 3);
        assert_eq!(judge(&[asleep], true), OtherThreads::None);
        assert_eq!(judge(&[thread(b'T', 3)], true), OtherThreads::Running);
        assert_eq!(
            judge(&[asleep, thread(b'R', 1)], true),
            OtherThreads::Running
        );
        assert_eq!(judge(&[asleep, asleep], true), OtherThreads::Asleep(8));
        let me = || [(Some(std::process::id()), true)].into_iter();
        let unknown = other_threads(me().chain([(None, true)]));
        assert_eq!(unknown, OtherThreads::Running, "nobody knows it");
        assert_eq!(
            other_threads(me()),
            OtherThreads::Running,
            "this thread runs"
        );
        assert_eq!(other_threads(std::iter::empty()), OtherThreads::None);
    }

    #[test]
    fn threads_that_may_not_call_help_nobody_unless_a_debugger_has_stopped_them() {
        let asleep = thread(b'S', 3);
        for other in [asleep, thread(b'R', 1), thread(b'D', 1)] {
            assert_eq!(judge(&[asleep, other], false), OtherThreads::None);
        }
        for stopped in [thread(b'T', 1), thread(b't', 1)] {
            assert_eq!(judge(&[asleep, stopped], false), OtherThreads::Running);
            assert_eq!(judge(&[stopped], false), OtherThreads::Running);
        }
    }
}
