//! Hubs joined by a network in virtual time.

use super::datagram_network::{DatagramFaults, DatagramNetwork};
use super::forgery_injector::ForgeryInjector;
use super::hub::{Hub, HubConfig};
use super::link::{DatagramRefusal, LinkSettings};
use super::port::UdpPort;
use crate::Variable;
use crate::shm::{RankMemoryAccess, Segment, Sequencer, ShmPort, WriteLog};
use bcs_core::job::{NicThreadId, NodeId, Placement};
use bcs_core::memory::{MapError, NicMemory};
use bcs_core::wake::MachinePage;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// A process of the cluster that hosts NICs.
#[derive(Clone, Debug)]
pub struct ClusterProcess {
    /// Its nodes.
    pub nodes: Vec<NodeId>,
    /// Its hub.
    pub hub: Hub,
    /// The segment of its machine.
    pub segment: Segment,
    /// The page of its machine.
    pub page: MachinePage,
}

impl ClusterProcess {
    /// Makes the port of a NIC thread of the process; `memory` reaches the ranks of its machine.
    #[must_use]
    pub fn port(&self, node: NodeId, thread: NicThreadId, memory: RankMemoryAccess) -> UdpPort {
        let (segment, bells) = (self.segment.clone(), self.hub.bells());
        let near = ShmPort::new(segment, bells, memory, node, thread);
        UdpPort::new(near, self.hub.clone(), Some((node, thread)))
    }

    /// Makes the port of the Strobe Sender, if it is in this process.
    #[must_use]
    pub fn strobe_sender(&self, memory: RankMemoryAccess) -> UdpPort {
        let (segment, bells) = (self.segment.clone(), self.hub.bells());
        let near = ShmPort::strobe_sender(segment, bells, memory);
        UdpPort::new(near, self.hub.clone(), None)
    }
}

/// A cluster of processes in virtual time.
#[derive(Debug)]
pub struct UdpCluster {
    parties: Vec<ClusterProcess>,
    sequencer: Sequencer,
    wire: DatagramNetwork,
    /// Number of datagrams that have come to each process.
    heard: Vec<u64>,
    siege: Option<ForgeryInjector>,
    now_ns: u64,
}

impl UdpCluster {
    /// Makes a cluster of machines with processes that have these nodes. Each process forwards to
    /// `fan_out` others. `nic_memory` is that of all ranks.
    ///
    /// # Errors
    /// As [`MapError`] describes.
    pub fn new(
        placement: &Placement,
        machines: &[Vec<Vec<NodeId>>],
        fan_out: usize,
        nic_memory: &Arc<Vec<Option<NicMemory>>>,
        faults: DatagramFaults,
        seed: u64,
    ) -> Result<Self, MapError> {
        let (nodes, ranks) = (placement.nodes(), placement.ranks());
        let ledger = WriteLog::default();
        let all = machines.concat();
        let has_first = |of: &Vec<NodeId>| of.contains(&NodeId(0));
        let with_first = machines
            .iter()
            .find(|machine| machine.iter().any(has_first));
        let with_first = with_first.expect("some machine has node 0");
        let is_beside = |of: &Vec<NodeId>| with_first.contains(of) && !has_first(of);
        let beside_sequencer: Vec<usize> = (0..all.len())
            .filter(|&party| is_beside(&all[party]))
            .collect();
        let of_machine = |machine: &Vec<Vec<NodeId>>| machine.concat().into_iter().collect();
        let mut parties: Vec<ClusterProcess> = Vec::new();
        for machine in machines {
            let segment = Segment::private(nodes, ranks)?;
            let page = MachinePage::private(nodes, 2)?;
            for of in machine {
                let config = HubConfig {
                    placement: placement.clone(),
                    parties: all.clone(),
                    me: parties.len(),
                    machine: of_machine(machine),
                    machines: machines.iter().map(of_machine).collect(),
                    fan_out,
                    beside_sequencer: beside_sequencer.clone(),
                    segment: segment.clone(),
                    page: page.clone(),
                    memory: RankMemoryAccess::new(segment.clone(), nic_memory.clone()),
                    ledger: of.contains(&NodeId(0)).then(|| ledger.clone()),
                    link: LinkSettings::default(),
                    paths: Vec::new(),
                };
                parties.push(ClusterProcess {
                    nodes: of.clone(),
                    hub: Hub::new(config, 0),
                    segment: segment.clone(),
                    page: page.clone(),
                });
            }
        }
        let first = parties.iter().find(|one| one.nodes.contains(&NodeId(0)));
        let first = first.expect("some process has node 0");
        let sequencer = Sequencer::new(first.segment.clone(), first.hub.bells());
        Ok(Self {
            sequencer: sequencer.with_ledger(Some(ledger)),
            heard: vec![0; parties.len()],
            parties,
            wire: DatagramNetwork::new(faults, seed),
            siege: None,
            now_ns: 0,
        })
    }

    /// Adds attackers, who send `each` forged datagrams with each of the job, by seed.
    #[must_use]
    pub fn with_forgeries(mut self, seed: u64, each: usize) -> Self {
        let parties = self.parties.iter();
        let parties: Vec<_> = parties.map(|one| (one.nodes[0], one.hub.clone())).collect();
        self.siege = Some(ForgeryInjector::new(&parties, seed, each));
        self
    }

    /// Returns the attackers, if there are any.
    #[must_use]
    pub fn forgery_injector(&self) -> Option<&ForgeryInjector> {
        self.siege.as_ref()
    }

    /// Returns the processes.
    #[must_use]
    pub fn parties(&self) -> &[ClusterProcess] {
        &self.parties
    }

    /// Returns the process of a node.
    ///
    /// # Panics
    /// When there is no such node.
    #[must_use]
    pub fn party_of(&self, node: NodeId) -> &ClusterProcess {
        let mut parties = self.parties.iter();
        let party = parties.find(|party| party.nodes.contains(&node));
        party.expect("a node of the cluster")
    }

    /// Returns the virtual time in nanoseconds.
    #[must_use]
    pub fn now_ns(&self) -> u64 {
        self.now_ns
    }

    /// Returns the network.
    #[must_use]
    pub fn wire(&self) -> &DatagramNetwork {
        &self.wire
    }

    /// Returns how many datagrams have come to a process.
    #[must_use]
    pub fn received_datagrams(&self, party: usize) -> u64 {
        self.heard[party]
    }

    /// Returns how many evaluations of waiting Compare-And-Writes came out false.
    #[must_use]
    pub fn retries(&self) -> u64 {
        self.sequencer.retries()
    }

    /// Returns a global variable of a node, as the node has it.
    #[must_use]
    pub fn load(&self, node: NodeId, variable: Variable) -> u64 {
        let segment = &self.party_of(node).segment;
        let word = segment.variable(node, variable.index());
        word.load(Ordering::Acquire)
    }

    /// Returns the number of transfers between machines whose end is not known to those who began
    /// them. With `gets`, it counts GETs, too.
    #[must_use]
    pub fn in_flight(&self, gets: bool) -> usize {
        let hubs = self.parties.iter();
        let hubs = hubs.map(|party| party.hub.in_flight(gets));
        hubs.sum()
    }

    /// Decides requests, and sends what is to be sent. Returns whether there was anything.
    pub fn settle(&mut self) -> bool {
        let sent = self.wire.sent();
        let mut decided = false;
        while self.sequencer.poll() {
            decided = true;
        }
        let mut datagram = Vec::new();
        for (from, party) in self.parties.iter().enumerate() {
            party.hub.settle(self.now_ns);
            for to in party.hub.linked() {
                while party.hub.transmit(to, self.now_ns, &mut datagram) {
                    if let Some(siege) = &mut self.siege {
                        siege.send(from, to, &mut datagram);
                    }
                    self.wire.send(self.now_ns, from, to, &datagram);
                    datagram.clear();
                }
            }
        }
        decided || self.wire.sent() > sent
    }

    /// Returns the time of the next event, if no caller does anything before.
    #[must_use]
    pub fn next_ns(&self) -> Option<u64> {
        let hubs = self.parties.iter();
        let deadlines = hubs.filter_map(|party| party.hub.deadline_ns());
        deadlines.chain(self.wire.next_ns()).min()
    }

    /// Lets everything happen that is due until `to_ns`.
    ///
    /// # Panics
    /// When a hub refuses what another one has sent, or receives an invalid message.
    pub fn advance(&mut self, to_ns: u64) {
        self.settle();
        while let Some(next_ns) = self.next_ns().filter(|&next_ns| next_ns <= to_ns) {
            self.now_ns = self.now_ns.max(next_ns);
            while let Some((from, to, mut datagram)) = self.wire.take(self.now_ns) {
                self.heard[to] += 1;
                let hub = &self.parties[to].hub;
                if let Some(siege) = &mut self.siege {
                    siege.receive(to, &mut datagram, self.now_ns);
                } else {
                    let taken = hub.receive(from, &datagram, self.now_ns);
                    let is_well = matches!(taken, Ok(()) | Err(DatagramRefusal::Repeated));
                    assert!(is_well, "{taken:?}");
                }
                let broken = hub.take_broken();
                assert!(broken.is_empty(), "{broken:?}");
            }
            self.settle();
        }
        self.now_ns = self.now_ns.max(to_ns);
    }

    /// Lets time pass until nothing is in flight. Returns false if this takes longer than
    /// `within_ns`.
    pub fn run_until_idle(&mut self, within_ns: u64) -> bool {
        let end_ns = self.now_ns + within_ns;
        loop {
            self.advance(self.now_ns);
            let is_idle = self.parties.iter().all(|party| party.hub.is_idle());
            if is_idle && self.wire.is_empty() {
                return true;
            }
            match self.next_ns().filter(|&next_ns| next_ns <= end_ns) {
                None => return false,
                Some(next_ns) => self.advance(next_ns),
            }
        }
    }
}
