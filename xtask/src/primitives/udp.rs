//! Measures the primitives between hosts, which are network namespaces.
//!
//! A host has the parts of a process with NICs in a job: a hub, a socket, and the memory of its
//! nodes. Hosts share no memory; all data go through their sockets, with authentication tags. There
//! are two OS threads, since the smallest machine has two cores. One thread is the first host with
//! the sequencer. The other thread is all other hosts, and the last of these calls the primitives.
//! Both spin like an awake OS thread of a NIC, so no thread needs a wake-up. With many hosts one OS
//! thread does the work that would otherwise be parallel.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use bcs_core::clock::now_ns;
use bcs_core::job::{NicThreadId, NodeId, NodeSet, Placement};
use bcs_core::limits::FAN_OUT;
use bcs_core::wake::MachinePage;
use bcs_fabric::shm::{PendingBells, RankMemoryAccess, Segment, Sequencer, ShmPort, WriteLog};
use bcs_fabric::udp::path::{longest_datagram, mtu_of};
use bcs_fabric::udp::seal::{Crypto, JobKey};
use bcs_fabric::udp::socket::Socket;
use bcs_fabric::udp::{
    Hub, HubConfig, LinkSettings, PathLimits, PeerAddress, SealSettings, UdpEndpoint, UdpPort,
};
use bcs_fabric::{Event, Port, Ticket};
use test_network::TestNetwork;

use super::{
    ANSWERER, ASKER, Costs, LONG, compare_and_write, each_us, fastest, on_two_cores, put, segment,
};

/// The value of a job (`node-manager/src/handshake.rs`).
const ACKNOWLEDGE_NS: u64 = 300_000;

/// More than a core can copy, so the budget never delays a transfer.
const BYTES_PER_SECOND: u64 = 20_000_000_000;

/// The most long transfers in flight: half of what a link buffers.
const ON_THE_WAY: u64 = 8;

/// One of this many long transfers is answered.
const ANSWERED: u64 = 4;

/// Long transfers of a burst to one host, and the number of bursts; the fastest burst counts.
const BURST: u64 = 32;
const BURSTS: usize = 60;

/// Test-Events per time measurement.
const TESTS: usize = 256;

/// A thousand times the longest duration.
const LIMIT: Duration = Duration::from_secs(30);

/// A host, with the parts that the primitives need.
struct Host {
    segment: Segment,
    wires: UdpEndpoint,
    last_node: NodeId,
}

/// Measures between the first `hosts` hosts of a network, with `nodes` nodes in total.
///
/// # Errors
///
/// [`UnsuitableMachine`](crate::verdict::UnsuitableMachine) if there is only one core; the kernel
/// refuses a call, or a datagram is never answered.
pub fn udp(network: &TestNetwork, hosts: usize, nodes: usize, time: Duration) -> Result<Costs> {
    let ledger = WriteLog::default();
    let all = make(network, hosts, nodes, &ledger)?;
    let (first, others) = all.split_first().context("there is a first host")?;
    on_two_cores(
        || PrimitiveDriver::new(others, nodes).costs(time),
        |over| answer(first, nodes, ledger, over),
    )
}

/// Makes the parts of the hosts, each with its socket in its namespace.
fn make(network: &TestNetwork, hosts: usize, nodes: usize, ledger: &WriteLog) -> Result<Vec<Host>> {
    let each = nodes / hosts;
    let of = |host: usize| -> Vec<NodeId> {
        (host * each..(host + 1) * each)
            .map(NodeId::from_index)
            .collect()
    };
    let parties: Vec<Vec<NodeId>> = (0..hosts).map(of).collect();
    let sockets = (0..hosts).map(|host| bind(network, host));
    let sockets: Vec<(Socket, usize)> = sockets.collect::<Result<_>>()?;
    let addresses: Vec<_> = sockets
        .iter()
        .map(|(socket, _)| socket.local_addr())
        .collect();
    let buffers: Vec<usize> = sockets
        .iter()
        .map(|(socket, _)| socket.receive_bytes())
        .collect();
    let key = JobKey::random()?;
    let host = |(me, (socket, mtu)): (usize, (Socket, usize))| -> Result<Host> {
        let segment = segment(nodes)?;
        let longest = longest_datagram(mtu, addresses[me].ip()) - Crypto::Tag.tag_bytes();
        let others = || (0..hosts).filter(move |party| *party != me);
        let mut paths = vec![None; hosts];
        for party in others() {
            paths[party] = Some(PathLimits {
                datagram_bytes: longest,
                window_bytes: (buffers[party] / (hosts - 1)) as u64,
            });
        }
        let hub = HubConfig {
            placement: Placement::block(nodes, nodes)?,
            parties: parties.clone(),
            me,
            machine: parties[me].iter().copied().collect(),
            machines: parties
                .iter()
                .map(|of| of.iter().copied().collect())
                .collect(),
            fan_out: FAN_OUT,
            beside_sequencer: Vec::new(),
            page: MachinePage::private(nodes, 1).context("failed to make a page")?,
            memory: memory(&segment),
            ledger: (me == 0).then(|| ledger.clone()),
            segment: segment.clone(),
            link: LinkSettings {
                bytes_per_second: BYTES_PER_SECOND,
                acknowledge_ns: ACKNOWLEDGE_NS,
                ..LinkSettings::default()
            },
            paths,
        };
        let sealing = SealSettings {
            key: key.clone(),
            crypto: Crypto::Tag,
            epoch: 0,
            me: parties[me][0],
        };
        let addresses: Vec<PeerAddress> = others()
            .map(|party| PeerAddress {
                party,
                node: parties[party][0],
                socket: addresses[party],
            })
            .collect();
        let wires = UdpEndpoint::new(Hub::new(hub, now_ns()), socket, &sealing, &addresses);
        Ok(Host {
            segment,
            wires: wires.context("failed to make a timer")?,
            last_node: parties[me][each - 1],
        })
    };
    sockets.into_iter().enumerate().map(host).collect()
}

/// Opens a socket on a host, and returns also the longest packet to others.
fn bind(network: &TestNetwork, host: usize) -> Result<(Socket, usize)> {
    let address = IpAddr::from(network.address(host));
    let other = IpAddr::from(network.address(usize::from(host == 0)));
    let bound = network.on_host(host, || -> Result<_> {
        let socket = Socket::bind(address, 0..=0)?;
        let mtu = mtu_of(address, (other, socket.local_addr().port()).into())?;
        Ok((socket, mtu))
    });
    bound.context("failed to get to a host")?
}

/// Returns access to no rank's memory, since there are no ranks.
fn memory(segment: &Segment) -> RankMemoryAccess {
    let nobody = Arc::new((0..segment.nodes()).map(|_| None).collect());
    RankMemoryAccess::new(segment.clone(), nobody)
}

impl Host {
    fn port(&self, node: NodeId, thread: NicThreadId) -> UdpPort {
        let (segment, bells) = (self.segment.clone(), self.wires.hub().bells());
        let near = ShmPort::new(segment, bells, memory(&self.segment), node, thread);
        UdpPort::new(near, self.wires.hub().clone(), Some((node, thread)))
    }

    /// Receives datagrams. Returns whether there were any.
    fn look(&self) -> bool {
        let has_come = self.wires.poll(now_ns());
        if has_come {
            // Discards the bells that drivers would poll.
            self.wires.hub().bells().take(&mut Vec::new());
        }
        has_come
    }
}

/// Runs the first host: it decides Compare-And-Writes, and answers each signal of its first node by
/// a signal to all nodes.
fn answer(host: &Host, nodes: usize, ledger: WriteLog, over: &AtomicBool) {
    let sequencer = Sequencer::new(host.segment.clone(), PendingBells::default());
    let mut sequencer = sequencer.with_ledger(Some(ledger));
    let mut answerer = host.port(NodeId(0), ANSWERER);
    let all = NodeSet::first_nodes(nodes);
    let mut answered = 0;
    while !over.load(Ordering::Relaxed) {
        let has_come = host.look();
        let is_decided = sequencer.poll();
        let is_called = answerer.signal_count() > answered;
        if is_called {
            answered += 1;
            put_all(&mut answerer, &all, &[7; 8], Some(ASKER));
        }
        if has_come || is_decided || is_called {
            host.wires.flush(now_ns());
        }
    }
}

/// Puts like [`put`], and consumes its ticket, which is complete when the call returns.
fn put_all(port: &mut UdpPort, all: &NodeSet, bytes: &[u8], signal: Option<NicThreadId>) {
    let ticket = put(port, all, bytes, signal);
    assert_eq!(port.test_event(ticket), Event::Signalled);
}

/// All other hosts; the last node of the last host calls the primitives.
struct PrimitiveDriver<'a> {
    hosts: &'a [Host],
    port: UdpPort,
    nodes: usize,
    /// The time by which everything must be answered.
    give_up: Instant,
    has_given_up: bool,
}

impl<'a> PrimitiveDriver<'a> {
    fn new(hosts: &'a [Host], nodes: usize) -> Self {
        let asking = hosts.last().expect("there are two hosts at least");
        Self {
            hosts,
            port: asking.port(asking.last_node, ASKER),
            nodes,
            give_up: Instant::now() + LIMIT,
            has_given_up: false,
        }
    }

    fn costs(mut self, time: Duration) -> Result<Costs> {
        let all = NodeSet::first_nodes(self.nodes);
        let what = compare_and_write(all);
        let compare_and_write_us = each_us(time, || {
            let ticket = self.port.compare_and_write(&what);
            self.until(|port| port.test_event(ticket) != Event::Pending);
        });
        let round_trip_us = each_us(time, || {
            let before = self.port.signal_count();
            put_all(&mut self.port, &all, &[7; 8], Some(ANSWERER));
            self.until(|port| port.signal_count() > before);
        });
        let costs = Costs {
            compare_and_write_us,
            transfer_us: round_trip_us / 2.0,
            transfer_mb_per_s: self.bandwidth(),
            test_event_us: self.test_event_us(),
        };
        ensure!(
            !self.has_given_up,
            "hosts do not answer each other: not all has come after {LIMIT:?}"
        );
        Ok(costs)
    }

    /// Flushes all sockets, and polls them until `is_so` holds.
    fn until(&mut self, mut is_so: impl FnMut(&mut UdpPort) -> bool) {
        self.hosts
            .iter()
            .for_each(|host| host.wires.flush(now_ns()));
        while !is_so(&mut self.port) && !self.has_given_up {
            for host in self.hosts {
                if host.look() {
                    host.wires.flush(now_ns());
                }
            }
            self.has_given_up = Instant::now() > self.give_up;
        }
    }

    /// Measures the bandwidth. A burst ends when its last transfer is answered, so it includes the
    /// arrival.
    fn bandwidth(&mut self) -> f64 {
        let (all, bytes) = (NodeSet::first_nodes(self.nodes), vec![7; LONG]);
        let hosts = self.hosts.len() as u64;
        let puts = (BURST / hosts).max(ON_THE_WAY).next_multiple_of(ANSWERED);
        let burst_us = |_| {
            let start = Instant::now();
            let before = self.port.signal_count();
            for sent in 1..=puts {
                let is_answered = sent % ANSWERED == 0;
                let signal = is_answered.then_some(ANSWERER);
                put_all(&mut self.port, &all, &bytes, signal);
                self.until(|port| (port.signal_count() - before) * ANSWERED + ON_THE_WAY > sent);
            }
            self.until(|port| port.signal_count() - before == puts / ANSWERED);
            start.elapsed().as_secs_f64() * 1e6
        };
        let us = (0..BURSTS).map(burst_us).fold(f64::INFINITY, f64::min);
        (LONG * self.nodes) as f64 * puts as f64 / us
    }

    /// Measures a Test-Event. It consumes its ticket, so each one needs its own.
    fn test_event_us(&mut self) -> f64 {
        let first = NodeSet::only(NodeId(0));
        fastest(|| {
            let tickets: Vec<Ticket> = (0..TESTS)
                .map(|_| put(&mut self.port, &first, &[7; 8], None))
                .collect();
            let start = Instant::now();
            let signalled = tickets
                .into_iter()
                .filter(|ticket| self.port.test_event(*ticket) == Event::Signalled)
                .count();
            let us = start.elapsed().as_secs_f64() * 1e6;
            assert_eq!(signalled, TESTS, "a PUT is complete when it is said");
            let hosts = self.hosts;
            self.until(|_| hosts.iter().all(|host| host.wires.hub().is_idle()));
            us / TESTS as f64
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bare_pingpong::allowed_cores;
    use crate::network::make as make_network;

    #[test]
    fn hosts_have_their_costs_with_one_node_each_and_with_several() {
        let Ok(network) = make_network(3) else {
            // The tests of `test-network` fail if a machine that must have namespaces lacks them.
            return;
        };
        if allowed_cores().unwrap().len() < 2 {
            return;
        }
        for (hosts, nodes) in [(2, 2), (2, 6), (3, 3)] {
            let costs = udp(&network, hosts, nodes, Duration::from_micros(100)).unwrap();
            // No call of the kernel is as short as the lower bound.
            let least_us = costs.compare_and_write_us.min(costs.transfer_us);
            assert!(least_us > 0.5, "{hosts} hosts: {costs:?}");
            let others = [costs.transfer_mb_per_s, costs.test_event_us];
            assert!(others.iter().all(|figure| *figure > 0.0), "{costs:?}");
        }
    }
}
