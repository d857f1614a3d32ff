//! Our jobs on several hosts, which are network namespaces, and the detection of what they leave
//! there.

use std::fs;
use std::process::Command;

use anyhow::{Result, ensure};
use test_network::{NetworkKind, NetworkOptions, SwitchFaults, TestNetwork};

use crate::verdict::UnsuitableMachine;
use crate::workspace::Workspace;

/// The command with which `bcs run` starts node managers on a host.
pub const LAUNCHER: &str = "ip netns exec {host}";

/// Makes `hosts` hosts connected by a bridge.
///
/// # Errors
///
/// [`UnsuitableMachine`] where there are no namespaces.
pub fn make(hosts: usize) -> Result<TestNetwork> {
    let options = NetworkOptions {
        joined: NetworkKind::Bridge,
        mtu: 1500,
    };
    Ok(
        TestNetwork::make(hosts, options)
            .map_err(|reason| UnsuitableMachine(reason.to_string()))?,
    )
}

/// Makes `hosts` hosts whose network has faults, and builds the program that has them.
///
/// # Errors
///
/// The program does not build, or [`UnsuitableMachine`] where there are no namespaces.
pub fn make_lossy(
    workspace: &Workspace,
    hosts: usize,
    faults: SwitchFaults,
) -> Result<TestNetwork> {
    workspace.build("test-network", "lossy-switch")?;
    let options = NetworkOptions {
        joined: NetworkKind::Lossy(faults),
        mtu: 1500,
    };
    Ok(
        TestNetwork::make(hosts, options)
            .map_err(|reason| UnsuitableMachine(reason.to_string()))?,
    )
}

/// Makes a `bcs run` over the first of the hosts, with these options. The hosts share a kernel, and
/// so could share memory, too.
///
/// # Errors
///
/// The `bcs` command does not build.
pub fn bcs_run(
    workspace: &Workspace,
    network: &TestNetwork,
    hosts: usize,
    options: &str,
) -> Result<Command> {
    let names = network.hosts()[..hosts].join(",");
    let mut command = workspace.bcs(["run", "--launcher", LAUNCHER, "--fabric", "udp"])?;
    command.args(["--hosts", &names]);
    command.args(options.split_whitespace());
    Ok(command)
}

/// Returns the names in `/dev/shm` and `/tmp` that jobs could have left behind.
#[must_use]
pub fn leftover_names() -> Vec<String> {
    let mut names = Vec::new();
    for directory in ["/dev/shm", "/tmp"] {
        for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            if name.contains("slot") || name.contains("bcs-") {
                names.push(format!("{directory}/{name}"));
            }
        }
    }
    names
}

/// Checks that no process runs on any host.
///
/// # Errors
///
/// A process runs.
pub fn check_no_processes(network: &TestNetwork) -> Result<()> {
    for host in 0..network.hosts().len() {
        let left = network.processes(host)?;
        let left: Vec<String> = left.into_iter().map(describe_process).collect();
        ensure!(left.is_empty(), "on host {host} there still run {left:?}");
    }
    Ok(())
}

/// Returns a process and its program, if it still exists.
pub fn describe_process(pid: u32) -> String {
    let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    format!("{} ({pid})", name.trim())
}
