//! Hubs joined by a network in virtual time.

use super::hub::{Hub, HubConfig};
use super::link::{LinkSettings, Refused};
use super::wire::{Wire, WireFaults};
use crate::fabric::shm::{Bells, Ledger, NodeMemory, Segment, Sequencer};
use crate::job::{NodeId, NodeSet, Placement};
use crate::memory::{MapError, NicMemory};
use crate::wake::MachinePage;
use std::sync::Arc;

/// A machine of the cluster.
#[derive(Clone, Debug)]
pub struct Machine {
    /// The hub of its one process.
    pub hub: Hub,
    /// Its segment.
    pub segment: Segment,
    /// Its page.
    pub page: MachinePage,
}

/// The cluster.
#[derive(Debug)]
pub struct Cluster {
    machines: Vec<Machine>,
    sequencer: Sequencer,
    wire: Wire,
    now_ns: u64,
}

impl Cluster {
    /// Machines with these nodes, each with one process. `nic_memory` is that of all ranks.
    ///
    /// # Errors
    /// As [`MapError`] says.
    pub fn new(
        placement: &Placement,
        machines: &[Vec<NodeId>],
        nic_memory: &Arc<Vec<Option<NicMemory>>>,
        faults: WireFaults,
        seed: u64,
    ) -> Result<Self, MapError> {
        let (nodes, ranks) = (placement.nodes(), placement.ranks());
        let ledger = Ledger::default();
        let make = |me: usize| -> Result<Machine, MapError> {
            let segment = Segment::private(nodes, ranks)?;
            let page = MachinePage::private(nodes, 2)?;
            let here: NodeSet = machines[me].iter().copied().collect();
            let hub = Hub::new(
                HubConfig {
                    placement: placement.clone(),
                    parties: machines.to_vec(),
                    me,
                    machine: here,
                    segment: segment.clone(),
                    page: page.clone(),
                    memory: NodeMemory::new(segment.clone(), nic_memory.clone()),
                    ledger: here.contains(NodeId(0)).then(|| ledger.clone()),
                    link: LinkSettings::default(),
                    paths: Vec::new(),
                },
                0,
            );
            Ok(Machine { hub, segment, page })
        };
        let all: Vec<Machine> = (0..machines.len()).map(make).collect::<Result<_, _>>()?;
        let first = machines.iter().position(|of| of.contains(&NodeId(0)));
        let first = &all[first.expect("some machine has node 0")];
        let sequencer = Sequencer::new(first.segment.clone(), first.hub.bells());
        Ok(Self {
            sequencer: sequencer.with_ledger(Some(ledger)),
            machines: all,
            wire: Wire::new(faults, seed),
            now_ns: 0,
        })
    }

    /// The machines.
    #[must_use]
    pub fn machines(&self) -> &[Machine] {
        &self.machines
    }

    /// The virtual time in nanoseconds.
    #[must_use]
    pub fn now_ns(&self) -> u64 {
        self.now_ns
    }

    /// The bells of the machine with the sequencer, and of the others.
    #[must_use]
    pub fn bells(&self) -> Vec<Bells> {
        let hubs = self.machines.iter();
        hubs.map(|machine| machine.hub.bells()).collect()
    }

    /// Decides what is asked, and sends what is to be sent.
    fn settle(&mut self) {
        while self.sequencer.poll() {}
        let mut datagram = Vec::new();
        for (from, machine) in self.machines.iter().enumerate() {
            machine.hub.settle(self.now_ns);
            for to in machine.hub.linked() {
                while machine.hub.transmit(to, self.now_ns, &mut datagram) {
                    self.wire.send(self.now_ns, from, to, &datagram);
                }
            }
        }
    }

    /// When something happens next, if nobody does anything.
    #[must_use]
    pub fn next_ns(&self) -> Option<u64> {
        let hubs = self.machines.iter();
        let deadlines = hubs.filter_map(|machine| machine.hub.deadline_ns());
        deadlines.chain(self.wire.next_ns()).min()
    }

    /// Lets everything happen that is due until then.
    ///
    /// # Panics
    /// When a hub refuses what another one has sent, or hears nonsense.
    pub fn advance(&mut self, to_ns: u64) {
        self.settle();
        while let Some(next_ns) = self.next_ns().filter(|&next_ns| next_ns <= to_ns) {
            self.now_ns = self.now_ns.max(next_ns);
            while let Some((from, to, datagram)) = self.wire.take(self.now_ns) {
                let hub = &self.machines[to].hub;
                let taken = hub.receive(from, &datagram, self.now_ns);
                let is_well = matches!(taken, Ok(()) | Err(Refused::Repeated));
                assert!(is_well, "{taken:?}");
                let broken = hub.take_broken();
                assert!(broken.is_empty(), "{broken:?}");
            }
            self.settle();
        }
        self.now_ns = self.now_ns.max(to_ns);
    }

    /// Lets time pass until nothing is under way. False if it does not come to that within so long.
    pub fn rest(&mut self, within_ns: u64) -> bool {
        let end_ns = self.now_ns + within_ns;
        loop {
            self.advance(self.now_ns);
            let is_idle = self.machines.iter().all(|machine| machine.hub.is_idle());
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
