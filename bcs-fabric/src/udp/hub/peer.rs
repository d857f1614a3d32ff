//! A process of another machine, and its link.

use super::super::link::{Link, LinkHandler};
use super::super::message::Message;
use super::inbound_bytes::InboundBytes;
use super::operations::Operations;
use crate::shm::{LentMemory, PendingBells, RankMemoryAccess};
use crate::{Event, SourceSpan};
use bcs_core::job::NodeId;
use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

/// A process of another machine.
#[derive(Debug)]
pub(super) struct Peer {
    link: Link,
    nodes: Vec<NodeId>,
    /// Transfers that it has requested.
    serving: BTreeMap<u64, SourceSpan>,
    /// Its messages, from the first PUT on that waits for writes of the sequencer.
    held: VecDeque<Vec<u8>>,
    /// The end of the part of the stream that the peer has acknowledged.
    come: u64,
}

/// The memory of outgoing transfers.
struct TransferSources<'a> {
    serving: &'a BTreeMap<u64, SourceSpan>,
    memory: &'a mut RankMemoryAccess,
    unreadable: Vec<u64>,
}

impl LinkHandler for TransferSources<'_> {
    fn read(&mut self, transfer: u64, offset: u64, bytes: &mut [u8]) -> bool {
        let Some(span) = self.serving.get(&transfer) else {
            return false;
        };
        let is_read = self.memory.read_span(span, offset, bytes).is_ok();
        if !is_read {
            self.unreadable.push(transfer);
        }
        is_read
    }

    fn lend(&mut self, transfer: u64, offset: u64, len: usize) -> Option<LentMemory> {
        let span = self.serving.get(&transfer)?;
        self.memory.lend_source(span, offset, len)
    }

    fn write(&mut self, _: u64, _: u64, _: &[u8]) {}

    fn note_placed(&mut self, _: u64, _: Range<u64>) {}

    fn handle_message(&mut self, _: &[u8]) {}
}

/// The handler of a datagram's contents.
pub(super) struct IncomingHandler<'a> {
    /// The sender.
    pub(super) party: usize,
    pub(super) brought: &'a mut InboundBytes,
    pub(super) operations: &'a mut Operations,
    pub(super) memory: &'a mut RankMemoryAccess,
    pub(super) bells: &'a PendingBells,
    /// The messages of the datagram.
    pub(super) messages: &'a mut Vec<Vec<u8>>,
    /// Transfers that have ended.
    pub(super) over: &'a mut Vec<u64>,
}

impl LinkHandler for IncomingHandler<'_> {
    fn read(&mut self, _: u64, _: u64, _: &mut [u8]) -> bool {
        false
    }

    fn write(&mut self, transfer: u64, offset: u64, bytes: &[u8]) {
        // It drops bytes of a transfer that has ended, or beyond the requested ones.
        let Some(get) = self.operations.transfer(self.party, transfer) else {
            return;
        };
        let len = bytes.len() as u64;
        if get.wants(offset, len) != Some(true) {
            return;
        }
        let event = match self.memory.write_span(&get.to, offset, bytes) {
            Ok(()) => {
                self.brought.copied += get.add(offset..offset + len);
                if !get.is_whole() {
                    return;
                }
                Event::Signalled
            }
            Err(error) => Event::Failed(error),
        };
        self.end(transfer, event);
    }

    fn note_placed(&mut self, transfer: u64, range: Range<u64>) {
        let Some(get) = self.operations.transfer(self.party, transfer) else {
            return;
        };
        let len = range.end - range.start;
        if get.wants(range.start, len) != Some(true) {
            return;
        }
        self.brought.placed += get.add(range);
        if get.is_whole() {
            self.end(transfer, Event::Signalled);
        }
    }

    fn handle_message(&mut self, bytes: &[u8]) {
        self.messages.push(bytes.to_vec());
    }
}

impl IncomingHandler<'_> {
    fn end(&mut self, transfer: u64, event: Event) {
        self.over.push(transfer);
        let bell = self.operations.end(self.party, transfer, event);
        bell.into_iter().for_each(|bell| self.bells.add(bell));
    }
}

impl Peer {
    pub(super) fn new(link: Link, nodes: Vec<NodeId>) -> Self {
        Self {
            link,
            nodes,
            serving: BTreeMap::new(),
            held: VecDeque::new(),
            come: 0,
        }
    }

    pub(super) fn nodes(&self) -> &[NodeId] {
        &self.nodes
    }

    pub(super) fn heard_ns(&self) -> u64 {
        self.link.heard_ns()
    }

    pub(super) fn is_idle(&self) -> bool {
        self.link.is_idle()
    }

    pub(super) fn deadline_ns(&self) -> Option<u64> {
        self.link.deadline_ns()
    }

    pub(super) fn say(&mut self, encoded: &[u8]) -> u64 {
        self.link.send(encoded)
    }

    /// Returns its link, over which all data comes. The handler collects its messages.
    pub(super) fn link(&mut self) -> &mut Link {
        &mut self.link
    }

    /// Returns the end of the acknowledged part of the stream, if it has moved.
    pub(super) fn take_acknowledged(&mut self) -> Option<u64> {
        let come = self.link.acknowledged_to();
        let before = std::mem::replace(&mut self.come, come);
        (come > before).then_some(come)
    }

    /// Returns whether a message of it waits.
    pub(super) fn holds(&self) -> bool {
        !self.held.is_empty()
    }

    pub(super) fn hold(&mut self, message: Vec<u8>) {
        self.held.push_back(message);
    }

    pub(super) fn hold_again(&mut self, message: Vec<u8>) {
        self.held.push_front(message);
    }

    pub(super) fn take_held(&mut self) -> Option<Vec<u8>> {
        self.held.pop_front()
    }

    /// Records its request for these bytes.
    pub(super) fn serve(&mut self, transfer: u64, span: SourceSpan) {
        self.serving.insert(transfer, span);
        self.link.transfer(transfer, 0..span.len);
    }

    /// Records that it wants no more of them.
    pub(super) fn served(&mut self, transfer: u64) {
        self.serving.remove(&transfer);
    }

    pub(super) fn transmit(
        &mut self,
        now_ns: u64,
        memory: &mut RankMemoryAccess,
        scratch: &mut Vec<u8>,
        datagrams: &mut Vec<u8>,
        may_lend: bool,
    ) -> Option<Option<LentMemory>> {
        let mut sources = TransferSources {
            serving: &self.serving,
            memory,
            unreadable: Vec::new(),
        };
        let written = match may_lend {
            true => self.link.transmit_lent(now_ns, &mut sources, datagrams),
            false => {
                let is_written = self.link.transmit(now_ns, &mut sources, datagrams);
                is_written.then_some(None)
            }
        };
        for transfer in sources.unreadable {
            self.serving.remove(&transfer);
            Message::CannotRead { transfer }.encode(&[], scratch);
            self.link.send(scratch);
            scratch.clear();
        }
        written
    }
}
