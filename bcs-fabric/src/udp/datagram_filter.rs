//! The filter of a process's socket: it takes only what a process of the job has sent, and that
//! once.
//!
//! It drops other datagrams after a check of the tag, and counts them by kind. Nothing else
//! happens, and nothing is allocated.

use super::datagram::{BULK_FRONT_BYTES, BulkFront, Header};
use super::datagram_source::{CoalescedDatagrams, DatagramSource, PIECE_BYTES, ScatterList};
use super::hub::Hub;
use super::link::{DatagramRefusal, PlacedDatagrams};
use super::scatter_plan::{DatagramRunMerger, PeekedDatagrams, ScatterPlan};
use super::seal::Opener;
use crate::shm::LentMemory;
use bcs_core::job::NodeId;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::io;
use std::net::SocketAddr;

/// The number of rejected datagrams, by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RejectedDatagrams {
    /// Datagrams that are too short, or from no node of the job.
    pub foreign: u64,
    /// Datagrams whose tag is wrong.
    pub bad_tag: u64,
    /// Datagrams whose tag is right, but not the rest.
    pub malformed: u64,
    /// Datagrams that have come before: the network may deliver any twice.
    pub repeated: u64,
    /// The source of the last datagram that the network alone cannot have made.
    pub from: Option<SocketAddr>,
}

/// Fewer datagrams of strangers than these are reported only on request. A port that an ended job
/// has used may get the last ones of that job: a link repeats what it has sent some 16 times in the
/// two seconds in which a killed job ends.
const LEAST_REPORTED: u64 = 64;

impl RejectedDatagrams {
    /// Counts a refusal of datagrams that came together.
    fn count_refused(
        &mut self,
        taken: Result<(), DatagramRefusal>,
        datagrams: u64,
        from: SocketAddr,
    ) {
        let count = match taken {
            Ok(()) => return,
            Err(DatagramRefusal::Repeated) => {
                self.repeated += datagrams;
                return;
            }
            Err(DatagramRefusal::Foreign) => &mut self.foreign,
            Err(DatagramRefusal::Malformed(_)) => &mut self.malformed,
        };
        *count += datagrams;
        self.from = Some(from);
    }

    /// Returns the number of all but the repeated datagrams.
    #[must_use]
    pub fn suspicious(&self) -> u64 {
        self.foreign + self.bad_tag + self.malformed
    }

    /// Whether there are more than an ended job can have left in the network.
    #[must_use]
    pub fn are_many(&self) -> bool {
        self.suspicious() >= LEAST_REPORTED
    }
}

impl fmt::Display for RejectedDatagrams {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            foreign,
            bad_tag,
            malformed,
            repeated,
            ..
        } = self;
        write!(
            f,
            "{foreign} from no node of it, {bad_tag} with a wrong tag, {malformed} malformed; {repeated} had come before"
        )
    }
}

/// A filter in front of a hub.
#[derive(Debug)]
pub struct DatagramFilter {
    hub: Hub,
    /// The openers, by party.
    openers: Vec<Option<Opener>>,
    strays: RejectedDatagrams,
    room: ScatterBuffers,
}

/// The buffers for a piece that is put into places.
#[derive(Debug, Default)]
struct ScatterBuffers {
    /// Fronts and tags of bytes that go into the memory of a rank.
    beside: Vec<u8>,
    /// The bytes that follow them.
    rest: Vec<u8>,
    /// Datagrams that were put in a wrong place, reassembled.
    together: Vec<u8>,
}

/// The outcome of taking datagrams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IntakeOutcome {
    /// The number of datagrams taken.
    pub datagrams: usize,
    /// Whether that was all that had come.
    pub is_all: bool,
}

/// Pieces that are taken at once when no transfer is expected.
const PIECES: usize = 16;

/// If fewer datagrams come at once, no more are there.
const MANY: usize = 16;

impl ScatterBuffers {
    /// Reassembles the datagrams from `from` on, in the order in which they came.
    fn reassemble(&mut self, plan: &ScatterPlan, lent: &LentMemory, from: usize, bytes: usize) {
        let Self {
            beside,
            rest,
            together,
        } = self;
        together.clear();
        for (nth, beside) in beside
            .chunks(plan.overhead_bytes())
            .enumerate()
            .take(plan.count())
        {
            let (front, tag) = beside.split_at(BULK_FRONT_BYTES);
            together.extend_from_slice(front);
            lent.part(plan.part(nth)).copy_to(together);
            together.extend_from_slice(tag);
        }
        together.extend_from_slice(rest);
        together.truncate(bytes);
        together.drain(..plan.bytes_before(from).min(together.len()));
    }
}

impl DatagramFilter {
    /// Makes a filter in front of a hub whose parties have these openers.
    #[must_use]
    pub fn new(hub: Hub, openers: Vec<Option<Opener>>) -> Self {
        Self {
            hub,
            openers,
            strays: RejectedDatagrams::default(),
            room: ScatterBuffers::default(),
        }
    }

    /// Takes what comes next, and lets the kernel put it where it belongs, as far as that is known.
    ///
    /// # Errors
    /// The kernel's answer, if it is unexpected.
    pub fn receive(
        &mut self,
        inlet: &mut dyn DatagramSource,
        now_ns: u64,
    ) -> io::Result<IntakeOutcome> {
        if !self.hub.awaits_bulk() {
            return self.take_all(inlet, PIECES, now_ns);
        }
        let mut front = [0; BULK_FRONT_BYTES];
        let Some(joined) = inlet.peek(&mut front)? else {
            return Ok(IntakeOutcome {
                datagrams: 0,
                is_all: true,
            });
        };
        let sight = PeekedDatagrams {
            front: &front[..joined.bytes.min(BULK_FRONT_BYTES)],
            bytes: joined.bytes,
            each: joined.each,
        };
        if let Some((party, plan, lent)) = self.plan(&sight) {
            return self.put(inlet, joined, (party, &plan, &lent), now_ns);
        }
        // The kernel does not join a datagram that begins otherwise, so it comes by itself. The
        // datagram after a control message may be worth another peek.
        let pieces = match BulkFront::take(sight.front) {
            Some(_) => PIECES,
            None => 1,
        };
        self.take_all(inlet, pieces, now_ns)
    }

    fn take_all(
        &mut self,
        inlet: &mut dyn DatagramSource,
        pieces: usize,
        now_ns: u64,
    ) -> io::Result<IntakeOutcome> {
        let datagrams = inlet.receive(pieces, &mut |from, datagram| {
            self.take(from, datagram, now_ns);
        })?;
        // If there are more, the next call soon finds them.
        let is_all = datagrams == 0 || (pieces > 1 && datagrams < MANY);
        Ok(IntakeOutcome { datagrams, is_all })
    }

    /// Returns a plan for what comes next, and the memory for it.
    fn plan(&self, sight: &PeekedDatagrams<'_>) -> Option<(usize, ScatterPlan, LentMemory)> {
        let header = Header::take(sight.front).ok()?.0;
        let party = self.hub.party_of_node(header.from)?;
        let tag = self.openers.get(party)?.as_ref()?.piecewise_tag_bytes()?;
        let mut plan = ScatterPlan::for_peeked(sight, tag)?;
        let lent = self.hub.lend(party, plan.first().transfer, plan.range())?;
        plan.limit_to_lent(lent.bytes())
            .then_some((party, plan, lent))
    }

    /// Has the kernel put what comes next where it belongs, and checks it.
    fn put(
        &mut self,
        inlet: &mut dyn DatagramSource,
        seen: CoalescedDatagrams,
        (party, plan, lent): (usize, &ScatterPlan, &LentMemory),
        now_ns: u64,
    ) -> io::Result<IntakeOutcome> {
        let mut room = std::mem::take(&mut self.room);
        room.beside.resize(PIECE_BYTES, 0);
        room.rest.resize(PIECE_BYTES, 0);
        let mut places = ScatterList::with_capacity(2 * plan.count() + 2);
        let (mut at, mut beside) = (BULK_FRONT_BYTES, &mut room.beside[..]);
        for nth in 0..plan.count() {
            let (ours, after) = beside.split_at_mut(at);
            (at, beside) = (plan.overhead_bytes(), after);
            places.add(ours);
            places.add_lent(lent.part(plan.part(nth)));
        }
        places.add(&mut beside[..at - BULK_FRONT_BYTES]);
        places.add(&mut room.rest);
        let joined = inlet.scatter(&places);
        drop(places);
        if joined.is_err() {
            // It is lost. If the kernel cannot write there, the copy will report why.
            self.hub.stop_lending(party, plan.first().transfer);
        }
        if let Ok(Some(joined)) = joined {
            // It is what was seen, unless a checksum was wrong.
            let good = match joined == seen {
                true => self.check(joined, (party, plan, lent), &room.beside, now_ns),
                false => 0,
            };
            if good < plan.count() || joined.bytes > plan.bytes_before(plan.count()) {
                room.reassemble(plan, lent, good, joined.bytes);
                for datagram in room.together.chunks_mut(joined.each.max(1)) {
                    self.take(joined.from, datagram, now_ns);
                }
            }
        }
        self.room = room;
        let datagrams = joined?.map_or(0, |joined| joined.bytes.div_ceil(joined.each.max(1)));
        let is_all = datagrams == 0;
        Ok(IntakeOutcome { datagrams, is_all })
    }

    /// Takes those that are as planned, and returns how many they were, from the first on.
    fn check(
        &mut self,
        joined: CoalescedDatagrams,
        (party, plan, lent): (usize, &ScatterPlan, &LentMemory),
        beside: &[u8],
        now_ns: u64,
    ) -> usize {
        let (mut run, mut good) = (DatagramRunMerger::default(), 0);
        for beside in beside.chunks(plan.overhead_bytes()).take(plan.count()) {
            let (front, tag) = beside.split_at(BULK_FRONT_BYTES);
            let Some(number) = plan.number(good, front) else {
                break;
            };
            let bytes = lent.part(plan.part(good));
            let opener = self.openers[party].as_mut();
            let opener = opener.expect("it was planned by that");
            if opener.check_pieces(number, front, &bytes, tag).is_ok() {
                let done = run.add(plan.placed(good, number));
                self.take_run(party, done, joined.from, now_ns);
            } else {
                self.strays.bad_tag += 1;
                self.strays.from = Some(joined.from);
                self.hub.stop_lending(party, plan.first().transfer);
            }
            good += 1;
        }
        self.take_run(party, run.take(), joined.from, now_ns);
        good
    }

    /// Takes datagrams whose bytes lie where they belong.
    fn take_run(
        &mut self,
        party: usize,
        run: Option<PlacedDatagrams>,
        from: SocketAddr,
        now_ns: u64,
    ) {
        let Some(run) = run else {
            return;
        };
        let taken = self.hub.receive_placed(party, &run, now_ns);
        self.strays.count_refused(taken, run.count(), from);
    }

    /// Returns the datagrams that were rejected so far.
    #[must_use]
    pub fn rejected(&self) -> RejectedDatagrams {
        self.strays
    }

    /// Takes a datagram that has come.
    pub fn take(&mut self, from: SocketAddr, datagram: &mut [u8], now_ns: u64) {
        let strays = &mut self.strays;
        // The node that it names is not trusted until the tag of that node is right.
        let node = datagram.get(4..6).map(|node| {
            let node: [u8; 2] = node.try_into().expect("two bytes");
            NodeId(u16::from_le_bytes(node))
        });
        let party = node.and_then(|node| self.hub.party_of_node(node));
        let opener = party.and_then(|party| self.openers.get(party)?.as_ref());
        let count = match (party, opener) {
            (Some(party), Some(opener)) => match opener.open(datagram) {
                Err(_) => &mut strays.bad_tag,
                Ok(opened) => {
                    let taken = self.hub.receive(party, opened, now_ns);
                    return strays.count_refused(taken, 1, from);
                }
            },
            _ => &mut strays.foreign,
        };
        *count += 1;
        strays.from = Some(from);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_datagrams_of_an_ended_job_are_not_many_and_those_of_an_attacker_are() {
        let mut strays = RejectedDatagrams {
            foreign: LEAST_REPORTED - 2,
            malformed: 1,
            // The network has repeated them.
            repeated: 1_000,
            ..RejectedDatagrams::default()
        };
        assert!(!strays.are_many());
        strays.bad_tag = 1;
        assert!(strays.are_many());
    }
}
