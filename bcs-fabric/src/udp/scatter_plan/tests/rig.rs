//! Two hubs, the network between them, and memory of a rank of each.

use super::super::super::cluster::UdpCluster;
use super::super::super::datagram_filter::{DatagramFilter, RejectedDatagrams};
use super::super::super::datagram_network::{DatagramFaults, DatagramNetwork};
use super::super::super::datagram_source::{CoalescedDatagrams, DatagramSource, ScatterList};
use super::super::super::hub::{Hub, InboundBytes};
use super::super::super::seal::{Crypto, Direction, JobKey, Opener, Seal};
use crate::shm::{DescriptorLocation, Segment};
use crate::{DestinationSpan, Event, SourceSpan, Ticket};
use bcs_core::descriptor::Payload;
use bcs_core::job::{NicThreadId, NodeId, Placement};
use bcs_core::layout::Location;
use bcs_core::limits::FAN_OUT;
use bcs_core::memory::OwnSlot;
use bcs_core::wake::machine_page::BellId;
use std::collections::VecDeque;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::atomic::Ordering;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

/// No process has this number.
const NOBODY: u32 = i32::MAX.cast_unsigned();

/// The most bytes that the kernel joins.
const MOST_JOINED: usize = 60_000;

/// The contents of memory beside buffers, and of buffers before anything comes.
const UNTOUCHED: u8 = 0xA5;

/// Bytes between buffers.
const GAP: usize = 10_000;

/// The time from the first arrival to the next poll, in which more datagrams come.
const LOOK_NS: u64 = 60_000;

/// Bytes of a rank's memory that the tests use.
const MEMORY: usize = 1 << 20;

/// The place of the receiving rank's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Memory {
    /// In a slot that the receiver maps.
    Mapped,
    /// In memory that only the kernel reaches.
    Elsewhere,
}

/// A message that was requested.
#[derive(Debug)]
pub(super) struct Get {
    ticket: Ticket,
    /// Its place in the memory of both ranks.
    at: usize,
    len: usize,
}

impl Get {
    pub(super) fn len(&self) -> usize {
        self.len
    }
}

/// A queue of datagrams that have come, which joins them as the kernel does.
#[derive(Debug, Default)]
struct Queue {
    datagrams: VecDeque<Vec<u8>>,
    /// The place where a rank writes as soon as anything was put into its memory.
    scribbles: Option<usize>,
}

const FROM: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 9);

impl Queue {
    /// Returns how many of the next datagrams are joined, and the piece.
    fn next(&self) -> Option<(usize, CoalescedDatagrams)> {
        let each = self.datagrams.front()?.len();
        let (mut count, mut bytes) = (0, 0);
        for datagram in &self.datagrams {
            if datagram.len() > each || bytes + datagram.len() > MOST_JOINED {
                break;
            }
            (count, bytes) = (count + 1, bytes + datagram.len());
            if datagram.len() < each {
                break;
            }
        }
        let from = FROM;
        Some((count, CoalescedDatagrams { from, bytes, each }))
    }
}

impl DatagramSource for Queue {
    fn receive(
        &mut self,
        pieces: usize,
        each: &mut dyn FnMut(SocketAddr, &mut [u8]),
    ) -> io::Result<usize> {
        let mut all = 0;
        for _ in 0..pieces.min(16) {
            let Some((count, _)) = self.next() else {
                break;
            };
            let taken = self.datagrams.drain(..count);
            taken.for_each(|mut datagram| each(FROM, &mut datagram));
            all += count;
        }
        Ok(all)
    }

    fn peek(&mut self, front: &mut [u8]) -> io::Result<Option<CoalescedDatagrams>> {
        let Some((count, joined)) = self.next() else {
            return Ok(None);
        };
        let bytes = self.datagrams.iter().take(count).flatten();
        front
            .iter_mut()
            .zip(bytes)
            .for_each(|(to, from)| *to = *from);
        Ok(Some(joined))
    }

    fn scatter(&mut self, places: &ScatterList<'_>) -> io::Result<Option<CoalescedDatagrams>> {
        let Some((count, joined)) = self.next() else {
            return Ok(None);
        };
        let bytes: Vec<u8> = self.datagrams.drain(..count).flatten().collect();
        let mut rest = &bytes[..];
        for place in places.as_slice() {
            let (now, after) = rest.split_at(rest.len().min(place.iov_len));
            // SAFETY: a place of the entrance's or of the test's memory, as long as it says.
            unsafe { std::ptr::copy(now.as_ptr(), place.iov_base.cast(), now.len()) };
            rest = after;
        }
        assert!(rest.is_empty(), "there is a place for each byte");
        if let Some(at) = self.scribbles {
            (0..100_000).for_each(|offset| write(at + offset, 1));
        }
        Ok(Some(joined))
    }
}

/// Writes into a slot that only this test knows.
fn write(address: usize, byte: u8) {
    let start: *mut u8 = std::ptr::with_exposed_provenance_mut(address);
    // SAFETY: it is in such a slot.
    unsafe { start.write(byte) };
}

/// Two hubs with a network between them.
pub(super) struct Rig {
    hubs: [Hub; 2],
    segments: [Segment; 2],
    slots: MutexGuard<'static, [OwnSlot; 2]>,
    seals: [Seal; 2],
    entrances: [DatagramFilter; 2],
    wire: DatagramNetwork,
    /// By hub, the time of its next poll, and the datagrams that have come.
    come: [(u64, Vec<Vec<u8>>); 2],
    now_ns: u64,
    /// The place of the next buffer.
    next: usize,
    /// Whether the receiving rank writes into its first buffer whenever anything was put into its
    /// memory.
    pub(super) scribbles: bool,
}

impl Rig {
    pub(super) fn new(seed: u64, faults: DatagramFaults, crypto: Crypto, memory: Memory) -> Self {
        /// The slots of two ranks. One rig at a time has them, since they are never given back.
        static SLOTS: LazyLock<Mutex<[OwnSlot; 2]>> =
            LazyLock::new(|| Mutex::new([150, 151].map(|place| OwnSlot::make(place).unwrap())));
        let placement = Placement::block(2, 2).unwrap();
        let machines = [vec![vec![NodeId(0)]], vec![vec![NodeId(1)]]];
        let none = Arc::new(vec![None, None]);
        let quiet = DatagramFaults::default();
        let cluster = UdpCluster::new(&placement, &machines, FAN_OUT, &none, quiet, 0).unwrap();
        let parties = [0, 1].map(|party| cluster.parties()[party].clone());
        let segments = parties.each_ref().map(|party| party.segment.clone());
        // A failed test leaves nothing that matters here.
        let slots = SLOTS.lock().unwrap_or_else(PoisonError::into_inner);
        for (rank, (segment, slot)) in (0..2).zip(segments.iter().zip(&*slots)) {
            let mut process = NOBODY;
            if rank == 0 || memory == Memory::Mapped {
                let deposit = DescriptorLocation::for_descriptor(slot.fd()).unwrap();
                segment.publish_slot(rank, slot.slot(), deposit);
            } else {
                process = std::process::id();
            }
            segment.pid(rank).unwrap().store(process, Ordering::Release);
        }
        let key = JobKey::new([7; 32]);
        let direction = |from: usize| Direction {
            epoch: 0,
            from: NodeId::from_index(from),
            to: NodeId::from_index(1 - from),
        };
        let hubs = parties.each_ref().map(|party| party.hub.clone());
        let entrances = [0, 1].map(|to: usize| {
            let mut openers = vec![None, None];
            openers[1 - to] = Some(Opener::new(&key, crypto, direction(1 - to)));
            DatagramFilter::new(hubs[to].clone(), openers)
        });
        let rig = Self {
            hubs,
            segments,
            slots,
            seals: [0, 1].map(|from| Seal::new(&key, crypto, direction(from))),
            entrances,
            wire: DatagramNetwork::new(faults, seed),
            come: Default::default(),
            now_ns: 0,
            next: GAP,
            scribbles: false,
        };
        for at in 0..MEMORY {
            write(rig.address(0, at), byte(at));
            write(rig.address(1, at), UNTOUCHED);
        }
        rig
    }

    fn address(&self, rank: usize, at: usize) -> usize {
        assert!(at < MEMORY);
        self.slots[rank].slot().base() + at
    }

    /// Returns the byte at a place of the receiving rank.
    fn look(&self, at: usize) -> u8 {
        let start: *const u8 = std::ptr::with_exposed_provenance(self.address(1, at));
        // SAFETY: in a slot that only this test knows.
        unsafe { start.read() }
    }

    /// Makes rank 1 request `len` bytes of rank 0, which lie where it wants them.
    pub(super) fn get(&mut self, len: usize) -> Get {
        let at = self.next;
        self.next += len + GAP;
        let location = |rank| Location::contiguous(self.address(rank, at) as u64);
        let from = SourceSpan {
            rank: 0,
            payload: Payload::Memory(location(0)),
            offset: 0,
            len: len as u64,
        };
        let to = DestinationSpan {
            rank: 1,
            into: location(1),
            offset: 0,
        };
        let bell = BellId::for_nic_thread(NodeId(1), NicThreadId::DmaHelper);
        let ticket = self.hubs[1].get(0, &from, to, bell);
        Get { ticket, at, len }
    }

    pub(super) fn test(&self, get: &Get) -> Event {
        self.hubs[1].test(get.ticket)
    }

    /// Checks that a message is complete and right, and that nothing beside it was touched.
    pub(super) fn has_come(&self, get: &Get) {
        assert_eq!(self.test(get), Event::Signalled, "at {} ns", self.now_ns);
        let Get { at, len, .. } = *get;
        for place in at - GAP / 2..at + len + GAP / 2 {
            let is_in = (at..at + len).contains(&place);
            let wanted = if is_in { byte(place) } else { UNTOUCHED };
            assert_eq!(self.look(place), wanted, "{place} of {get:?}");
        }
    }

    /// Makes the rank use the buffer for something else.
    pub(super) fn wipe(&self, get: &Get) {
        let all = get.at..get.at + get.len;
        all.for_each(|at| write(self.address(1, at), UNTOUCHED));
    }

    pub(super) fn is_wiped(&self, get: &Get) -> bool {
        let mut all = get.at..get.at + get.len;
        all.all(|at| self.look(at) == UNTOUCHED)
    }

    pub(super) fn brought(&self) -> InboundBytes {
        self.hubs[1].inbound_bytes()
    }

    pub(super) fn strays(&self) -> RejectedDatagrams {
        self.entrances[1].rejected()
    }

    /// Makes a rank present or departed. A departed rank's memory is not reached.
    pub(super) fn set_there(&self, rank: u32, is_there: bool) {
        let pid = self.segments[rank as usize].pid(rank).unwrap();
        let process = if is_there { NOBODY } else { 0 };
        pid.store(process, Ordering::Release);
    }

    /// Runs for `within_ns`, or until nothing is in flight.
    pub(super) fn run(&mut self, within_ns: u64) {
        self.run_with(within_ns, |_, _| ());
    }

    /// Does the same. `meddle` may change the datagrams of one arrival; it gets their receiver.
    pub(super) fn run_with(
        &mut self,
        within_ns: u64,
        mut meddle: impl FnMut(usize, &mut Vec<Vec<u8>>),
    ) {
        let end_ns = self.now_ns + within_ns;
        loop {
            self.send();
            let is_idle = self.hubs.iter().all(Hub::is_idle) && self.wire.is_empty();
            if is_idle && self.come.iter().all(|(_, come)| come.is_empty()) {
                return;
            }
            let deadlines = self.hubs.iter().filter_map(Hub::deadline_ns);
            let come = self.come.iter().filter(|(_, come)| !come.is_empty());
            let looks = come.map(|(look_ns, _)| *look_ns);
            let next_ns = deadlines.chain(self.wire.next_ns()).chain(looks).min();
            let Some(next_ns) = next_ns.filter(|&next_ns| next_ns <= end_ns) else {
                self.now_ns = end_ns;
                return;
            };
            self.now_ns = self.now_ns.max(next_ns);
            while let Some((_, to, datagram)) = self.wire.take(self.now_ns) {
                let (look_ns, come) = &mut self.come[to];
                if come.is_empty() {
                    *look_ns = self.now_ns + LOOK_NS;
                }
                come.push(datagram);
            }
            for to in 0..2 {
                let (look_ns, come) = &mut self.come[to];
                if !come.is_empty() && *look_ns <= self.now_ns {
                    let mut datagrams = std::mem::take(come);
                    meddle(to, &mut datagrams);
                    self.bring(to, datagrams);
                }
            }
        }
    }

    fn bring(&mut self, to: usize, datagrams: Vec<Vec<u8>>) {
        let mut queue = Queue {
            datagrams: datagrams.into(),
            scribbles: (self.scribbles && to == 1).then(|| self.address(1, GAP)),
        };
        while !queue.datagrams.is_empty() {
            let taken = self.entrances[to].receive(&mut queue, self.now_ns);
            assert!(taken.unwrap().datagrams > 0);
        }
    }

    fn send(&mut self) {
        let mut datagram = Vec::new();
        for from in 0..2 {
            self.hubs[from].settle(self.now_ns);
            while self.hubs[from].transmit(1 - from, self.now_ns, &mut datagram) {
                self.seals[from].seal(&mut datagram);
                self.wire.send(self.now_ns, from, 1 - from, &datagram);
                datagram.clear();
            }
        }
    }
}

/// Returns the byte of rank 0 at a place.
fn byte(at: usize) -> u8 {
    (at.wrapping_mul(31) ^ (at >> 8).wrapping_mul(7) ^ (at >> 16)).to_le_bytes()[0]
}
