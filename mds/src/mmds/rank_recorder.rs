//! The recorder inside a rank.

use crate::Distribution;
use crate::dump::{PrimitiveDump, RankDump};

use super::Primitive;

/// What one primitive was seen to do.
#[derive(Debug)]
struct PrimitiveRecord {
    latency_ns: Distribution,
    /// Only for primitives that move data: half of the memory of the others is saved.
    size_bytes: Option<Distribution>,
}

/// Where the rank is between two time stamps. Each variant holds the *counter* of section 5.1.1.
#[derive(Debug, Clone, Copy)]
enum Activity {
    Computes {
        since_ns: u64,
    },
    Blocks {
        since_ns: u64,
        /// Blocking calls may be made of other blocking calls; only the outermost one counts.
        depth: u32,
    },
}

/// Records one rank: computation granularity, communication overhead, and the latency and size of every
/// primitive (paper, section 5.1.1).
///
/// Invariant: at any moment the two distributions together hold exactly the time from the start to the
/// last time stamp, each nanosecond in one of them once.
///
/// About 3.2 MiB are taken when it is made, and nothing later until [`RankRecorder::finish`].
#[derive(Debug)]
pub struct RankRecorder {
    rank: u32,
    start_ns: u64,
    activity: Activity,
    computation_ns: Distribution,
    overhead_ns: Distribution,
    /// Indexed by `Primitive as usize`.
    primitives: Box<[PrimitiveRecord]>,
}

impl RankRecorder {
    /// A recorder for `rank`, which computes from `start_ns` on.
    #[must_use]
    pub fn new(rank: u32, start_ns: u64) -> Self {
        let record = |primitive: &Primitive| PrimitiveRecord {
            latency_ns: Distribution::new(),
            size_bytes: primitive.has_size().then(Distribution::new),
        };
        Self {
            rank,
            start_ns,
            activity: Activity::Computes { since_ns: start_ns },
            computation_ns: Distribution::new(),
            overhead_ns: Distribution::new(),
            primitives: Primitive::ALL.iter().map(record).collect(),
        }
    }

    /// The rank enters a blocking primitive: a computation ends here. Inside another blocking primitive it
    /// changes nothing but the depth.
    pub fn blocking_begin(&mut self, now_ns: u64) {
        self.activity = match self.activity {
            Activity::Computes { since_ns } => {
                self.computation_ns.record(now_ns.saturating_sub(since_ns));
                Activity::Blocks {
                    since_ns: now_ns,
                    depth: 1,
                }
            }
            Activity::Blocks { since_ns, depth } => Activity::Blocks {
                since_ns,
                depth: depth + 1,
            },
        };
    }

    /// The rank leaves the blocking primitive that it last entered: its overhead ends here. An end without
    /// a beginning is a fault of the caller and is ignored.
    pub fn blocking_end(&mut self, now_ns: u64) {
        match self.activity {
            Activity::Blocks { since_ns, depth: 1 } => {
                self.overhead_ns.record(now_ns.saturating_sub(since_ns));
                self.activity = Activity::Computes { since_ns: now_ns };
            }
            Activity::Blocks { since_ns, depth } => {
                self.activity = Activity::Blocks {
                    since_ns,
                    depth: depth - 1,
                };
            }
            Activity::Computes { .. } => {
                debug_assert!(
                    false,
                    "rank {}: blocking_end without blocking_begin",
                    self.rank
                );
            }
        }
    }

    /// One call of `primitive` is complete. For a non-blocking call the latency runs from the post to the
    /// completion, as in Table 5.3. `size_bytes` is the data this rank sent or received in it; it is
    /// ignored for primitives that move none ([`Primitive::has_size`]).
    pub fn record(&mut self, primitive: Primitive, latency_ns: u64, size_bytes: Option<u64>) {
        let record = &mut self.primitives[primitive as usize];
        record.latency_ns.record(latency_ns);
        if let (Some(sizes), Some(size_bytes)) = (&mut record.size_bytes, size_bytes) {
            sizes.record(size_bytes);
        }
    }

    /// Closes the last interval at `end_ns` and gives what was recorded. A rank that dies inside a blocking
    /// primitive has its last interval counted as overhead.
    #[must_use]
    pub fn finish(mut self, end_ns: u64) -> RankDump {
        match self.activity {
            Activity::Computes { since_ns } => {
                self.computation_ns.record(end_ns.saturating_sub(since_ns));
            }
            Activity::Blocks { since_ns, .. } => {
                self.overhead_ns.record(end_ns.saturating_sub(since_ns));
            }
        }
        let used = Primitive::ALL.iter().zip(&self.primitives);
        let used = used.filter(|(_, record)| record.latency_ns.count() > 0);
        let primitives = used.map(|(primitive, record)| {
            let sizes = record.size_bytes.as_ref().filter(|sizes| sizes.count() > 0);
            let latency_ns = (&record.latency_ns).into();
            (
                *primitive,
                PrimitiveDump {
                    latency_ns,
                    size_bytes: sizes.map(Into::into),
                },
            )
        });
        RankDump {
            job: String::new(),
            rank: self.rank,
            run_ns: end_ns.saturating_sub(self.start_ns),
            primitives: primitives.collect(),
            computation_granularity_ns: (&self.computation_ns).into(),
            communication_overhead_ns: (&self.overhead_ns).into(),
            began_ns: self.start_ns,
            finalized: true,
            ..RankDump::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Figure 5.1: P2 receives from t0 to t1, computes to t2, sends to t3.
    #[test]
    fn the_ping_pong_of_figure_5_1() {
        let mut recorder = RankRecorder::new(2, 1_000);
        recorder.blocking_begin(1_500);
        recorder.blocking_end(1_900);
        recorder.record(Primitive::Recv, 400, Some(8));
        recorder.blocking_begin(2_600);
        recorder.blocking_end(2_700);
        recorder.record(Primitive::Send, 100, Some(8));
        let dump = recorder.finish(3_000);

        let computation = &dump.computation_granularity_ns;
        assert_eq!(
            (computation.count, computation.min, computation.max),
            (3, 300, 700)
        );
        assert_eq!(computation.total, 500 + 700 + 300);
        let overhead = &dump.communication_overhead_ns;
        assert_eq!((overhead.count, overhead.min, overhead.max), (2, 100, 400));
        assert_eq!(computation.total + overhead.total, dump.run_ns);
        assert_eq!(dump.primitives.len(), 2);
        assert_eq!(dump.primitives[&Primitive::Recv].latency_ns.total, 400);
    }

    #[test]
    fn a_collective_made_of_blocking_calls_counts_once() {
        let mut recorder = RankRecorder::new(0, 0);
        recorder.blocking_begin(10);
        recorder.blocking_begin(20);
        recorder.blocking_end(30);
        recorder.blocking_end(50);
        let dump = recorder.finish(60);
        assert_eq!(dump.communication_overhead_ns.histogram, [(40, 1)]);
        assert_eq!(dump.computation_granularity_ns.total, 20);
    }

    #[test]
    fn a_rank_that_ends_while_blocked_loses_no_time() {
        let mut recorder = RankRecorder::new(0, 100);
        recorder.blocking_begin(150);
        let dump = recorder.finish(250);
        assert_eq!(dump.computation_granularity_ns.total, 50);
        assert_eq!(dump.communication_overhead_ns.total, 100);
        assert_eq!(dump.run_ns, 150);
    }

    #[test]
    fn sizes_are_kept_only_where_data_moves() {
        let mut recorder = RankRecorder::new(0, 0);
        recorder.record(Primitive::Isend, 5, Some(4096));
        recorder.record(Primitive::Isend, 7, None);
        recorder.record(Primitive::Waitall, 9, Some(1));
        let dump = recorder.finish(10);
        let sizes = dump.primitives[&Primitive::Isend]
            .size_bytes
            .as_ref()
            .unwrap();
        assert_eq!((sizes.count, sizes.total), (1, 4096));
        assert!(dump.primitives[&Primitive::Waitall].size_bytes.is_none());
    }
}
