//! Handlers of the messages of peers.

use super::super::link::{DatagramRefusal, Link};
use super::super::message::{MAX_PAYLOAD_BYTES, Message, ProtocolViolation, UNREADABLE};
use super::peer::{IncomingHandler, Peer};
use super::state::{BrokenPeer, HubState, members, node_set, thread_of_port};
use crate::shm::RawRequest;
use crate::{Comparison, Event, RankMemory as _, SourceSpan, Variable};
use bcs_core::job::{NicThreadId, NodeId, NodeSet};
use bcs_core::limits::MAX_ENVELOPES_PER_RANK;
use bcs_core::wake::machine_page::BellId;
use std::sync::atomic::Ordering;
use zerocopy::IntoBytes as _;

impl HubState {
    /// Takes what has come over the link of a party by calling `take`.
    pub(super) fn receive(
        &mut self,
        party: usize,
        now_ns: u64,
        take: impl FnOnce(&mut Link, &mut IncomingHandler<'_>) -> Result<(), DatagramRefusal>,
    ) -> Result<(), DatagramRefusal> {
        let Some(Some(peer)) = self.peers.get_mut(party) else {
            return Err(DatagramRefusal::Foreign);
        };
        self.heard_ns = now_ns;
        let (mut messages, mut over) = (Vec::new(), Vec::new());
        let mut arrivals = IncomingHandler {
            party,
            brought: &mut self.brought,
            operations: &mut self.operations,
            memory: &mut self.config.memory,
            bells: &self.bells,
            messages: &mut messages,
            over: &mut over,
        };
        let taken = take(peer.link(), &mut arrivals);
        if let Some(come) = peer.take_acknowledged() {
            let bells = &self.bells;
            let ring = &mut |bell| bells.add(bell);
            self.operations.complete_puts(party, come, ring);
        }
        self.taken += (messages.len() + over.len()) as u64;
        for transfer in over {
            self.send_message(party, &Message::Got { transfer }, &[]);
        }
        for message in messages {
            if let Err(what) = self.take_message(party, message) {
                self.mark_broken(party, what);
            }
        }
        // A message may have come for which others waited.
        self.hear_held();
        taken
    }

    /// Forwards a message, if others need it. If this process needs it, handles it, or keeps it
    /// until those before it were handled.
    fn take_message(&mut self, party: usize, encoded: Vec<u8>) -> Result<(), ProtocolViolation> {
        let (message, bytes) = Message::decode(&encoded)?;
        if !self.pass_on(party, &message, &encoded)? {
            return Ok(());
        }
        let holds = |peers: &[Option<Peer>]| peers[party].as_ref().is_some_and(Peer::holds);
        if holds(&self.peers) || !self.handle_message(party, &message, bytes)? {
            let peer = self.peers[party].as_mut().expect("it has said something");
            peer.hold(encoded);
        }
        Ok(())
    }

    fn mark_broken(&mut self, party: usize, what: ProtocolViolation) {
        let node = self.config.parties[party][0];
        self.broken.push(BrokenPeer { node, what });
    }

    /// Handles messages that waited for a write or a PUT, and those that waited for them.
    fn hear_held(&mut self) {
        let mut goes_on = true;
        while std::mem::take(&mut goes_on) {
            for party in 0..self.peers.len() {
                goes_on |= self.hear_held_of(party);
            }
        }
    }

    /// Does the same for one party. Returns whether it handled any.
    fn hear_held_of(&mut self, party: usize) -> bool {
        let held = |peers: &mut [Option<Peer>]| peers[party].as_mut()?.take_held();
        let mut is_heard = false;
        while let Some(message) = held(&mut self.peers) {
            let heard = Message::decode(&message);
            match heard.and_then(|(message, bytes)| self.handle_message(party, &message, bytes)) {
                Ok(true) => is_heard = true,
                Ok(false) => {
                    let peer = self.peers[party].as_mut().expect("it was there");
                    peer.hold_again(message);
                    break;
                }
                Err(what) => self.mark_broken(party, what),
            }
        }
        is_heard
    }

    /// Handles a message, if the party may send it. Returns false if the message must wait for a
    /// write of the sequencer, or a PUT.
    fn handle_message(
        &mut self,
        party: usize,
        message: &Message<'_>,
        bytes: &[u8],
    ) -> Result<bool, ProtocolViolation> {
        match *message {
            Message::Put { told, .. } if told > self.known_writes() => return Ok(false),
            Message::Put {
                nodes,
                byte,
                signal,
                ..
            } => {
                let places = members(nodes);
                let nodes = places.map(|place| self.our_node(place));
                let nodes: NodeSet = nodes.collect::<Option<_>>().ok_or(NOT_LOCAL_NODE)?;
                self.hear_put(&nodes, byte, signal, bytes)?;
                self.puts.add(party);
            }
            Message::Strobe {
                nodes,
                byte,
                signal,
            } => {
                let ours: NodeSet = self.config.parties[self.config.me]
                    .iter()
                    .copied()
                    .collect();
                let nodes = node_set(nodes, self.config.placement.nodes())?.and(&ours);
                self.hear_put(&nodes, byte, signal, bytes)?;
            }
            Message::Ahead { from, to } => {
                self.hear_outside_slice(party, (NodeId(from), NodeId(to)), bytes)?;
            }
            Message::Carried { rank, slot } => self.hear_eager_bytes(party, (rank, slot), bytes)?,
            Message::Sent { from, to, puts } => {
                let (from, to) = (self.party(from)?, self.party(to)?);
                if to == self.config.me {
                    return Ok(self.puts.has(from, puts));
                }
                self.puts.know(from, to, puts);
            }
            Message::Await { from, puts, .. } => {
                let from = self.party(from)?;
                return Ok(self.puts.has(from, puts));
            }
            Message::Stored {
                nodes,
                variable,
                value,
                told,
                reports,
            } => {
                let nodes = node_set(nodes, self.config.placement.nodes())?;
                self.hear_stored(&nodes, variable, (value, told), reports)?;
            }
            Message::Compare { port, request } => {
                let asker = self.party_of_port(port)?;
                let port = usize::try_from(port).map_err(|_| NO_PORT)?;
                let request = RawRequest {
                    variable: self.variable(request.variable)?,
                    comparison: Comparison::from_code(request.comparison.into()),
                    operand: request.operand,
                    write: match request.write {
                        None => None,
                        Some((variable, value)) => Some((self.variable(variable)?, value)),
                    },
                    wait: request.wait,
                    set: node_set(request.nodes, self.config.placement.nodes())?,
                };
                if !self.config.segment.post_request(port, &request) {
                    return Err(ProtocolViolation(
                        "a port asks for two Compare-And-Writes at once",
                    ));
                }
                self.deciding.push((asker, port));
                self.bells.add(BellId::STROBE_SENDER);
            }
            Message::Written {
                nodes,
                variable,
                value,
            } => self.hear_written(nodes, variable, value)?,
            Message::Verdict { port, holds, told } => {
                let port = usize::try_from(port).map_err(|_| NO_PORT)?;
                if !self.operations.decide(port, holds, told) {
                    return Err(ProtocolViolation("a verdict that nobody has asked for"));
                }
                let (node, thread) = thread_of_port(port);
                self.bells.add(BellId::for_nic_thread(node, thread));
            }
            Message::Get { transfer, span } => self.hear_get(party, transfer, (&span).into())?,
            Message::Got { transfer } => {
                let peer = self.peers[party].as_mut().expect("it has said something");
                peer.served(transfer);
            }
            Message::CannotRead { transfer } => {
                let bell = self
                    .operations
                    .end(party, transfer, Event::Failed(UNREADABLE));
                bell.into_iter().for_each(|bell| self.bells.add(bell));
            }
            Message::Fetch {
                ticket,
                rank,
                address,
                len,
            } => self.hear_fetch(party, ticket, (rank, address, len))?,
            Message::Fetched { ticket } => {
                let whose = self.operations.fill(ticket, bytes);
                let whose = whose.ok_or(ProtocolViolation("it sends what nobody has fetched"))?;
                whose.into_iter().for_each(|bell| self.bells.add(bell));
            }
            Message::CannotFetch { ticket } => {
                let whose = self.operations.fail_fetch(ticket);
                let bell = whose.ok_or(ProtocolViolation("it fails what nobody has fetched"))?;
                self.bells.add(bell);
            }
            Message::Wanted {
                demanded,
                slice,
                since_ns,
            } => self.hear_wanted(demanded, slice, since_ns),
            Message::Hunger { is_hungry } => self.hear_blocked(party, is_hungry),
        }
        Ok(true)
    }

    pub(super) fn party(&self, number: u32) -> Result<usize, ProtocolViolation> {
        let number = usize::try_from(number).ok();
        number
            .filter(|&party| party < self.peers.len())
            .ok_or(ProtocolViolation("it names a process that there is not"))
    }

    fn variable(&self, index: u32) -> Result<usize, ProtocolViolation> {
        let index = usize::try_from(index).ok();
        index
            .filter(|&index| index < Variable::COUNT)
            .ok_or(ProtocolViolation("it names a variable that there is not"))
    }

    /// Returns the party of a port.
    pub(super) fn party_of_port(&self, port: u32) -> Result<usize, ProtocolViolation> {
        let port = usize::try_from(port).ok();
        let node = port.map(|port| port / NicThreadId::COUNT);
        let party = node.and_then(|node| self.party_of_node.get(node));
        party.copied().ok_or(NO_PORT)
    }

    /// Returns a node of this process, by its place among them.
    fn our_node(&self, place: usize) -> Option<NodeId> {
        self.config.parties[self.config.me].get(place).copied()
    }

    fn hear_put(
        &mut self,
        nodes: &NodeSet,
        byte: u64,
        signal: Option<u8>,
        bytes: &[u8],
    ) -> Result<(), ProtocolViolation> {
        let byte = usize::try_from(byte).map_err(|_| OUT_OF_BOUNDS)?;
        let signal = match signal {
            None => None,
            Some(number) => {
                let thread = NicThreadId::ALL.get(usize::from(number));
                Some(*thread.ok_or(ProtocolViolation(
                    "it signals a NIC thread that there is not",
                ))?)
            }
        };
        for node in nodes.iter() {
            if !self.config.segment.put_at_byte(node, byte, bytes) {
                return Err(OUT_OF_BOUNDS);
            }
            if let Some(thread) = signal {
                self.config.segment.signal_thread(node, thread);
                self.bells.add(BellId::for_nic_thread(node, thread));
            }
        }
        Ok(())
    }

    fn hear_outside_slice(
        &mut self,
        party: usize,
        (from, to): (NodeId, NodeId),
        bytes: &[u8],
    ) -> Result<(), ProtocolViolation> {
        if self.party_of_node.get(from.index()) != Some(&party) {
            return Err(ProtocolViolation(
                "it sends ahead for a node that is not its own",
            ));
        }
        if self.party_of_node.get(to.index()) != Some(&self.config.me) {
            return Err(ProtocolViolation(
                "it sends ahead to a node that is not here",
            ));
        }
        let mut words = vec![0_u64; bytes.len() / 8];
        if words.as_bytes().len() != bytes.len() {
            return Err(ProtocolViolation("it sends ahead what is no words"));
        }
        words.as_mut_bytes().copy_from_slice(bytes);
        // A sender that keeps to its credit never reaches this: a descriptor has eight words.
        // Messages about collectives are shorter: two parts of some words for each context and
        // node.
        let ranks = self.config.placement.ranks_of(to).count();
        let most = MAX_ENVELOPES_PER_RANK.saturating_mul(ranks);
        if self.ahead.push(from, to, words) / 16 > most {
            return Err(ProtocolViolation(
                "it sends ahead more than it has credit for",
            ));
        }
        let thread = NicThreadId::BufferReceiver;
        self.config.segment.signal_thread(to, thread);
        self.bells.add(BellId::for_nic_thread(to, thread));
        Ok(())
    }

    fn hear_eager_bytes(
        &mut self,
        party: usize,
        (rank, slot): (u32, u32),
        bytes: &[u8],
    ) -> Result<(), ProtocolViolation> {
        let node = self.config.placement.node_of(rank);
        if node.map(|node| self.party_of_node[node.index()]) != Some(party) {
            return Err(ProtocolViolation(
                "it sends bytes of a rank that is not its own",
            ));
        }
        match self.carried.add((rank, slot), bytes) {
            true => Ok(()),
            false => Err(ProtocolViolation("it sends what is in no payload slot")),
        }
    }

    fn hear_stored(
        &mut self,
        nodes: &NodeSet,
        variable: u32,
        (value, told): (u64, u64),
        reports: bool,
    ) -> Result<(), ProtocolViolation> {
        let variable = self.variable(variable)?;
        let ledger = self.config.ledger.as_ref();
        let ledger = ledger.ok_or(ProtocolViolation(
            "it takes this process for the sequencer's",
        ))?;
        for node in nodes.iter() {
            ledger.update_mirror(&self.config.segment, node, variable, value, told);
        }
        if reports {
            self.config.segment.count_report();
            self.bells.add(BellId::STROBE_SENDER);
        }
        Ok(())
    }

    fn hear_written(
        &mut self,
        nodes: &[u8],
        variable: u32,
        value: u64,
    ) -> Result<(), ProtocolViolation> {
        let set = node_set(nodes, self.config.placement.nodes())?;
        let variable = self.variable(variable)?;
        let ours = self.config.parties[self.config.me].clone();
        self.told += 1;
        for &node in &ours {
            if set.contains(node) {
                let word = self.config.segment.variable(node, variable);
                word.store(value, Ordering::Release);
            }
            let applied = self.config.segment.applied(node);
            applied.store(self.told, Ordering::Release);
        }
        // Processes of the same machine may have a verdict that waits for this.
        for node in self
            .config
            .machine
            .iter()
            .filter(|node| !ours.contains(node))
        {
            let bells = NicThreadId::ALL.map(|thread| BellId::for_nic_thread(node, thread));
            bells.into_iter().for_each(|bell| self.bells.add(bell));
        }
        self.hear_held();
        Ok(())
    }

    fn hear_get(
        &mut self,
        party: usize,
        transfer: u64,
        span: SourceSpan,
    ) -> Result<(), ProtocolViolation> {
        self.check_rank(span.rank)?;
        if span.offset.checked_add(span.len).is_none() {
            return Err(OUT_OF_BOUNDS);
        }
        let peer = self.peers[party].as_mut().expect("it has said something");
        peer.serve(transfer, span);
        Ok(())
    }

    /// Checks that a rank is of this process.
    fn check_rank(&self, rank: u32) -> Result<(), ProtocolViolation> {
        let node = self.config.placement.node_of(rank);
        let party = node.map(|node| self.party_of_node[node.index()]);
        match party {
            Some(party) if party == self.config.me => Ok(()),
            _ => Err(ProtocolViolation(
                "it asks for bytes of a rank that is not here",
            )),
        }
    }

    fn hear_fetch(
        &mut self,
        party: usize,
        ticket: u64,
        (rank, address, len): (u32, u64, u64),
    ) -> Result<(), ProtocolViolation> {
        self.check_rank(rank)?;
        let most = MAX_PAYLOAD_BYTES as u64;
        let mut bytes = Vec::new();
        let mut done = 0;
        while done < len {
            let some = usize::try_from(most.min(len - done)).expect("it is bounded");
            bytes.resize(some, 0);
            let at = address.wrapping_add(done);
            if self.config.memory.read(rank, at, &mut bytes).is_err() {
                self.send_message(party, &Message::CannotFetch { ticket }, &[]);
                break;
            }
            self.send_message(party, &Message::Fetched { ticket }, &bytes);
            done += some as u64;
        }
        Ok(())
    }
}

const NOT_LOCAL_NODE: ProtocolViolation = ProtocolViolation("it puts to a node that is not here");
const NO_PORT: ProtocolViolation = ProtocolViolation("it asks for a port that is not its own");
const OUT_OF_BOUNDS: ProtocolViolation = ProtocolViolation("it names bytes beyond the end");
