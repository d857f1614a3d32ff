//! Jobs of ours on several hosts, which are network namespaces, and what they must not leave there.

use std::fs;
use std::process::Command;

use anyhow::{Result, ensure};
use test_network::{NetworkKind, NetworkOptions, TestNetwork};

use crate::verdict::UnsuitableMachine;
use crate::workspace::Workspace;

/// How `bcs run` starts node managers on a host.
pub const LAUNCHER: &str = "ip netns exec {host}";

/// So many hosts that a bridge joins.
///
/// # Errors
///
/// [`UnsuitableMachine`] where there are none.
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

/// `bcs run` over the first of the hosts, with these options. They share a kernel, so they could share memory, too.
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

/// Names that jobs could leave behind where names are.
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

/// Sees that nothing runs on any host.
///
/// # Errors
///
/// Something does.
pub fn check_no_processes(network: &TestNetwork) -> Result<()> {
    for host in 0..network.hosts().len() {
        let left = network.processes(host)?;
        let left: Vec<String> = left.into_iter().map(describe_process).collect();
        ensure!(left.is_empty(), "on host {host} there still run {left:?}");
    }
    Ok(())
}

/// A process and its program, as far as it is still there.
pub fn describe_process(pid: u32) -> String {
    let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    format!("{} ({pid})", name.trim())
}
