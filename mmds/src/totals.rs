//! What a recorder has counted so far, for the rank itself, which may ask for it at any time.
//!
//! A node manager reads the same words as an allegation (the crate `mds`). Whoever has the recorder
//! has no reason to doubt them, and nothing changes while it looks.

use std::sync::atomic::Ordering;

use crate::histogram::TOTAL;
use crate::layout::{CALLS, COMMUNICATOR_WORDS, ENDED, MOST_COMMUNICATORS};
use crate::{Recorder, WordMemory};

/// Where the time of a rank has gone.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RankTimes {
    /// Inside blocking calls.
    pub communication_ns: u64,
    /// Between them.
    pub computation_ns: u64,
}

/// Messages of point-to-point calls on all communicators.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RankTraffic {
    /// Messages that were posted,
    pub sent: u64,
    /// and their bytes.
    pub sent_bytes: u64,
    /// Messages that were received,
    pub received: u64,
    /// and their bytes.
    pub received_bytes: u64,
}

impl<M: WordMemory> Recorder<M> {
    /// Calls that have returned; nothing if they are not recorded.
    #[must_use]
    pub fn calls_so_far(&self) -> Option<u64> {
        self.metrics.calls.then(|| self.word(CALLS))
    }

    /// Where the time has gone up to now, or up to the end of a rank that has finalized.
    #[must_use]
    pub fn times_so_far(&self, now_ns: u64) -> RankTimes {
        let mut times = RankTimes {
            communication_ns: self.word(self.layout.overhead() + TOTAL),
            computation_ns: self.word(self.layout.computation() + TOTAL),
        };
        if self.word(ENDED) == 0 {
            let this = match self.blocked {
                0 => &mut times.computation_ns,
                _ => &mut times.communication_ns,
            };
            *this += now_ns.saturating_sub(self.accounted_ns);
        }
        times
    }

    /// The messages; nothing if communicators are not recorded.
    #[must_use]
    pub fn traffic_so_far(&self) -> Option<RankTraffic> {
        let mut traffic = RankTraffic::default();
        for place in 0..=MOST_COMMUNICATORS {
            let first = self.layout.communicators + place * COMMUNICATOR_WORDS;
            traffic.sent += self.word(first + 1);
            traffic.sent_bytes += self.word(first + 2);
            traffic.received += self.word(first + 3);
            traffic.received_bytes += self.word(first + 4);
        }
        self.metrics.communicators.then_some(traffic)
    }

    fn word(&self, at: usize) -> u64 {
        self.memory.words()[at].load(Ordering::Relaxed)
    }
}
