//! Operations that are under way, by ticket.

use crate::{DestinationSpan, Event, FabricError};
use bcs_core::wake::machine_page::BellId;
use rangemap::RangeSet;
use std::collections::HashMap;
use std::ops::Range;

/// Tickets from here on are a hub's.
pub(in super::super) const FIRST_TICKET: u64 = 1 << 32;

/// Transfers of so many bytes are long: to copy fewer takes no longer than to look what comes next.
const LONG_TRANSFER_BYTES: u64 = 8 * 1024;

#[derive(Debug)]
enum PortOperation {
    /// A PUT: what is to have come, by party.
    Put(PendingPut),
    Get(PendingGet),
    Fetch(PendingFetch),
    /// The port's Compare-And-Write.
    Compare(usize),
    /// It is decided, and is to be told when all nodes of the machine know of so many writes.
    Decided(bool, u64),
    Done(Event),
}

/// A PUT that is under way.
#[derive(Debug)]
struct PendingPut {
    /// Where the streams ended with it that have not come so far, by party.
    ends: Vec<(usize, u64)>,
    bell: BellId,
}

/// Bytes that come as a transfer.
#[derive(Debug)]
pub(super) struct PendingGet {
    pub(super) to: DestinationSpan,
    bell: BellId,
    /// Who sends it.
    party: usize,
    len: u64,
    come: RangeSet<u64>,
    bytes: u64,
    /// None of its memory is lent to the kernel any more.
    is_kept: bool,
}

impl PendingGet {
    /// Whether any of these bytes has not come; `None` if there are none such.
    pub(super) fn wants(&self, offset: u64, len: u64) -> Option<bool> {
        let end = offset.checked_add(len).filter(|&end| end <= self.len)?;
        Some(len > 0 && self.come.gaps(&(offset..end)).next().is_some())
    }

    /// How many bytes from there on may be lent to the kernel: none of them has come, and no more than so many.
    pub(super) fn may_lend(&self, range: Range<u64>) -> u64 {
        let range = range.start..range.end.min(self.len);
        if self.is_kept || range.is_empty() {
            return 0;
        }
        let gap = self.come.gaps(&range).next();
        gap.filter(|gap| gap.start == range.start)
            .map_or(0, |gap| gap.end - gap.start)
    }

    /// From now on none of its memory is lent.
    pub(super) fn stop_lending(&mut self) {
        self.is_kept = true;
    }

    /// These have come. Returns how many of them had not before.
    pub(super) fn add(&mut self, range: Range<u64>) -> u64 {
        let gaps = self.come.gaps(&range);
        let new = gaps.map(|gap| gap.end - gap.start).sum();
        self.bytes += new;
        self.come.insert(range);
        new
    }

    /// Whether all have come.
    pub(super) fn is_whole(&self) -> bool {
        self.bytes == self.len
    }
}

/// Bytes that come in messages.
#[derive(Debug)]
struct PendingFetch {
    into: Vec<u8>,
    filled: usize,
    bell: BellId,
    event: Event,
}

#[derive(Debug)]
pub(super) struct Operations {
    next: u64,
    all: HashMap<u64, PortOperation>,
    /// How many transfers are under way that are [long](LONG_TRANSFER_BYTES).
    long: usize,
}

impl Default for Operations {
    fn default() -> Self {
        Self {
            next: FIRST_TICKET,
            all: HashMap::new(),
            long: 0,
        }
    }
}

impl Operations {
    fn add(&mut self, operation: PortOperation) -> u64 {
        let ticket = self.next;
        self.next += 1;
        self.all.insert(ticket, operation);
        ticket
    }

    /// Those that move bytes and have not ended, with GETs or without.
    pub(super) fn in_flight(&self, gets: bool) -> usize {
        let moves = |operation: &&PortOperation| match operation {
            PortOperation::Put(_) => true,
            PortOperation::Get(_) => gets,
            PortOperation::Fetch(fetch) => fetch.event == Event::Pending,
            PortOperation::Compare(_) | PortOperation::Decided(..) | PortOperation::Done(_) => {
                false
            }
        };
        self.all.values().filter(moves).count()
    }

    /// A PUT that is complete.
    pub(super) fn add_completed_put(&mut self) -> u64 {
        self.add(PortOperation::Done(Event::Signalled))
    }

    pub(super) fn put(&mut self, ends: Vec<(usize, u64)>, bell: BellId) -> u64 {
        if ends.is_empty() {
            return self.add_completed_put();
        }
        self.add(PortOperation::Put(PendingPut { ends, bell }))
    }

    /// A party has said what has come to it. Gives the bells of those whose PUTs are complete by that.
    pub(super) fn complete_puts(&mut self, party: usize, end: u64, bells: &mut dyn FnMut(BellId)) {
        for operation in self.all.values_mut() {
            let PortOperation::Put(put) = operation else {
                continue;
            };
            let before = put.ends.len();
            put.ends.retain(|&(of, wanted)| of != party || wanted > end);
            if put.ends.is_empty() && before > 0 {
                bells(put.bell);
                *operation = PortOperation::Done(Event::Signalled);
            }
        }
    }

    /// A GET that is over as soon as it is begun.
    pub(super) fn add_ended_get(&mut self, event: Event) -> u64 {
        self.add(PortOperation::Done(event))
    }

    pub(super) fn get(&mut self, party: usize, len: u64, to: DestinationSpan, bell: BellId) -> u64 {
        if len == 0 {
            return self.add(PortOperation::Done(Event::Signalled));
        }
        self.long += usize::from(len >= LONG_TRANSFER_BYTES);
        self.add(PortOperation::Get(PendingGet {
            to,
            bell,
            party,
            len,
            come: RangeSet::new(),
            bytes: 0,
            is_kept: false,
        }))
    }

    /// Whether transfers are under way of which it is worth the while to look what comes next.
    pub(super) fn has_long(&self) -> bool {
        self.long > 0
    }

    pub(super) fn fetch(&mut self, into: Vec<u8>, bell: BellId) -> u64 {
        let event = if into.is_empty() {
            Event::Signalled
        } else {
            Event::Pending
        };
        self.add(PortOperation::Fetch(PendingFetch {
            into,
            filled: 0,
            bell,
            event,
        }))
    }

    pub(super) fn compare(&mut self, port: usize) -> u64 {
        self.add(PortOperation::Compare(port))
    }

    /// The transfer of this number, if it is under way and this party sends it.
    pub(super) fn transfer(&mut self, party: usize, ticket: u64) -> Option<&mut PendingGet> {
        match self.all.get_mut(&ticket) {
            Some(PortOperation::Get(get)) if get.party == party => Some(get),
            _ => None,
        }
    }

    /// A GET is over. Returns the bell of whose it was.
    pub(super) fn end(&mut self, party: usize, ticket: u64, event: Event) -> Option<BellId> {
        let PendingGet { bell, len, .. } = *self.transfer(party, ticket)?;
        self.long -= usize::from(len >= LONG_TRANSFER_BYTES);
        self.all.insert(ticket, PortOperation::Done(event));
        Some(bell)
    }

    /// The next bytes of a fetch have come. Returns whose it is, if that was all; `None` if they are not those of any.
    pub(super) fn fill(&mut self, ticket: u64, bytes: &[u8]) -> Option<Option<BellId>> {
        let Some(PortOperation::Fetch(fetch)) = self.all.get_mut(&ticket) else {
            return None;
        };
        let end = fetch.filled.checked_add(bytes.len())?;
        fetch
            .into
            .get_mut(fetch.filled..end)?
            .copy_from_slice(bytes);
        fetch.filled = end;
        let is_all = end == fetch.into.len();
        if is_all {
            fetch.event = Event::Signalled;
        }
        Some(is_all.then_some(fetch.bell))
    }

    /// A fetch has failed. Returns whose it is.
    pub(super) fn fail_fetch(&mut self, ticket: u64) -> Option<BellId> {
        let Some(PortOperation::Fetch(fetch)) = self.all.get_mut(&ticket) else {
            return None;
        };
        fetch.event = Event::Failed(FabricError::SourceMemory);
        Some(fetch.bell)
    }

    /// A port's Compare-And-Write is decided. False if it has none.
    pub(super) fn decide(&mut self, port: usize, holds: bool, told: u64) -> bool {
        let mut all = self.all.values_mut();
        let asked = all.find(|it| matches!(it, PortOperation::Compare(of) if *of == port));
        let is_asked = asked.is_some();
        if let Some(asked) = asked {
            *asked = PortOperation::Decided(holds, told);
        }
        is_asked
    }

    /// What has become of a ticket; `known_writes` says of how many writes of the sequencer all nodes of the machine know.
    pub(super) fn test(&mut self, ticket: u64, told: u64) -> Event {
        let event = match self.all.get(&ticket) {
            Some(PortOperation::Done(event)) => *event,
            Some(PortOperation::Decided(holds, writes)) if told >= *writes => {
                Event::Verdict(*holds)
            }
            // Its buffer is asked for after this.
            Some(PortOperation::Fetch(fetch)) => return fetch.event,
            Some(_) | None => return Event::Pending,
        };
        self.all.remove(&ticket);
        event
    }

    pub(super) fn fetched(&mut self, ticket: u64) -> Vec<u8> {
        match self.all.remove(&ticket) {
            Some(PortOperation::Fetch(fetch)) => fetch.into,
            _ => panic!("a fetch is asked for once"),
        }
    }
}
