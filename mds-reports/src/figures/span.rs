//! The time span of a run.

use mds::dump::{NONE, RunDumps};

/// Returns the first and the last time in the dumps, by their clock.
#[must_use]
pub fn span_ns(dumps: &RunDumps) -> (u64, u64) {
    let began_ns = dumps.began_ns();
    let run = dumps.run.iter().map(|run| run.ended_ns);
    let ranks = dumps.ranks.iter();
    let ranks = ranks.map(|dump| dump.began_ns.saturating_add(dump.run_ns));
    let strobes = dumps.nodes.iter().flat_map(|dump| &dump.slices);
    let slices = strobes.map(|row| row.strobe_ns.saturating_add(row.ltts_ns));
    let ended_ns = run
        .chain(ranks)
        .chain(slices)
        .filter(|ns| *ns != NONE)
        .max();
    (began_ns, ended_ns.unwrap_or_default().max(began_ns))
}
