//! The recorder's counts so far, for the rank itself, which may request them at any time.
//!
//! A node manager must verify the same words (the crate `mds`). The rank's own code can trust them,
//! and nothing changes while it reads.

use std::sync::atomic::Ordering;

use crate::histogram::TOTAL;
use crate::layout::{CALLS, COMMUNICATOR_WORDS, ENDED, MOST_COMMUNICATORS};
use crate::{Recorder, WordMemory};

/// How a rank has spent its time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RankTimes {
    /// The time inside blocking calls.
    pub communication_ns: u64,
    /// The time between them.
    pub computation_ns: u64,
}

/// Messages of point-to-point calls on all communicators.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RankTraffic {
    /// The number of posted messages.
    pub sent: u64,
    /// The bytes of the posted messages.
    pub sent_bytes: u64,
    /// The number of received messages.
    pub received: u64,
    /// The bytes of the received messages.
    pub received_bytes: u64,
}

impl<M: WordMemory> Recorder<M> {
    /// Returns the number of calls that have returned, or `None` if calls are not recorded.
    #[must_use]
    pub fn calls_so_far(&self) -> Option<u64> {
        self.metrics.calls.then(|| self.word(CALLS))
    }

    /// Returns how the rank has spent its time up to now, or up to the end if it has finalized.
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

    /// Returns the counts of messages, or `None` if communicators are not recorded.
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
