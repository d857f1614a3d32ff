//! The time in MPI of each rank, and how unequal it is.

use mds::dump::RankDump;

use super::fitted::fitted;
use super::tables::table;
use crate::words::milliseconds;
use crate::words::{cut, percent};

/// The longest list of ranks: it fits a screen.
const MOST: usize = 32;

/// Makes a row for each rank, or for those with the most time in MPI if there are too many, and the
/// imbalance of all.
#[must_use]
pub fn balance(dumps: &[RankDump], terminal: Option<usize>) -> String {
    let overhead_ns = |dump: &RankDump| dump.communication_overhead_ns.total as f64;
    let mut shown: Vec<&RankDump> = dumps.iter().collect();
    if dumps.len() > MOST {
        shown.sort_by(|one, other| overhead_ns(other).total_cmp(&overhead_ns(one)));
    }
    let more = cut(&mut shown, MOST, "ranks, with less time in MPI");
    let mut rows = table([
        "Rank", "Node", "Run(ms)", "Comp(ms)", "MPI(ms)", "MPI %", "Calls",
    ]);
    for dump in shown {
        let calls = dump.primitives.values().map(|seen| seen.latency_ns.count);
        rows.add_row([
            dump.rank.to_string(),
            dump.node.to_string(),
            milliseconds(dump.run_ns as f64),
            milliseconds(dump.computation_granularity_ns.total as f64),
            milliseconds(overhead_ns(dump)),
            percent(overhead_ns(dump), dump.run_ns as f64),
            calls.fold(0_u64, u64::saturating_add).to_string(),
        ]);
    }
    let mut text = fitted(rows, terminal);
    for line in more.into_iter().chain(imbalance(dumps)) {
        text.push('\n');
        text.push_str(&line);
    }
    text
}

/// Returns how far the slowest rank is above the average: a perfect balance would save this time.
fn imbalance(dumps: &[RankDump]) -> Option<String> {
    let computed = dumps
        .iter()
        .map(|dump| dump.computation_granularity_ns.total as f64);
    let most = computed.clone().fold(0.0, f64::max);
    let average = computed.sum::<f64>() / dumps.len().max(1) as f64;
    (dumps.len() > 1 && average > 0.0).then(|| {
        format!(
            "Computation: most {} ms, average {} ms, imbalance {} % ((most - average) / most)",
            milliseconds(most),
            milliseconds(average),
            percent(most - average, most)
        )
    })
}
