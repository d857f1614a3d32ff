//! A subreaper: it kills and reaps all its descendants, so that no process is left.
//!
//! When a process dies, its children become children of the nearest ancestor that called
//! [`adopt_orphans`]. So a process that kills and reaps its children until it has none has ended
//! everything that was ever started below it, even detached processes. The exception is processes
//! that this user may not kill.

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, WaitOptions};
use rustix::time::Timespec;
use std::os::fd::{AsFd as _, OwnedFd};
use std::time::{Duration, Instant};

/// There is no /proc: we could not find processes, the memory of others, or our own program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "/proc is not mounted, where BCS-MPI finds processes and their memory: mount it (mount -t proc proc /proc)"
)]
pub struct NoProc;

/// Checks that /proc is there.
///
/// # Errors
/// [`NoProc`].
pub fn find_proc() -> Result<(), NoProc> {
    match rustix::fs::access("/proc/self/stat", rustix::fs::Access::READ_OK) {
        Ok(()) => Ok(()),
        Err(_) => Err(NoProc),
    }
}

/// Makes this process adopt its descendants when their parents die.
///
/// # Errors
/// The kernel's error.
pub fn adopt_orphans() -> Result<(), Errno> {
    rustix::process::set_child_subreaper(rustix::process::Pid::from_raw(1))
}

/// Returns the children of this process, zombies included: from /proc, because there is no call for
/// it.
#[must_use]
pub fn children() -> Vec<Pid> {
    let own = rustix::process::getpid();
    let Ok(entries) = std::fs::read_dir("/proc") else {
        return Vec::new();
    };
    entries
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter_map(Pid::from_raw)
        .filter(|&pid| parent_of(pid) == Some(own))
        .collect()
}

fn parent_of(pid: Pid) -> Option<Pid> {
    let stat = std::fs::read(format!("/proc/{}/stat", pid.as_raw_nonzero())).ok()?;
    // The name, in parentheses, may contain any bytes; the rest may not.
    let name_end = stat.iter().rposition(|&byte| byte == b')')?;
    let fields = std::str::from_utf8(&stat[name_end + 1..]).ok()?;
    Pid::from_raw(fields.split_ascii_whitespace().nth(1)?.parse().ok()?)
}

/// Returns whether this process has no children at all: one system call.
#[must_use]
pub fn childless() -> bool {
    let options = rustix::process::WaitIdOptions::EXITED
        | rustix::process::WaitIdOptions::NOHANG
        | rustix::process::WaitIdOptions::NOWAIT;
    matches!(
        rustix::process::waitid(rustix::process::WaitId::All, options),
        Err(Errno::CHILD)
    )
}

/// Kills and reaps all descendants except the `spared` children and theirs. Returns when none is
/// left, except children that this process may not kill, since they have become another user's
/// (`sudo`). Those have `patience` to end by themselves, as they do when their own child has ended.
/// Returns those that are left.
///
/// No descendant is overlooked. One that is not a child yet has an ancestor that is one, alive or
/// as a zombie. This ancestor stays in the list of children until it is reaped here, and by then
/// its children are in the list. (The descendants of a child that may not be killed stay with it.)
pub fn end_descendants(spared: &[Pid], patience: Duration) -> Vec<Pid> {
    let deadline = Instant::now() + patience;
    loop {
        if childless() {
            return Vec::new();
        }
        let doomed: Vec<Pid> = children()
            .into_iter()
            .filter(|child| !spared.contains(child))
            .collect();
        let refuses = |&pid: &Pid| {
            rustix::process::kill_process(pid, Signal::KILL) == Err(Errno::PERM) && !is_reaped(pid)
        };
        let (immortal, killed): (Vec<Pid>, Vec<Pid>) = doomed.into_iter().partition(refuses);
        // Their ids cannot be recycled meanwhile: nobody else reaps them.
        for &pid in &killed {
            let _ = rustix::process::waitpid(Some(pid), WaitOptions::empty());
        }
        if killed.is_empty() && !one_ends(&immortal, deadline) {
            return immortal;
        }
    }
}

/// Kills all descendants, while other OS threads of this process may reap some and start others.
/// Returns when there are none, or at the deadline.
pub(crate) fn kill_descendants_until(deadline: Instant) {
    while !childless() && Instant::now() < deadline {
        for pid in children() {
            // Another thread may have reaped it, and its id may have been recycled, but the opened
            // pidfd stays valid.
            let Ok(pidfd) = rustix::process::pidfd_open(pid, PidfdFlags::empty()) else {
                continue;
            };
            if parent_of(pid) == Some(rustix::process::getpid()) {
                let _ = rustix::process::pidfd_send_signal(&pidfd, Signal::KILL);
                let left = deadline.saturating_duration_since(Instant::now());
                let left = Timespec::try_from(left).expect("at most ORDERLY_END");
                let _ = poll(&mut [PollFd::new(&pidfd, PollFlags::IN)], Some(&left));
                let reap = WaitIdOptions::EXITED | WaitIdOptions::NOHANG;
                let _ = rustix::process::waitid(WaitId::PidFd(pidfd.as_fd()), reap);
            }
        }
    }
}

/// Reaps a child if it has ended. Returns whether it has.
fn is_reaped(pid: Pid) -> bool {
    !matches!(
        rustix::process::waitpid(Some(pid), WaitOptions::NOHANG),
        Ok(None)
    )
}

/// Waits until one of these children has ended. Returns false if there is none, or at the deadline.
fn one_ends(children: &[Pid], deadline: Instant) -> bool {
    if children.is_empty() {
        return false;
    }
    let open = |&pid: &Pid| rustix::process::pidfd_open(pid, PidfdFlags::empty()).ok();
    let pidfds: Vec<OwnedFd> = children.iter().filter_map(open).collect();
    let mut fds: Vec<PollFd<'_>> = pidfds
        .iter()
        .map(|pidfd| PollFd::new(pidfd, PollFlags::IN))
        .collect();
    let left = deadline.saturating_duration_since(Instant::now());
    let left = Timespec::try_from(left).expect("at most IMMORTAL_PATIENCE");
    match poll(&mut fds, Some(&left)) {
        Ok(ended) => ended > 0,
        // Try again until the deadline.
        Err(errno) => errno == Errno::INTR,
    }
}
