//! Splits the time of a small operation between two hosts into shares.
//!
//! The timed runs record nothing. The shares come from other measurements in the same rounds: a run
//! that records (MDS), a bare datagram that goes back and forth, and the fabric without NIC threads
//! and ranks. The rest is the time that none of them explains. A share that does not apply to an
//! operation is zero: an operation outside of the slice has no strobe and no verdict.

use std::fmt;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use apps::bench::{BenchOperation, BenchOptions, BufferMode};
use mds::dump::{NONE, NodeDump, RunDumps, SliceRow, StrobeRow, read_dir};
use mds::mmds::Primitive;

use crate::bare_round_trips::{DatagramWait, half_round_trip_us};
use crate::bootstrap::median;
use crate::contest::{Contestant, rows};
use crate::hosts::Hosts;
use crate::primitives::udp;
use crate::process;
use crate::rounds::{Bar, Rounds, RoundsResult};
use crate::workspace::Workspace;

/// The operations, on two ranks. Half a round trip passes both nodes one after the other. So does a
/// collective outside of the slice, there and back. In a slice both nodes work at the same time.
pub const OPS: [BenchOperation; 3] = [
    BenchOperation::Latency,
    BenchOperation::Barrier,
    BenchOperation::Allreduce,
];

/// The number of figures in every round.
const FIGURES: usize = 9;

const LIMIT: Duration = Duration::from_secs(60);

/// The time of an operation in microseconds, and its shares.
#[derive(Debug, Clone, PartialEq)]
pub struct LatencyBreakdown {
    /// The operation.
    pub op: BenchOperation,
    /// The whole time.
    pub whole_us: f64,
    /// Each share by name.
    pub shares: Vec<(&'static str, f64)>,
    /// How often an OS thread of the job went to sleep for an operation.
    pub sleeps: f64,
    /// How many slices were strobed for an operation.
    pub slices: f64,
}

/// The results of a run that records, per operation, on average.
#[derive(Debug, Clone, Copy, PartialEq)]
struct RecordedTimes {
    /// Time in routines of NIC threads.
    exchange_us: f64,
    strobe_us: f64,
    verdicts_us: f64,
    slices: f64,
    sleeps: f64,
}

impl LatencyBreakdown {
    /// Measures the shares of an operation.
    ///
    /// # Errors
    ///
    /// A job failed, or the kernel refused a call.
    pub fn measure(workspace: &Workspace, hosts: &Hosts, op: BenchOperation) -> Result<Self> {
        let ours = Contestant::Ours(Vec::new());
        let options = options(op);
        let measured = Rounds::default().figures([Bar::Reported; FIGURES], |_| {
            let whole = ours.measure(workspace, 2, Some(hosts), &options)?;
            let recorded = record(workspace, hosts, op, &options)?;
            let fabric = udp(hosts.network(), 2, 2, Duration::from_millis(20))?;
            Ok([
                whole[0].us,
                half_round_trip_us(hosts, DatagramWait::Polling)?,
                half_round_trip_us(hosts, DatagramWait::Asleep)?,
                fabric.transfer_us,
                recorded.exchange_us,
                recorded.strobe_us,
                recorded.verdicts_us,
                recorded.sleeps,
                recorded.slices,
            ])
        })?;
        Ok(Self::of(op, measured.map(|one: RoundsResult| one.median)))
    }

    fn of(op: BenchOperation, figures: [f64; FIGURES]) -> Self {
        let [
            whole,
            polling,
            asleep,
            fabric,
            exchange,
            strobe,
            verdicts,
            sleeps,
            slices,
        ] = figures;
        // Half a round trip is one path; a collective of two nodes goes up the tree and down again.
        let ways = match op {
            BenchOperation::Latency => 1.0,
            _ => 2.0,
        };
        let known = [
            ("network", ways * polling),
            ("fabric", ways * (fabric - polling)),
            // In a slice the shares of strobe and verdicts include the wake-ups.
            (
                "wake",
                sleeps * (1.0 - slices.min(1.0)) * (asleep - polling),
            ),
            ("strobe", strobe),
            ("exchange", exchange),
            ("verdicts", verdicts),
        ];
        let rest = whole - known.iter().map(|(_, us)| us).sum::<f64>();
        Self {
            op,
            whole_us: whole,
            shares: known.into_iter().chain([("rest", rest)]).collect(),
            sleeps,
            slices,
        }
    }
}

impl fmt::Display for LatencyBreakdown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} of 8 B: {:.1} us =", self.op, self.whole_us)?;
        for (at, (name, us)) in self.shares.iter().enumerate() {
            let and = if at == 0 { "" } else { " +" };
            write!(f, "{and} {name} {us:.1}")?;
        }
        let Self { sleeps, slices, .. } = self;
        write!(f, " ({sleeps:.2} sleeps, {slices:.3} slices)")
    }
}

/// Makes the samples so long that the benchmark's own messages between them do not count.
fn options(op: BenchOperation) -> BenchOptions {
    BenchOptions {
        row_ms: 100,
        ..rows(&[op], &[8], BufferMode::Untouched)
    }
}

fn record(
    workspace: &Workspace,
    hosts: &Hosts,
    op: BenchOperation,
    options: &BenchOptions,
) -> Result<RecordedTimes> {
    let dir = tempfile::tempdir().context("failed to make a directory for the dump")?;
    let mut command = workspace.bcs(["run", "-n", "2"])?;
    command.args(hosts.options()).arg("--mds").arg(dir.path());
    command.arg("bench").args(options.words());
    let finished = process::run(&mut command, LIMIT)?.succeeded()?;
    let dumps = read_dir(dir.path())?.require_complete()?;
    recorded(&dumps, op, finished.sleeps)
}

fn recorded(dumps: &RunDumps, op: BenchOperation, sleeps: u64) -> Result<RecordedTimes> {
    let calls = |primitive: Primitive| {
        let ranks = dumps.ranks.iter();
        let of = ranks.filter_map(|rank| rank.primitives.get(&primitive));
        of.map(|calls| calls.latency_ns.count).sum::<u64>() as f64
    };
    // When nodes work at the same time, totals are divided by their number.
    let nodes = dumps.nodes.len() as f64;
    let (count, side_by_side) = match op {
        BenchOperation::Latency => (calls(Primitive::Send), 1.0),
        BenchOperation::Barrier => (calls(Primitive::Barrier) / nodes, nodes),
        _ => (calls(Primitive::Allreduce) / nodes, nodes),
    };
    ensure!(count > 0.0, "the run that records has no calls of {op:?}");
    let routines = dumps.nodes.iter().flat_map(|node| node.ltr_ns.values());
    let routines_ns: u64 = routines.map(|routine| routine.total).sum();
    let strobes = dumps.nodes.iter().find_map(|node| node.global.as_ref());
    let strobes = &strobes
        .context("no node has dumped the global figures")?
        .strobes;
    let struck = dumps.nodes.iter().map(|node| node.slices_struck).max();
    let slices = struck.unwrap_or(0) as f64 / count;
    let [strobe_ns, verdicts_ns] = of_a_slice(strobes, &dumps.nodes);
    Ok(RecordedTimes {
        exchange_us: routines_ns as f64 / 1e3 / count / side_by_side,
        strobe_us: slices * strobe_ns / 1e3,
        verdicts_us: slices * verdicts_ns / 1e3,
        slices,
        sleeps: sleeps as f64 / count / side_by_side,
    })
}

/// Returns two medians over slices. The first is the time from the strobe until the last node has
/// it. The second is the time outside of that and of the node's work in its microphases: the paths
/// of reports, verdicts and further microstrobes. Nodes on one kernel share a clock.
fn of_a_slice(strobes: &[StrobeRow], nodes: &[NodeDump]) -> [f64; 2] {
    let (mut ways, mut verdicts) = (Vec::new(), Vec::new());
    for strobe in strobes {
        let row = |node: &NodeDump| {
            let mut rows = node.slices.iter();
            rows.find(|row| row.slice == strobe.slice).copied()
        };
        let Some(rows) = nodes.iter().map(row).collect::<Option<Vec<SliceRow>>>() else {
            continue;
        };
        let most = |of: fn(&SliceRow) -> u64| rows.iter().map(of).max().unwrap_or(0);
        let way = most(|row| row.strobe_ns).saturating_sub(strobe.strobe_ns);
        ways.push(way as f64);
        verdicts.push(strobe.gtts_ns.saturating_sub(way + most(work_ns)) as f64);
    }
    [ways, verdicts].map(|ns| if ns.is_empty() { 0.0 } else { median(&ns) })
}

/// Returns the time in the microphases of a slice on a node.
fn work_ns(row: &SliceRow) -> u64 {
    let phases = [
        row.ltdem_ns,
        row.ltmsm_ns,
        row.ltpm_ns,
        row.ltbbm_ns,
        row.ltrm_ns,
    ];
    phases.into_iter().filter(|ns| *ns != NONE).sum()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use mds::dump::{DistributionDump, PrimitiveDump, RankDump, StrobeDump};

    use super::*;

    #[test]
    fn shares_are_what_is_known_and_the_rest() {
        let figures = [20.0, 3.0, 7.0, 5.0, 2.0, 1.0, 4.0, 0.5, 0.1];
        let split = LatencyBreakdown::of(BenchOperation::Latency, figures);
        let shares: BTreeMap<_, _> = split.shares.iter().copied().collect();
        assert_eq!((shares["fabric"], shares["wake"]), (2.0, 1.8));
        let barrier = LatencyBreakdown::of(BenchOperation::Barrier, figures).shares;
        assert_eq!(barrier[..2], [("network", 6.0), ("fabric", 4.0)]);
        let said = "Latency of 8 B: 20.0 us = network 3.0 + fabric 2.0 + wake 1.8 + strobe 1.0 + exchange 2.0 + \
            verdicts 4.0 + rest 6.2 (0.50 sleeps, 0.100 slices)";
        assert_eq!(split.to_string(), said);
    }

    fn node(strobe_ns: u64, ltdem_ns: u64, ltmsm_ns: u64) -> NodeDump {
        let row = SliceRow {
            slice: 7,
            strobe_ns,
            ltdem_ns,
            ltmsm_ns,
            ltpm_ns: NONE,
            ltbbm_ns: NONE,
            ltrm_ns: NONE,
            ..SliceRow::default()
        };
        NodeDump {
            slices_struck: 2,
            slices: vec![row],
            ltr_ns: BTreeMap::from([("br".to_owned(), DistributionDump::of([3_000, 1_000]))]),
            ..NodeDump::default()
        }
    }

    /// Makes two nodes, of which the second gets the strobe 2 us later; of the slice's 20 us the
    /// first works 5.
    fn dumps(primitive: Primitive) -> RunDumps {
        let strobes = [7, 8].map(|slice| StrobeRow {
            slice,
            strobe_ns: 100_000,
            gtts_ns: 20_000,
            ..StrobeRow::default()
        });
        let mut first = node(100_500, 4_000, 1_000);
        first.global = Some(StrobeDump {
            strobes: strobes.to_vec(),
            ..StrobeDump::default()
        });
        let calls = PrimitiveDump {
            latency_ns: DistributionDump::of([9; 4]),
            ..PrimitiveDump::default()
        };
        let rank = RankDump {
            primitives: BTreeMap::from([(primitive, calls)]),
            ..RankDump::default()
        };
        RunDumps {
            nodes: vec![first, node(102_000, 3_000, NONE)],
            ranks: vec![rank.clone(), rank],
            ..RunDumps::default()
        }
    }

    #[test]
    fn half_a_round_trip_passes_nodes_in_turn_and_a_collective_at_once() {
        let send = recorded(&dumps(Primitive::Send), BenchOperation::Latency, 16).unwrap();
        let expected = RecordedTimes {
            exchange_us: 1.0,
            strobe_us: 0.5,
            verdicts_us: 3.25,
            slices: 0.25,
            sleeps: 2.0,
        };
        assert_eq!(send, expected);
        let barrier = recorded(&dumps(Primitive::Barrier), BenchOperation::Barrier, 16).unwrap();
        let expected = RecordedTimes {
            exchange_us: 1.0,
            strobe_us: 1.0,
            verdicts_us: 6.5,
            slices: 0.5,
            sleeps: 2.0,
        };
        assert_eq!(barrier, expected);
        assert!(recorded(&dumps(Primitive::Send), BenchOperation::Barrier, 1).is_err());
    }

    #[test]
    fn without_slices_there_is_neither_strobe_nor_verdict() {
        assert_eq!(of_a_slice(&[], &[]), [0.0, 0.0]);
    }
}
