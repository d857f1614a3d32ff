//! Operations that are in flight, by ticket.

use crate::{DestinationSpan, Event, FabricError};
use bcs_core::wake::machine_page::BellId;
use rangemap::RangeSet;
use std::collections::HashMap;
use std::ops::Range;

/// The first ticket of a hub. Smaller ones are not a hub's.
pub(in super::super) const FIRST_TICKET: u64 = 1 << 32;

/// A transfer of at least this many bytes is long: to copy a shorter one takes no longer than to
/// peek at what comes next.
const LONG_TRANSFER_BYTES: u64 = 8 * 1024;

#[derive(Debug)]
enum PortOperation {
    /// A PUT, and by party the part of the stream that has to arrive.
    Put(PendingPut),
    Get(PendingGet),
    Fetch(PendingFetch),
    /// The port's Compare-And-Write.
    Compare(usize),
    /// A decided one. The port gets the verdict when all nodes of the machine know of that many
    /// writes.
    Decided(bool, u64),
    Done(Event),
}

/// A PUT that is in flight.
#[derive(Debug)]
struct PendingPut {
    /// The end of the stream with the PUT, by party that has not acknowledged it.
    ends: Vec<(usize, u64)>,
    bell: BellId,
}

/// A GET whose bytes come as a transfer.
#[derive(Debug)]
pub(super) struct PendingGet {
    pub(super) to: DestinationSpan,
    bell: BellId,
    /// The party that sends it.
    party: usize,
    len: u64,
    come: RangeSet<u64>,
    bytes: u64,
    /// Whether none of its memory is lent to the kernel any more.
    is_kept: bool,
}

impl PendingGet {
    /// Returns whether any of these bytes has not come, or `None` if they are not part of the
    /// transfer.
    pub(super) fn wants(&self, offset: u64, len: u64) -> Option<bool> {
        let end = offset.checked_add(len).filter(|&end| end <= self.len)?;
        Some(len > 0 && self.come.gaps(&(offset..end)).next().is_some())
    }

    /// Returns how many bytes of the range, from its start, may be lent to the kernel: none of them
    /// has come.
    pub(super) fn may_lend(&self, range: Range<u64>) -> u64 {
        let range = range.start..range.end.min(self.len);
        if self.is_kept || range.is_empty() {
            return 0;
        }
        let gap = self.come.gaps(&range).next();
        gap.filter(|gap| gap.start == range.start)
            .map_or(0, |gap| gap.end - gap.start)
    }

    /// Stops lending its memory.
    pub(super) fn stop_lending(&mut self) {
        self.is_kept = true;
    }

    /// Records that these have come. Returns how many of them had not come before.
    pub(super) fn add(&mut self, range: Range<u64>) -> u64 {
        let gaps = self.come.gaps(&range);
        let new = gaps.map(|gap| gap.end - gap.start).sum();
        self.bytes += new;
        self.come.insert(range);
        new
    }

    /// Returns whether all have come.
    pub(super) fn is_whole(&self) -> bool {
        self.bytes == self.len
    }
}

/// A fetch, whose bytes come in messages.
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
    /// The number of [long](LONG_TRANSFER_BYTES) transfers in flight.
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

    /// Returns the number of operations that move bytes and have not ended. With `gets`, it counts
    /// GETs, too.
    pub(super) fn in_flight(&self, gets: bool) -> usize {
        let moves = |operation: &&PortOperation| match operation {
            PortOperation::Put(_) => true,
            PortOperation::Get(_) => gets,
            // DH fetches operands of updates outside of the slice, as it gets messages.
            PortOperation::Fetch(fetch) => gets && fetch.event == Event::Pending,
            PortOperation::Compare(_) | PortOperation::Decided(..) | PortOperation::Done(_) => {
                false
            }
        };
        self.all.values().filter(moves).count()
    }

    /// Adds a PUT that is complete.
    pub(super) fn add_completed_put(&mut self) -> u64 {
        self.add(PortOperation::Done(Event::Signalled))
    }

    pub(super) fn put(&mut self, ends: Vec<(usize, u64)>, bell: BellId) -> u64 {
        if ends.is_empty() {
            return self.add_completed_put();
        }
        self.add(PortOperation::Put(PendingPut { ends, bell }))
    }

    /// Completes PUTs after a party has acknowledged the stream up to `end`. Passes the bells of
    /// those that are complete now to `bells`.
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

    /// Adds a GET that ends as soon as it begins.
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

    /// Returns whether a long transfer is in flight, for which it pays to peek at what comes next.
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

    /// Returns the transfer of this number, if it is in flight and this party sends it.
    pub(super) fn transfer(&mut self, party: usize, ticket: u64) -> Option<&mut PendingGet> {
        match self.all.get_mut(&ticket) {
            Some(PortOperation::Get(get)) if get.party == party => Some(get),
            _ => None,
        }
    }

    /// Ends a GET. Returns the bell of its NIC thread.
    pub(super) fn end(&mut self, party: usize, ticket: u64, event: Event) -> Option<BellId> {
        let PendingGet { bell, len, .. } = *self.transfer(party, ticket)?;
        self.long -= usize::from(len >= LONG_TRANSFER_BYTES);
        self.all.insert(ticket, PortOperation::Done(event));
        Some(bell)
    }

    /// Adds the next bytes of a fetch. Returns the bell of its NIC thread if that was all; `None`
    /// if the bytes are not those of a fetch.
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

    /// Marks a fetch as failed. Returns the bell of its NIC thread.
    pub(super) fn fail_fetch(&mut self, ticket: u64) -> Option<BellId> {
        let Some(PortOperation::Fetch(fetch)) = self.all.get_mut(&ticket) else {
            return None;
        };
        fetch.event = Event::Failed(FabricError::SourceMemory);
        Some(fetch.bell)
    }

    /// Records the verdict of a port's Compare-And-Write. Returns false if the port has none.
    pub(super) fn decide(&mut self, port: usize, holds: bool, told: u64) -> bool {
        let mut all = self.all.values_mut();
        let asked = all.find(|it| matches!(it, PortOperation::Compare(of) if *of == port));
        let is_asked = asked.is_some();
        if let Some(asked) = asked {
            *asked = PortOperation::Decided(holds, told);
        }
        is_asked
    }

    /// Returns the state of a ticket. `told` is the number of the sequencer's writes of which all
    /// nodes of the machine know.
    pub(super) fn test(&mut self, ticket: u64, told: u64) -> Event {
        let event = match self.all.get(&ticket) {
            Some(PortOperation::Done(event)) => *event,
            Some(PortOperation::Decided(holds, writes)) if told >= *writes => {
                Event::Verdict(*holds)
            }
            // The caller takes its buffer after this.
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

#[cfg(test)]
mod tests {
    use super::*;
    use bcs_core::layout::Location;

    const BELL: BellId = BellId::STROBE_SENDER;

    fn get(operations: &mut Operations, len: u64) -> u64 {
        let to = DestinationSpan {
            rank: 0,
            into: Location::contiguous(4_096),
            offset: 0,
        };
        operations.get(1, len, to, BELL)
    }

    /// Its sender may send any bytes at any time.
    #[test]
    fn a_get_takes_each_of_its_bytes_once_and_no_others() {
        let mut operations = Operations::default();
        let ticket = get(&mut operations, 100);
        assert!(operations.transfer(0, ticket).is_none(), "another party");
        let get = operations.transfer(1, ticket).unwrap();
        assert_eq!(get.wants(0, 100), Some(true));
        assert_eq!((get.wants(0, 101), get.wants(100, 1)), (None, None));
        assert_eq!(
            (get.wants(u64::MAX, 1), get.wants(100, 0)),
            (None, Some(false))
        );
        assert_eq!((get.may_lend(0..200), get.may_lend(100..200)), (100, 0));

        assert_eq!(get.add(10..50), 40);
        assert_eq!(
            (get.wants(10, 40), get.wants(9, 2)),
            (Some(false), Some(true))
        );
        assert_eq!((get.may_lend(0..100), get.may_lend(20..100)), (10, 0));
        assert_eq!(get.may_lend(50..100), 50);
        assert_eq!((get.add(0..60), get.is_whole()), (20, false));
        get.stop_lending();
        assert_eq!(get.may_lend(60..100), 0);
        assert_eq!((get.add(60..100), get.is_whole()), (40, true));
    }

    #[test]
    fn operations_are_in_flight_until_they_have_ended() {
        let mut operations = Operations::default();
        assert_eq!(get(&mut operations, 0), FIRST_TICKET);
        let short = get(&mut operations, LONG_TRANSFER_BYTES - 1);
        assert!(!operations.has_long());
        let long = get(&mut operations, LONG_TRANSFER_BYTES);
        assert!(operations.has_long());
        let put = operations.put(vec![(1, 10), (2, 20)], BELL);
        let fetch = operations.fetch(vec![0; 3], BELL);
        operations.compare(0);
        assert_eq!(
            (operations.in_flight(false), operations.in_flight(true)),
            (1, 4)
        );

        let mut rung = 0;
        for (party, end) in [(1, 9), (1, 10), (2, 10), (1, 30)] {
            operations.complete_puts(party, end, &mut |_| rung += 1);
            assert_eq!((operations.test(put, 0), rung), (Event::Pending, 0));
        }
        operations.complete_puts(2, 20, &mut |_| rung += 1);
        assert_eq!((operations.test(put, 0), rung), (Event::Signalled, 1));

        assert_eq!(operations.fill(short, &[1]), None, "it is no fetch");
        assert_eq!(operations.fill(fetch, &[1, 2]), Some(None));
        assert_eq!(operations.fill(fetch, &[3, 4]), None, "too many bytes");
        assert_eq!(operations.fill(fetch, &[3]), Some(Some(BELL)));
        assert_eq!(operations.test(fetch, 0), Event::Signalled);
        assert_eq!(operations.in_flight(true), 2);
        assert_eq!(operations.fetched(fetch), [1, 2, 3]);

        assert_eq!(operations.end(1, long, Event::Signalled), Some(BELL));
        assert!(!operations.has_long());
        let lost = Event::Failed(FabricError::SourceMemory);
        assert_eq!(operations.end(1, short, lost), Some(BELL));
        assert_eq!(operations.in_flight(true), 0);
        assert_eq!(operations.test(short, 0), lost);
    }

    /// Nodes of the machine may learn of writes later than their port learns of the verdict.
    #[test]
    fn a_verdict_waits_for_the_writes_that_it_has_seen() {
        let mut operations = Operations::default();
        let asked = operations.compare(7);
        assert!(!operations.decide(6, true, 3));
        assert!(operations.decide(7, true, 3));
        assert!(!operations.decide(7, true, 3), "it is decided");
        assert_eq!(operations.test(asked, 2), Event::Pending);
        assert_eq!(operations.test(asked, 3), Event::Verdict(true));
    }
}
