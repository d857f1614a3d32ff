//! Nothing is left: a subreaper kills and reaps all that descends from it.
//!
//! When a process dies, its children become children of the nearest ancestor that called
//! [`adopt_orphans`]. So whoever kills and reaps its children until it has none has ended
//! everything that was ever started below it, however it was detached.

use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions};

/// From now on, what descends from this process becomes its child when its parent dies.
///
/// # Errors
/// The kernel's answer.
pub fn adopt_orphans() -> Result<(), Errno> {
    rustix::process::set_child_subreaper(rustix::process::Pid::from_raw(1))
}

/// The children of this process, zombies included: from /proc, because there is no call for it.
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
    // The name, in parentheses, may contain anything; what follows it does not.
    let name_end = stat.iter().rposition(|&byte| byte == b')')?;
    let fields = std::str::from_utf8(&stat[name_end + 1..]).ok()?;
    Pid::from_raw(fields.split_ascii_whitespace().nth(1)?.parse().ok()?)
}

/// Whether this process has no children at all: one system call.
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

/// Kills and reaps all descendants but the `spared` children and theirs. Returns when none is
/// left.
///
/// No descendant is overlooked: one that is not a child yet has an ancestor that is one, alive or
/// as a zombie, and stays in the list of children until it is reaped here; by then its children
/// are in the list.
pub fn end_descendants(spared: &[Pid]) {
    loop {
        if childless() {
            return;
        }
        let doomed: Vec<Pid> = children()
            .into_iter()
            .filter(|child| !spared.contains(child))
            .collect();
        if doomed.is_empty() {
            return;
        }
        for &pid in &doomed {
            let _ = rustix::process::kill_process(pid, Signal::KILL);
        }
        // They cannot be recycled meanwhile: nobody else reaps them.
        for &pid in &doomed {
            let _ = rustix::process::waitpid(Some(pid), WaitOptions::empty());
        }
    }
}
