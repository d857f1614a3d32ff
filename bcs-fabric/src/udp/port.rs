//! A NIC thread's port in a job on several machines: it reaches nodes of this one by shared memory,
//! and others by links.

use super::hub::{FIRST_TICKET, Hub};
use crate::shm::ShmPort;
use crate::{
    CompareAndWrite, DestinationSpan, Event, GlobalAddress, Port, SourceSpan, Ticket, Variable,
};
use bcs_core::job::{NicThreadId, NodeId, NodeSet};
use bcs_core::wake::machine_page::BellId;

/// The port of a NIC thread, or of the Strobe Sender.
#[derive(Debug)]
pub struct UdpPort {
    near: ShmPort,
    hub: Hub,
    /// The NIC thread; `None` is the Strobe Sender.
    who: Option<(NodeId, NicThreadId)>,
    /// The nodes of other machines. An Xfer-And-Signal to nodes here and elsewhere counts as one to
    /// those elsewhere, for those here have it at once.
    far: NodeSet,
    sequencer_is_here: bool,
}

impl UdpPort {
    /// Extends `near`, the port to nodes of this machine, to all nodes.
    #[must_use]
    pub fn new(near: ShmPort, hub: Hub, who: Option<(NodeId, NicThreadId)>) -> Self {
        Self {
            near,
            who,
            far: hub.other_host_nodes(),
            sequencer_is_here: hub.sequencer_is_here(),
            hub,
        }
    }

    fn bell(&self) -> BellId {
        match self.who {
            Some((node, thread)) => BellId::for_nic_thread(node, thread),
            None => BellId::STROBE_SENDER,
        }
    }

    fn who(&self) -> (NodeId, NicThreadId) {
        self.who
            .expect("the Strobe Sender has no global memory and moves no data")
    }
}

impl Port for UdpPort {
    fn nodes(&self) -> usize {
        self.near.nodes()
    }

    fn alive(&self) -> NodeSet {
        // The death of a node ends the job: its survivors are killed.
        self.near.alive()
    }

    fn xfer_and_signal(
        &mut self,
        set: &NodeSet,
        at: GlobalAddress,
        bytes: &[u8],
        signal: Option<NicThreadId>,
    ) -> Ticket {
        let far = set.and(&self.far);
        if far.is_empty() {
            return self.near.xfer_and_signal(set, at, bytes, signal);
        }
        let mut near = *set;
        far.iter().for_each(|node| near.remove(node));
        let _done = self.near.xfer_and_signal(&near, at, bytes, signal);
        match self.who {
            Some(_) => self.hub.put(&far, at, bytes, signal, self.bell()),
            None => self.hub.strobe(&far, at, bytes, signal),
        }
    }

    fn get(&mut self, from: SourceSpan, to: DestinationSpan) -> Ticket {
        match self.hub.party_of(from.rank) {
            None => self.near.get(from, to),
            Some(party) => self.hub.get(party, &from, to, self.bell()),
        }
    }

    fn fetch(&mut self, rank: u32, address: u64, into: Vec<u8>) -> Ticket {
        match self.hub.party_of(rank) {
            None => self.near.fetch(rank, address, into),
            Some(party) => self.hub.fetch(party, (rank, address), into, self.bell()),
        }
    }

    fn take_fetched(&mut self, ticket: Ticket) -> Vec<u8> {
        match ticket {
            Ticket(FIRST_TICKET..) => self.hub.fetched(ticket),
            _ => self.near.take_fetched(ticket),
        }
    }

    fn compare_and_write(&mut self, what: &CompareAndWrite) -> Ticket {
        match self.who {
            Some(who) if !self.sequencer_is_here => self.hub.compare(what, who),
            _ => self.near.compare_and_write(what),
        }
    }

    fn test_event(&mut self, ticket: Ticket) -> Event {
        match ticket {
            Ticket(FIRST_TICKET..) => self.hub.test(ticket),
            _ => self.near.test_event(ticket),
        }
    }

    fn signal_count(&self) -> u64 {
        self.near.signal_count()
    }

    fn load(&self, variable: Variable) -> u64 {
        self.near.load(variable)
    }

    fn store(&mut self, variable: Variable, value: u64) {
        if self.sequencer_is_here {
            return self.near.store(variable, value);
        }
        let node = self.who().0;
        self.hub.store(node, variable, value, false);
    }

    fn store_and_report(&mut self, variable: Variable, value: u64) {
        if self.sequencer_is_here {
            return self.near.store_and_report(variable, value);
        }
        let node = self.who().0;
        self.hub.store(node, variable, value, true);
    }

    fn read(&self, at: GlobalAddress, bytes: &mut [u8]) {
        self.near.read(at, bytes);
    }

    fn other_host_nodes(&self) -> NodeSet {
        self.far
    }

    fn are_on_different_hosts(&self, one: NodeId, other: NodeId) -> bool {
        self.hub.are_on_different_hosts(one, other)
    }

    fn send_outside_slice(&mut self, node: NodeId, words: &[u64]) {
        self.hub.send_ahead(self.who().0, node, words);
    }

    fn send_eager_bytes(&mut self, node: NodeId, from: SourceSpan) {
        self.hub.carry(node, &from);
    }

    fn receive_outside_slice(&mut self, into: &mut Vec<u64>) -> Option<NodeId> {
        self.hub.take_ahead(self.who().0, into)
    }
}
