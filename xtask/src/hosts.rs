//! Two hosts of a test network, and the start of our jobs and others' over them.
//!
//! A peer's launcher runs on the first host. It starts its processes on the other host by a script,
//! the *agent*, which takes the place of ssh. The script identifies hosts by their addresses:
//! otherwise both have the machine's name, and Open MPI treats hosts of one name as one host. A
//! peer's rank polls, so each host has a core for it. Otherwise the kernel would now and then put
//! both on one core, and each would wait for the end of the other's time slice, 4 ms later.

use std::fmt::Write;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use tempfile::TempDir;
use test_network::{NetworkKind, NetworkOptions, TestNetwork};

use crate::bare_pingpong::allowed_cores;
use crate::network::LAUNCHER;
use crate::verdict::UnsuitableMachine;

/// The packet size of Ethernet.
pub const ETHERNET: u16 = 1500;

/// Two hosts connected by a bridge. They end with this value, and so do all processes there.
#[derive(Debug)]
pub struct Hosts {
    network: TestNetwork,
    /// The core of each host, for a peer.
    cores: [usize; 2],
    /// The folder of the agent.
    dir: TempDir,
    mtu: u16,
}

impl Hosts {
    /// Makes the hosts, with packets of at most `mtu` bytes.
    ///
    /// # Errors
    ///
    /// [`UnsuitableMachine`] if there are no namespaces or there is only one core; other errors if
    /// the agent cannot be written.
    pub fn make(mtu: u16) -> Result<Self> {
        let [one, other, ..] = allowed_cores()?[..] else {
            return Err(UnsuitableMachine("two hosts that poll need two cores".to_owned()).into());
        };
        let joined = NetworkKind::Bridge;
        let network = TestNetwork::make(2, NetworkOptions { joined, mtu })
            .map_err(|reason| UnsuitableMachine(reason.to_string()))?;
        let dir = tempfile::tempdir().context("failed to make a directory for the agent")?;
        let cores = [one, other];
        let hosts = Self {
            network,
            cores,
            dir,
            mtu,
        };
        let agent = hosts.agent();
        fs::write(&agent, hosts.script())
            .and_then(|()| fs::set_permissions(&agent, Permissions::from_mode(0o700)))
            .with_context(|| format!("failed to write {}", agent.display()))?;
        Ok(hosts)
    }

    /// Returns the largest size of a packet.
    #[must_use]
    pub fn mtu(&self) -> u16 {
        self.mtu
    }

    /// Returns the network.
    #[must_use]
    pub fn network(&self) -> &TestNetwork {
        &self.network
    }

    /// Returns the core of a host.
    #[must_use]
    pub fn core(&self, host: usize) -> usize {
        self.cores[host]
    }

    /// Returns the options of `bcs run` for a node on each host. The node managers share a kernel,
    /// and so could share memory.
    #[must_use]
    pub fn options(&self) -> [String; 6] {
        let hosts = self.network.hosts().join(",");
        let words = ["--hosts", &hosts, "--launcher", LAUNCHER, "--fabric", "udp"];
        words.map(str::to_owned)
    }

    /// Makes a command that runs on a host, and on the core of that host.
    #[must_use]
    pub fn command(&self, host: usize, program: &Path) -> Command {
        let mut command = self.network.command(host, "taskset");
        command.args(["--cpu-list", &self.cores[host].to_string()]);
        command.arg(program);
        command
    }

    /// Expands an option of a peer's launcher: `{agent}` becomes the agent and `{hosts}` the hosts'
    /// addresses.
    #[must_use]
    pub fn fill(&self, option: &str) -> String {
        let addresses: Vec<String> = (0..self.network.hosts().len())
            .map(|host| self.network.address(host).to_string())
            .collect();
        option
            .replace("{agent}", &self.agent().to_string_lossy())
            .replace("{hosts}", &addresses.join(","))
    }

    fn agent(&self) -> PathBuf {
        self.dir.path().join("agent")
    }

    /// Returns the text of the agent. It takes the same words as ssh: options, a host, and a
    /// command for that host's shell.
    fn script(&self) -> String {
        let mut hosts = String::new();
        for (host, (name, core)) in self.network.hosts().iter().zip(self.cores).enumerate() {
            let address = self.network.address(host);
            writeln!(hosts, "{address}) host={name} core={core} ;;").expect("text takes all");
        }
        format!(
            "#!/bin/sh\n\
             while [ \"${{1#-}}\" != \"$1\" ]; do shift; done\n\
             address=$1\n\
             shift\n\
             case $address in\n\
             {hosts}\
             *) echo \"there is no host $address\" >&2; exit 255 ;;\n\
             esac\n\
             exec ip netns exec \"$host\" taskset --cpu-list $core unshare --uts \
             sh -c \"echo $address > /proc/sys/kernel/hostname; $*\"\n"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_agent_starts_a_command_on_the_host_that_it_is_told() {
        let Ok(hosts) = Hosts::make(ETHERNET) else {
            // The tests of `test-network` fail if a machine that must have namespaces lacks them.
            return;
        };
        let address = hosts.network.address(1).to_string();
        let mut agent = Command::new(hosts.fill("{agent}"));
        agent.args([
            "-x",
            &address,
            "A='there is';",
            "echo",
            "$A",
            "$(hostname);",
        ]);
        let output = agent.args(["ip", "-4", "address", "show", "eth0"]).output();
        let output = output.unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(
            said.starts_with(&format!("there is {address}\n")),
            "{output:?}"
        );
        assert!(said.contains(&format!("inet {address}/24")), "{said}");
        let stranger = Command::new(hosts.fill("{agent}"))
            .arg("elsewhere")
            .output();
        assert_eq!(stranger.unwrap().status.code(), Some(255));
    }
}
