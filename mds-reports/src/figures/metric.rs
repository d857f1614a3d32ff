//! Every figure that has a distribution, by its name: those of Tables 5.1 and 5.2, those of the
//! routines of NIC threads, and those of ranks.

use thiserror::Error;

use mds::dump::{DistributionDump, NodeDump, RankDump, RunDumps, StrobeDump};
use mds::mmds::Primitive;

/// The unit of a metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Nanoseconds.
    Nanoseconds,
    /// Bytes.
    Bytes,
    /// A number without a unit.
    Count,
}

impl Unit {
    /// Returns the name of the unit in files and pages.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Unit::Nanoseconds => "ns",
            Unit::Bytes => "bytes",
            Unit::Count => "count",
        }
    }
}

/// The place of a metric in dumps.
#[derive(Debug, Clone, Copy)]
enum MetricSource {
    Rank(fn(&RankDump) -> &DistributionDump),
    Latency(Primitive),
    Size(Primitive),
    Node(fn(&NodeDump) -> &DistributionDump),
    Thread(&'static str),
    Global(fn(&StrobeDump) -> &DistributionDump),
}

/// A figure that has a distribution.
#[derive(Debug, Clone)]
pub struct Metric {
    /// The name on a command line: `GETTS`, `LTR.br`, `MPI_Isend`, `MPI_Isend.size`.
    pub name: String,
    /// The unit.
    pub unit: Unit,
    /// The meaning, in words.
    pub about: String,
    source: MetricSource,
}

/// There is no metric of this name.
#[derive(Debug, Error, PartialEq, Eq)]
#[error("there is no metric {name:?}; there are {known}")]
pub struct UnknownMetric {
    /// The requested name.
    pub name: String,
    /// All names that exist.
    pub known: String,
}

const NS: Unit = Unit::Nanoseconds;
const COUNT: Unit = Unit::Count;

/// The metrics that every run may have.
const FIXED: [(&str, Unit, &str, MetricSource); 23] = [
    (
        "GETTS",
        NS,
        "global elapsed time from the previous time slice that was struck",
        MetricSource::Global(|of| &of.getts_ns),
    ),
    (
        "GTDEM",
        NS,
        "global time to complete the descriptor exchange microphase (DEM)",
        MetricSource::Global(|of| &of.gtdem_ns),
    ),
    (
        "GTMSM",
        NS,
        "global time to complete the message scheduling microphase (MSM)",
        MetricSource::Global(|of| &of.gtmsm_ns),
    ),
    (
        "GTTS",
        NS,
        "global time to complete the time slice",
        MetricSource::Global(|of| &of.gtts_ns),
    ),
    (
        "USRSTS",
        COUNT,
        "looks, in a slice, at whether it was over on all nodes that came out false",
        MetricSource::Global(|of| &of.usrsts),
    ),
    (
        "USRDEM",
        COUNT,
        "looks, in a slice, at whether the DEM was over on all nodes that came out false",
        MetricSource::Global(|of| &of.usrdem),
    ),
    (
        "USRMSM",
        COUNT,
        "looks, in a slice, at whether the MSM was over on all nodes that came out false",
        MetricSource::Global(|of| &of.usrmsm),
    ),
    (
        "LETTS",
        NS,
        "local elapsed time from the previous time slice that was struck",
        MetricSource::Node(|of| &of.letts_ns),
    ),
    (
        "LTDEM",
        NS,
        "local time to complete the DEM",
        MetricSource::Node(|of| &of.ltdem_ns),
    ),
    (
        "LTMSM",
        NS,
        "local time to complete the MSM",
        MetricSource::Node(|of| &of.ltmsm_ns),
    ),
    (
        "LTPM",
        NS,
        "local time to complete the point-to-point microphase (PM)",
        MetricSource::Node(|of| &of.ltpm_ns),
    ),
    (
        "LTBBM",
        NS,
        "local time to complete the broadcast and barrier microphase (BBM)",
        MetricSource::Node(|of| &of.ltbbm_ns),
    ),
    (
        "LTRM",
        NS,
        "local time to complete the reduce microphase (RM)",
        MetricSource::Node(|of| &of.ltrm_ns),
    ),
    (
        "LTTS",
        NS,
        "local time to complete the time slice",
        MetricSource::Node(|of| &of.ltts_ns),
    ),
    (
        "LTR.sr",
        NS,
        "time in the routines of the Strobe Receiver, in a slice in which it had any",
        MetricSource::Thread("sr"),
    ),
    (
        "LTR.bs",
        NS,
        "the same of the Buffer Sender",
        MetricSource::Thread("bs"),
    ),
    (
        "LTR.br",
        NS,
        "the same of the Buffer Receiver",
        MetricSource::Thread("br"),
    ),
    (
        "LTR.dh",
        NS,
        "the same of the DMA Helper",
        MetricSource::Thread("dh"),
    ),
    (
        "LTR.ch",
        NS,
        "the same of the Collective Helper",
        MetricSource::Thread("ch"),
    ),
    (
        "LTR.rh",
        NS,
        "the same of the Reduce Helper",
        MetricSource::Thread("rh"),
    ),
    (
        "empty-runs",
        COUNT,
        "lengths of runs of slices that were not struck, because nobody had work",
        MetricSource::Node(|of| &of.empty_runs),
    ),
    (
        "computation",
        NS,
        "computation granularity: times between two blocking primitives",
        MetricSource::Rank(|of| &of.computation_granularity_ns),
    ),
    (
        "communication",
        NS,
        "communication overhead: times inside blocking primitives",
        MetricSource::Rank(|of| &of.communication_overhead_ns),
    ),
];

/// Counts of Tables 5.1 and 5.2, and figures beside them, that have no distribution, but a column
/// by slice.
const COUNTS: [(&str, &str); 10] = [
    (
        "NP2PDEM",
        "descriptors of sends and receives that were processed in the DEM",
    ),
    (
        "NP2PMSM",
        "messages that were scheduled in the MSM, in whole or in part",
    ),
    (
        "NCOLLDEM",
        "collectives that were processed in the DEM: the last arrival of a node was taken",
    ),
    (
        "NCOLLMSM",
        "collectives that were scheduled in the MSM: granted, and with members on the node",
    ),
    (
        "BPTS",
        "processes that were blocked during the time slice, summed over slices",
    ),
    (
        "budget",
        "bytes that may move into a node in a slice, and those that were scheduled to",
    ),
    (
        "carried",
        "bytes that had met their receive and were left for later slices",
    ),
    (
        "demanded",
        "slices that were struck because a rank asked, not by the clock",
    ),
    (
        "length",
        "the length of a time slice: with --strobe auto what was chosen, else what is set",
    ),
    (
        "near",
        "what ranks sent and entered by SMARTMAP, within a node, which no NIC sees",
    ),
];

/// Returns all metrics that the dumps have, in the order of reports.
#[must_use]
pub fn known(dumps: &RunDumps) -> Vec<Metric> {
    let fixed = FIXED.iter().map(|(name, unit, about, source)| Metric {
        name: (*name).to_owned(),
        unit: *unit,
        about: (*about).to_owned(),
        source: *source,
    });
    let called = |primitive: &&Primitive| {
        let mut ranks = dumps.ranks.iter();
        ranks.any(|rank| rank.primitives.contains_key(*primitive))
    };
    let of_calls = Primitive::ALL.iter().filter(called).flat_map(|primitive| {
        let latency = Metric {
            name: primitive.name().to_owned(),
            unit: NS,
            about: format!("latency of {primitive}, from the call to its completion"),
            source: MetricSource::Latency(*primitive),
        };
        let size = primitive.has_size().then(|| Metric {
            name: format!("{primitive}.size"),
            unit: Unit::Bytes,
            about: format!("data of each {primitive}"),
            source: MetricSource::Size(*primitive),
        });
        [Some(latency), size].into_iter().flatten()
    });
    fixed.chain(of_calls).collect()
}

/// Finds the metric of this name, regardless of case.
///
/// # Errors
///
/// [`UnknownMetric`], with all names that exist.
pub fn find(dumps: &RunDumps, name: &str) -> Result<Metric, UnknownMetric> {
    let known = known(dumps);
    let names: Vec<&str> = known.iter().map(|metric| metric.name.as_str()).collect();
    let place = names
        .iter()
        .position(|known| known.eq_ignore_ascii_case(name));
    let unknown = || UnknownMetric {
        name: name.to_owned(),
        known: names.join(", "),
    };
    let place = place.ok_or_else(unknown)?;
    known.into_iter().nth(place).ok_or_else(|| UnknownMetric {
        name: name.to_owned(),
        known: String::new(),
    })
}

/// Returns the names of Tables 5.1 and 5.2 and those beside them, with their meanings.
pub fn legend() -> impl Iterator<Item = (&'static str, &'static str)> {
    let fixed = FIXED.iter().map(|(name, _, about, _)| (*name, *about));
    fixed.chain(COUNTS)
}

impl Metric {
    /// Returns whether its figures are those of ranks; otherwise they are those of nodes.
    #[must_use]
    pub fn is_of_ranks(&self) -> bool {
        matches!(
            self.source,
            MetricSource::Rank(_) | MetricSource::Latency(_) | MetricSource::Size(_)
        )
    }

    /// Returns all figures, of all ranks or nodes, or of the one with this number.
    #[must_use]
    pub fn distribution(&self, dumps: &RunDumps, of: Option<u32>) -> DistributionDump {
        let wanted = |number: u32| of.is_none_or(|of| of == number);
        let ranks = dumps.ranks.iter().filter(|dump| wanted(dump.rank));
        let nodes = dumps.nodes.iter().filter(|dump| wanted(dump.node));
        match self.source {
            MetricSource::Rank(pick) => DistributionDump::merged(ranks.map(pick)),
            MetricSource::Latency(primitive) => {
                let seen = ranks.filter_map(|dump| dump.primitives.get(&primitive));
                DistributionDump::merged(seen.map(|seen| &seen.latency_ns))
            }
            MetricSource::Size(primitive) => {
                let seen = ranks.filter_map(|dump| dump.primitives.get(&primitive));
                DistributionDump::merged(seen.filter_map(|seen| seen.size_bytes.as_ref()))
            }
            MetricSource::Node(pick) => DistributionDump::merged(nodes.map(pick)),
            MetricSource::Thread(name) => {
                DistributionDump::merged(nodes.filter_map(|dump| dump.ltr_ns.get(name)))
            }
            MetricSource::Global(pick) => {
                DistributionDump::merged(nodes.filter_map(|dump| dump.global.as_ref()).map(pick))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_in_any_case_and_others_are_refused_with_all_that_there_are() {
        let mut rank = RankDump::default();
        rank.primitives.insert(Primitive::Isend, Default::default());
        let dumps = RunDumps {
            ranks: vec![rank],
            ..RunDumps::default()
        };
        assert_eq!(find(&dumps, "getts").unwrap().name, "GETTS");
        assert_eq!(find(&dumps, "mpi_isend.SIZE").unwrap().unit, Unit::Bytes);
        let refusal = find(&dumps, "MPI_Bcast").unwrap_err().to_string();
        let expected = "there is no metric \"MPI_Bcast\"; there are GETTS, GTDEM, ";
        assert!(refusal.starts_with(expected), "{refusal}");
        assert!(
            refusal.ends_with("communication, MPI_Isend, MPI_Isend.size"),
            "{refusal}"
        );
    }

    #[test]
    fn every_metric_of_tables_5_1_and_5_2_is_in_the_legend() {
        let names: Vec<&str> = legend().map(|(name, _)| name).collect();
        for name in [
            "GETTS", "GTDEM", "GTMSM", "GTTS", "USRSTS", "USRDEM", "USRMSM", "LETTS", "LTDEM",
            "LTMSM", "LTTS", "NP2PDEM", "NP2PMSM", "NCOLLDEM", "NCOLLMSM", "BPTS", "LTR.br",
        ] {
            assert!(names.contains(&name), "{name}");
        }
    }
}
