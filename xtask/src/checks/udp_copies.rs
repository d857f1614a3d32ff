//! The kernel copies the bytes of long messages between hosts directly to their place, so that they
//! are copied once on the receiving host.

use std::time::Duration;

use anyhow::{Context, Result};
use test_network::{NetworkKind, NetworkOptions, TestNetwork};

use crate::network::{bcs_run, check_no_processes};
use crate::process;
use crate::verdict::{CheckOutcome, UnsuitableMachine};
use crate::workspace::Workspace;

use super::Check;

pub(super) const CHECK: Check = Check {
    name: "udp-copies",
    about: "of long messages between 2 hosts nine of ten bytes are copied once, from the kernel to the rank",
    about_time: false,
    quick: true,
    run,
};

/// The least share of all bytes that the kernel must put in place.
const LEAST: f64 = 0.9;

const LIMIT: Duration = Duration::from_secs(120);

/// The text that a node manager prints at the end.
const RECEIVED: &str = " has received ";
const PUT: &str = " bytes of messages from other machines; the kernel put ";

fn run(workspace: &Workspace) -> Result<CheckOutcome> {
    let mut outcomes = Vec::new();
    for mtu in [1500, 9000] {
        let joined = NetworkKind::Bridge;
        let network = TestNetwork::make(2, NetworkOptions { joined, mtu });
        let network = network.map_err(|reason| UnsuitableMachine(reason.to_string()))?;
        for crypto in ["none", "tag"] {
            outcomes.push(share(workspace, &network, mtu, crypto)?);
        }
        check_no_processes(&network)?;
    }
    Ok(CheckOutcome::of_all(&outcomes))
}

/// Measures this share over the bytes that all node managers report as received.
fn share(
    workspace: &Workspace,
    network: &TestNetwork,
    mtu: u16,
    crypto: &str,
) -> Result<CheckOutcome> {
    let options = format!("-v -n 2 --fabric-crypto {crypto}");
    let mut command = bcs_run(workspace, network, 2, &options)?;
    command.args(["bench", "--ops", "bandwidth", "--sizes", "64KiB,1MiB,4MiB"]);
    let said = process::run(&mut command, LIMIT)?.succeeded()?.stderr;
    let (mut all, mut put) = (0, 0);
    for (received, of_them) in said.lines().filter_map(counts) {
        all += received;
        put += of_them;
    }
    let share = put as f64 / all as f64;
    let figure = format!(
        "MTU {mtu}, {crypto}: {:.1} % of {:.1} GB",
        100.0 * share,
        all as f64 * 1e-9
    );
    (all > 0)
        .then(|| CheckOutcome::exact(share >= LEAST, figure, "at least 90 %"))
        .with_context(|| format!("nobody has said how messages came:\n{said}"))
}

/// Returns the received bytes in a line, and those that the kernel put in place.
fn counts(line: &str) -> Option<(u64, u64)> {
    let (_, line) = line.split_once(RECEIVED)?;
    let (all, line) = line.split_once(PUT)?;
    let (put, _) = line.split_once(' ')?;
    Some((all.parse().ok()?, put.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use bcs_fabric::udp::InboundBytes;

    #[test]
    fn what_a_node_manager_says_is_understood() {
        let (placed, copied) = (95, 5);
        let line = format!("bcs: node 1{RECEIVED}{}", InboundBytes { placed, copied });
        assert_eq!(counts(&line), Some((100, 95)));
        assert_eq!(counts("bcs: node 1 has received nothing"), None);
    }
}
