//! The facts from which a diagnosis follows.

use std::collections::BTreeMap;

use crate::figures::{Blame, WaitLink, collective, is_send, primitive};
use mds::dump::{CallRow, NONE, RankDump, RunDump, RunDumps, UsageDump};
use mds::mmds::Primitive;

/// The facts about a run.
#[derive(Debug, Clone, Default)]
pub struct Facts {
    /// Its ranks.
    pub ranks: Vec<RankFacts>,
    /// The cores of all hosts that the job may use; 0 if that is not known.
    pub cores: u64,
    /// The length of a slice; 0 if it is not known.
    pub slice_ns: u64,
    /// Whether strobes come by the clock, so that messages wait for them.
    pub by_clock: bool,
    /// The waits of the calls that are kept.
    pub links: Vec<WaitLink>,
    /// Messages and collectives that cost their starts.
    pub small: SmallCalls,
    /// Calls before those that are kept: the waits are those of the last calls only.
    pub calls_dropped: u64,
}

/// The facts about a rank.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RankFacts {
    /// Its number.
    pub rank: u32,
    /// Its run time.
    pub run_ns: u64,
    /// Its time between blocking calls.
    pub computation_ns: u64,
    /// Its time in blocking calls.
    pub mpi_ns: u64,
    /// How the kernel treated it.
    pub usage: Option<UsageDump>,
    /// Messages to and from each other rank.
    pub messages: BTreeMap<u32, u64>,
}

/// Calls about little data that took no long time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SmallCalls {
    /// The number of messages and collectives.
    pub count: u64,
    /// Their data.
    pub bytes: u64,
    /// The time of the calls that started them or waited for them.
    pub time_ns: u64,
}

impl Facts {
    /// Returns the time in which ranks were ready to compute and others had their cores.
    pub(super) fn preempted_ns(&self) -> u64 {
        let usages = self.ranks.iter().filter_map(|rank| rank.usage);
        usages.fold(0, |sum, usage| sum.saturating_add(usage.preempted_ns))
    }

    /// Takes the facts from the dumps, and the waits from `blame`, which is of the same dumps.
    #[must_use]
    pub fn of(dumps: &RunDumps, blame: &Blame) -> Self {
        let hosts: BTreeMap<&str, u64> = dumps
            .ranks
            .iter()
            .filter(|dump| dump.host_cores > 0)
            .map(|dump| (dump.host.as_str(), dump.host_cores))
            .collect();
        let dropped = dumps.ranks.iter().map(|dump| dump.calls_dropped);
        Self {
            ranks: dumps.ranks.iter().map(rank).collect(),
            cores: hosts
                .values()
                .fold(0, |sum, cores| sum.saturating_add(*cores)),
            slice_ns: dumps.run.as_ref().map_or(0, |run| run.time_slice_ns),
            by_clock: dumps.run.as_ref().is_some_and(RunDump::strobes_by_clock),
            links: blame.links.clone(),
            small: small(dumps, blame),
            calls_dropped: dropped.fold(0, u64::saturating_add),
        }
    }

    /// Returns the time of all ranks.
    #[must_use]
    pub fn run_ns(&self) -> u64 {
        self.ranks
            .iter()
            .fold(0, |sum, rank| sum.saturating_add(rank.run_ns))
    }
}

fn rank(dump: &RankDump) -> RankFacts {
    let mut messages: BTreeMap<u32, u64> = BTreeMap::new();
    for peer in &dump.peers {
        let both = messages.entry(peer.rank).or_default();
        *both = both.saturating_add(peer.sent).saturating_add(peer.received);
    }
    RankFacts {
        rank: dump.rank,
        run_ns: dump.run_ns,
        computation_ns: dump.computation_granularity_ns.total,
        mpi_ns: dump.communication_overhead_ns.total,
        usage: dump.usage,
        messages,
    }
}

/// Adds the calls that only start small messages to the small waits.
fn small(dumps: &RunDumps, blame: &Blame) -> SmallCalls {
    let mut small = SmallCalls::default();
    for link in blame.links.iter().filter(|link| link.small) {
        small.time_ns = small.time_ns.saturating_add(link.waited_ns());
    }
    for call in dumps.ranks.iter().flat_map(|dump| &dump.calls) {
        let counts = primitive(call).is_some_and(is_send) || collective(call).is_some();
        if !counts || call.ended_ns == NONE || call.bytes > WaitLink::SMALL_BYTES {
            continue;
        }
        small.count += 1;
        small.bytes = small.bytes.saturating_add(call.bytes);
        small.time_ns = small.time_ns.saturating_add(start_ns(call));
    }
    small
}

/// Returns the time of a call that starts a send and waits for nothing; other calls have links.
fn start_ns(call: &CallRow) -> u64 {
    use Primitive::{Ibsend, Irsend, Isend, Issend};
    match primitive(call) {
        Some(Isend | Ibsend | Irsend | Issend) => {
            let time_ns = call.ended_ns.saturating_sub(call.begun_ns);
            time_ns.min(WaitLink::SHORT_NS)
        }
        _ => 0,
    }
}
