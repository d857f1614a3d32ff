//! Table 5.3: the figures of ranks.

use std::collections::BTreeMap;

use thiserror::Error;

use mds::dump::{DistributionDump, RankDump};
use mds::mmds::Primitive;

/// The ranks that a report is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReportScope {
    /// All of them, merged.
    AllRanks,
    /// This one.
    Rank(u32),
}

/// The reason why a report could not be made.
#[derive(Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReportError {
    /// The requested rank left no dump.
    #[error("failed to report on rank {rank}: it left no dump; there are dumps of {held}")]
    NoSuchRank {
        /// The requested rank.
        rank: u32,
        /// The ranks that have dumps, in words.
        held: String,
    },
}

/// Returns the summary in the layout of Table 5.3, in milliseconds: a row for every primitive that
/// was used, then the computation granularity and the communication overhead.
///
/// # Errors
///
/// [`ReportError::NoSuchRank`].
pub fn table_5_3(dumps: &[RankDump], whose: ReportScope) -> Result<String, ReportError> {
    let dumps = chosen(dumps, whose)?;
    let mut primitives: BTreeMap<Primitive, DistributionDump> = BTreeMap::new();
    for dump in dumps {
        for (primitive, seen) in &dump.primitives {
            primitives
                .entry(*primitive)
                .or_default()
                .merge(&seen.latency_ns);
        }
    }
    let computation =
        DistributionDump::merged(dumps.iter().map(|dump| &dump.computation_granularity_ns));
    let overhead =
        DistributionDump::merged(dumps.iter().map(|dump| &dump.communication_overhead_ns));

    let heads = [
        "Primitive",
        "Min(ms)",
        "Max(ms)",
        "Total(ms)",
        "Count",
        "Average(ms)",
    ];
    let mut table = super::tables::table(heads);
    for (primitive, latency_ns) in &primitives {
        table.add_row(super::tables::time_row(primitive.name(), latency_ns));
    }
    table.add_row(super::tables::time_row("Comp Granularity", &computation));
    table.add_row(super::tables::time_row("Comm Overhead", &overhead));
    Ok(table.trim_fmt())
}

/// Returns one line that compares the run time with the sum of computation and communication, as
/// the end of section 5.4 does: they differ only if the recorder lost time.
///
/// # Errors
///
/// [`ReportError::NoSuchRank`].
pub fn run_time(dumps: &[RankDump], whose: ReportScope) -> Result<String, ReportError> {
    let dumps = chosen(dumps, whose)?;
    let seconds = |of: fn(&RankDump) -> u64| dumps.iter().map(of).sum::<u64>() as f64 / 1e9;
    Ok(format!(
        "run time {:.3} s, computation {:.3} s + communication {:.3} s (sums over {} {})",
        seconds(|dump| dump.run_ns),
        seconds(|dump| dump.computation_granularity_ns.total),
        seconds(|dump| dump.communication_overhead_ns.total),
        dumps.len(),
        if dumps.len() == 1 { "rank" } else { "ranks" },
    ))
}

pub(super) fn chosen(dumps: &[RankDump], whose: ReportScope) -> Result<&[RankDump], ReportError> {
    match whose {
        ReportScope::AllRanks => Ok(dumps),
        ReportScope::Rank(rank) => {
            let found = dumps.iter().position(|dump| dump.rank == rank);
            let index = found.ok_or_else(|| ReportError::NoSuchRank {
                rank,
                held: held(dumps),
            })?;
            Ok(&dumps[index..=index])
        }
    }
}

fn held(dumps: &[RankDump]) -> String {
    let ranks = dumps.iter().map(|dump| dump.rank);
    match (ranks.clone().min(), ranks.max()) {
        (Some(low), Some(high)) if low != high => {
            format!("{} ranks from {low} to {high}", dumps.len())
        }
        (Some(only), _) => format!("rank {only}"),
        (None, _) => "no rank at all".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rank_that_left_no_dump_is_named() {
        let dumps: Vec<_> = (4..7)
            .map(|rank| RankDump {
                rank,
                ..RankDump::default()
            })
            .collect();
        let error = table_5_3(&dumps, ReportScope::Rank(9)).unwrap_err();
        assert_eq!(
            error.to_string(),
            "failed to report on rank 9: it left no dump; there are dumps of 3 ranks from 4 to 6"
        );
        assert!(
            run_time(&[], ReportScope::Rank(0))
                .unwrap_err()
                .to_string()
                .ends_with("no rank at all")
        );
    }
}
