//! The namespaces of a network, from their names to their end.
//!
//! A name holds the pid of the process that has made it. So the names alone show which namespaces a
//! killed process has left, and every process that makes a network removes those ([`sweep`]).

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::process::{Pid, Signal, kill_process};

use super::error::NetworkError;
use super::program::ip;

/// The folder in which `ip netns` keeps names.
const FOLDER: &str = "/run/netns";

/// The number of this process's next network.
static NEXT: AtomicU32 = AtomicU32::new(0);

/// The name of a network: `bcs-PID-NUMBER`. The names of its namespaces begin with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct NetworkName {
    pub(super) pid: u32,
    pub(super) number: u32,
}

impl NetworkName {
    /// Returns the name of a new network.
    fn fresh() -> Self {
        Self {
            pid: process::id(),
            number: NEXT.fetch_add(1, Ordering::Relaxed),
        }
    }

    fn namespace(self, part: &str) -> String {
        format!("bcs-{}-{}-{part}", self.pid, self.number)
    }

    /// Returns the name of the network that a namespace belongs to.
    fn of_namespace(name: &str) -> Option<Self> {
        let mut words = name.strip_prefix("bcs-")?.splitn(3, '-');
        let pid = words.next()?.parse().ok()?;
        let number = words.next()?.parse().ok()?;
        words.next().map(|_| Self { pid, number })
    }

    /// Returns whether its process is gone, so that nobody else will remove it: the process has
    /// ended, or had the pid that this process has now.
    fn is_left(self) -> bool {
        if self.pid == process::id() {
            return self.number >= NEXT.load(Ordering::Relaxed);
        }
        // If a process has ended and is not waited for, its pid exists, but not its program.
        let program = fs::read_link(format!("/proc/{}/exe", self.pid));
        program.is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
    }
}

/// The namespaces of one network. They, and all processes in them, end with this value.
#[derive(Debug)]
pub(super) struct Namespaces {
    pub(super) name: NetworkName,
    made: Vec<String>,
}

impl Namespaces {
    /// Makes the namespaces of the hosts, and of their switch.
    pub(super) fn make(hosts: usize) -> Result<Self, NetworkError> {
        let name = NetworkName::fresh();
        let mut namespaces = Self {
            name,
            made: Vec::new(),
        };
        for host in 0..hosts {
            namespaces.add(name.namespace(&host.to_string()))?;
        }
        namespaces.add(name.namespace("switch"))?;
        Ok(namespaces)
    }

    fn add(&mut self, namespace: String) -> Result<(), NetworkError> {
        ip(&["netns", "add", &namespace])?;
        self.made.push(namespace);
        Ok(())
    }

    pub(super) fn hosts(&self) -> &[String] {
        self.made.split_last().map_or(&[], |(_, hosts)| hosts)
    }

    pub(super) fn all(&self) -> &[String] {
        &self.made
    }

    pub(super) fn switch(&self) -> &str {
        self.made.last().expect("the switch has a namespace")
    }
}

impl Drop for Namespaces {
    fn drop(&mut self) {
        for namespace in &self.made {
            if let Err(error) = remove(namespace) {
                eprintln!("test-network: {error}");
            }
        }
    }
}

/// Returns the file by which a namespace is opened.
pub(super) fn path(namespace: &str) -> PathBuf {
    Path::new(FOLDER).join(namespace)
}

/// Returns the processes in a namespace.
pub(super) fn processes(namespace: &str) -> Result<Vec<u32>, NetworkError> {
    let pids = ip(&["netns", "pids", namespace])?;
    Ok(pids.lines().filter_map(|pid| pid.parse().ok()).collect())
}

/// Kills the processes in a namespace, and removes its name: the kernel removes it when its last
/// process has ended.
fn remove(namespace: &str) -> Result<(), NetworkError> {
    let removed = processes(namespace).and_then(|pids| {
        for pid in pids {
            // A thread of this process may be on a host.
            let pid = i32::try_from(pid).ok().filter(|_| pid != process::id());
            if let Some(pid) = pid.and_then(Pid::from_raw) {
                let _gone_already = kill_process(pid, Signal::KILL);
            }
        }
        ip(&["netns", "del", namespace])
    });
    // Another process may have swept it at the same time.
    match removed {
        Err(error) if path(namespace).exists() => Err(error),
        _ => Ok(()),
    }
}

/// Removes all namespaces of networks whose process has ended without doing so, and ends the
/// processes in them. Returns their names.
///
/// # Errors
///
/// One of them is not removed.
pub fn sweep() -> Result<Vec<String>, NetworkError> {
    // If no namespace was ever made, there is no folder.
    let entries = fs::read_dir(FOLDER).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let left =
        names.filter(|name| NetworkName::of_namespace(name).is_some_and(NetworkName::is_left));
    left.map(|name| remove(&name).map(|()| name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_namespace_names_its_network() {
        let name = NetworkName { pid: 12, number: 3 };
        for part in ["0", "switch"] {
            assert_eq!(NetworkName::of_namespace(&name.namespace(part)), Some(name));
        }
        for other in ["bcs-12", "bcs-12-3", "bcs-a-3-0", "cni-12-3-0", ""] {
            assert_eq!(NetworkName::of_namespace(other), None, "{other}");
        }
    }

    #[test]
    fn what_a_living_process_has_made_is_not_left() {
        let pid = process::id();
        let made = NetworkName::fresh();
        assert!(!made.is_left());
        let number = u32::MAX;
        assert!(
            NetworkName { pid, number }.is_left(),
            "of one that had this pid"
        );
        let parent = std::os::unix::process::parent_id();
        let of_parent = NetworkName {
            pid: parent,
            ..made
        };
        assert!(!of_parent.is_left());
        let pid = u32::MAX;
        assert!(NetworkName { pid, ..made }.is_left());
    }
}
