//! The laws of the three primitives between processes of several hosts, by the fixture `laws`. If
//! hosts cannot be made, the tests are skipped and print why.

use crate::hosts::{BRIDGE, lossy, nothing_is_left};
use crate::program::fixture;
use bcs_fabric::conformance::layouts;
use std::process::Command;
use test_network::{SwitchFaults, TestNetwork};

/// Checks all laws in all layouts with this number of machines.
fn kept(network: &TestNetwork, crypto: &str) {
    let mut laws = Command::new(fixture("laws"));
    laws.arg(crypto).args(network.hosts());
    let output = laws.output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    let said = String::from_utf8_lossy(&output.stdout);
    let hosts = network.hosts().len();
    let layouts = layouts()
        .iter()
        .filter(|layout| layout.len() == hosts)
        .count();
    assert!(layouts > 0, "no layout has {hosts} machines");
    let is_kept = said.ends_with(&format!(" laws in {layouts} layouts\n"));
    assert!(
        output.status.success() && told.is_empty() && is_kept,
        "{crypto}: {}, {said}\n{told}",
        output.status
    );
    nothing_is_left(network);
}

#[test]
fn primitives_keep_their_laws_between_hosts() {
    for hosts in [2, 3, 5] {
        let Some(network) = TestNetwork::make_or_skip(hosts, BRIDGE) else {
            return;
        };
        for crypto in ["none", "tag", "aead"] {
            kept(&network, crypto);
        }
    }
}

/// Checks them on networks by seed, with this protection of datagrams.
fn kept_over_a_bad_network(hosts: usize, seeds: &[(u64, &str)]) {
    let Some(network) = lossy(hosts, SwitchFaults::NONE) else {
        return;
    };
    for &(seed, crypto) in seeds {
        let faults = SwitchFaults {
            seed,
            loss_permille: 50,
            duplication_permille: 50,
            reordering_permille: 50,
            reordering_behind: 4,
            reordering_hold_us: 2_000,
            delay_permille: 1_000,
            jitter_us: 5_000,
            ..SwitchFaults::NONE
        };
        let before = network.counts().unwrap().all;
        network.set_faults(faults).unwrap();
        kept(&network, crypto);
        let after = network.counts().unwrap().all;
        // Each run has some thousand datagrams.
        for (kind, count) in [
            ("lost", after.lost - before.lost),
            ("repeated", after.repeated - before.repeated),
            ("held back", after.reordered - before.reordered),
            ("delayed", after.delayed - before.delayed),
        ] {
            assert!(count > 20, "{count} were {kind}: {after:?}");
        }
    }
}

#[test]
fn primitives_keep_their_laws_over_a_bad_network_of_2_hosts() {
    kept_over_a_bad_network(2, &[(11, "tag"), (12, "aead")]);
}

#[test]
fn primitives_keep_their_laws_over_a_bad_network_of_3_hosts() {
    kept_over_a_bad_network(3, &[(21, "tag"), (22, "aead"), (23, "none")]);
}

#[test]
fn primitives_keep_their_laws_over_a_bad_network_of_5_hosts() {
    kept_over_a_bad_network(5, &[(31, "tag"), (32, "aead"), (33, "none")]);
}
