//! A network of datagrams in virtual time, which loses, repeats, delays, reorders and is cut, by
//! seed.

use crate::sim::FaultCounts;
use bcs_core::fingerprint::fingerprint;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

/// The faults of a network.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DatagramFaults {
    /// The number of datagrams per thousand that are lost.
    pub loss: u32,
    /// The number of datagrams per thousand that come twice.
    pub repetition: u32,
    /// The most by which a datagram is delayed further.
    pub jitter_ns: u64,
    /// The time range in which nothing passes.
    pub cut: (u64, u64),
    /// The time from which there are no faults.
    pub until_ns: u64,
}

/// The least time that a datagram takes.
pub const LATENCY_NS: u64 = 30_000;

/// A datagram in flight: the time of its arrival, its number in the order of sends, its sender, its
/// receiver, and its bytes.
type DatagramInFlight = Reverse<(u64, u64, usize, usize, Vec<u8>)>;

/// A network in virtual time.
#[derive(Debug)]
pub struct DatagramNetwork {
    faults: DatagramFaults,
    random: ChaCha8Rng,
    flying: BinaryHeap<DatagramInFlight>,
    sent: u64,
    counts: FaultCounts,
    /// By sender and receiver, the arrival that was sent last.
    last: BTreeMap<(usize, usize), u64>,
    trace: u64,
}

impl DatagramNetwork {
    /// Makes a network on which nothing is in flight.
    #[must_use]
    pub fn new(faults: DatagramFaults, seed: u64) -> Self {
        Self {
            faults,
            random: ChaCha8Rng::seed_from_u64(seed),
            flying: BinaryHeap::new(),
            sent: 0,
            counts: FaultCounts::default(),
            last: BTreeMap::new(),
            trace: 0,
        }
    }

    /// Returns what has become of datagrams so far.
    #[must_use]
    pub fn counts(&self) -> FaultCounts {
        self.counts
    }

    /// Returns a hash of all datagrams, in order: equal for equal seeds.
    #[must_use]
    pub fn trace_hash(&self) -> u64 {
        self.trace
    }

    /// Returns how many datagrams were sent.
    #[must_use]
    pub fn sent(&self) -> u64 {
        self.sent
    }

    /// Sends a datagram.
    pub fn send(&mut self, now_ns: u64, from: usize, to: usize, datagram: &[u8]) {
        self.sent += 1;
        let faults = match now_ns < self.faults.until_ns {
            true => self.faults,
            false => DatagramFaults::default(),
        };
        let is_cut = (faults.cut.0..faults.cut.1).contains(&now_ns);
        let mut copies = 1 + u64::from(self.random.random_range(0..1000) < faults.repetition);
        let is_lost = self.random.random_range(0..1000) < faults.loss;
        if is_cut || is_lost {
            copies = 0;
        }
        self.counts.cut += u64::from(is_cut);
        self.counts.lost += u64::from(is_lost && !is_cut);
        self.counts.repeated += u64::from(copies > 1);
        for copy in 0..copies {
            let jitter_ns = self.random.random_range(0..=faults.jitter_ns);
            self.counts.delayed += u64::from(jitter_ns > 0);
            let at_ns = now_ns + LATENCY_NS + jitter_ns + copy;
            let order = self.sent * 2 + copy;
            self.flying
                .push(Reverse((at_ns, order, from, to, datagram.to_vec())));
        }
    }

    /// Returns whether nothing is in flight.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.flying.is_empty()
    }

    /// Returns the time of the next arrival.
    #[must_use]
    pub fn next_ns(&self) -> Option<u64> {
        self.flying.peek().map(|flying| flying.0.0)
    }

    /// Takes the next datagram that has come by now: its sender, its receiver, and its bytes.
    pub fn take(&mut self, now_ns: u64) -> Option<(usize, usize, Vec<u8>)> {
        let has_come = self.next_ns().is_some_and(|at_ns| at_ns <= now_ns);
        let flying = has_come.then(|| self.flying.pop())??;
        let Reverse((at_ns, order, from, to, datagram)) = flying;
        let last = self.last.entry((from, to)).or_default();
        self.counts.reordered += u64::from(order < *last);
        *last = order.max(*last);
        let size = datagram.len() as u64;
        self.trace = fingerprint([self.trace, at_ns, order, size]);
        Some((from, to, datagram))
    }
}
