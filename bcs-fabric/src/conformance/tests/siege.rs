//! Hubs in virtual time, under attack.

use super::udp::{BAD, UdpBench, cluster};
use crate::conformance::bench::Bench;
use crate::conformance::check_all;
use crate::conformance::layouts::layouts;
use crate::udp::UdpPort;
use crate::udp::datagram_network::DatagramFaults;
use bcs_core::job::{NicThreadId, NodeId};
use bcs_core::limits::FAN_OUT;
use std::cell::RefCell;

/// Attackers who see all datagrams, and do not have the key, change nothing. `BCS_STRANGERS` is the
/// least number of datagrams that they send.
#[test]
fn udp_keeps_the_laws_among_strangers() {
    let most = std::env::var("BCS_STRANGERS").map_or(100_000, |most| most.parse().unwrap());
    let mut seeds = 0..;
    let mut forged = 0;
    while forged < most {
        let seed = seeds.next().unwrap();
        let faults = [DatagramFaults::default(), BAD][usize::from(seed % 2 == 1)];
        let fan_out = [1, 2, FAN_OUT][usize::try_from(seed % 3).unwrap()];
        for machines in layouts() {
            let benches = RefCell::new(0);
            check_all(|nodes| {
                let cluster = cluster(nodes, (&machines, fan_out), faults, seed);
                let cluster = cluster.with_forgeries(seed, 40);
                Besieged(UdpBench::new(cluster), &benches)
            });
            forged += benches.into_inner();
        }
    }
    println!("{forged} datagrams of strangers, of {} seeds", seeds.start);
}

/// Counts the datagrams of the attackers.
struct Besieged<'a>(UdpBench, &'a RefCell<u64>);

impl Bench for Besieged<'_> {
    type Port = UdpPort;
    fn port(&mut self, node: NodeId, thread: NicThreadId) -> UdpPort {
        self.0.port(node, thread)
    }
    fn strobe_sender(&mut self) -> UdpPort {
        self.0.strobe_sender()
    }
    fn step(&mut self) {
        self.0.step();
    }
    fn run_until_idle(&mut self) {
        self.0.run_until_idle();
    }
    fn source_address(&self) -> u64 {
        self.0.source_address()
    }
    fn receive_address(&self, node: NodeId) -> u64 {
        self.0.receive_address(node)
    }
}

impl Drop for Besieged<'_> {
    fn drop(&mut self) {
        let siege = self
            .0
            .cluster
            .forgery_injector()
            .expect("there are strangers");
        *self.1.borrow_mut() += siege.forged();
    }
}
