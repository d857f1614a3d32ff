//! Table 5.3 of the BCS-MPI paper: the MMDS report of SAGE.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context, Result};
use mds::dump::{DistributionDump, RankDump, read_summaries};
use mds_reports::report::{ReportScope, run_time};

use super::Section;
use super::content::{PaperContent, PaperTable};
use super::published::{self, PublishedResult, PublishedTable};
use super::run::PaperRun;
use crate::process;

pub(super) const SECTION: Section = Section {
    name: "table-5.3",
    heading: "BCS-MPI, Table 5.3: SAGE as the MMDS sees it",
    fill,
};

const LAYOUT: &str = "-n 4 --nodes 2";

/// The rank of the table. The paper's table is also of one process, as its sums are close to the
/// run time.
const RANK: u32 = 0;

const LIMIT: Duration = Duration::from_secs(120);

fn fill(run: &PaperRun<'_>, content: &mut PaperContent) -> Result<()> {
    let published = PublishedResult::of(&published::TABLE_5_3)?;
    let theirs = published
        .table
        .as_ref()
        .context("the paper's table is not there")?;
    content.text(format!(
        "**{}** of *{}*: {} Ours is that of rank {RANK} of `bcs run {LAYOUT} --mds DIR sage --deck timing_h`.",
        published.place, published.paper, published.caption
    ));
    let dir = tempfile::tempdir().context("failed to make a directory for the dump")?;
    let mut command = run.workspace.bcs(["run"])?;
    command
        .args(LAYOUT.split_whitespace())
        .arg("--mds")
        .arg(dir.path());
    command.args(["sage", "--deck", "timing_h"]);
    process::run(&mut command, LIMIT)?.succeeded()?;
    let dumps = read_summaries(dir.path())?.require_complete()?;
    let rank = dumps.rank(RANK).context("rank 0 has left no dump")?;
    content.table(beside(theirs, rank));
    content.text(format!("The paper says: {}", published.says.join(" ")));
    content.text(format!(
        "Ours: {}.",
        run_time(&dumps.ranks, ReportScope::Rank(RANK))?
    ));
    content.text(
        "*Why they differ.* The deck of the paper is the original SAGE's, which is not public; ours is a smaller problem of \
        a code with the same pattern of messages, so counts and sums are another program's. A latency is that of a call \
        until its completion, so a non-blocking call is as long as its neighbours compute before they answer; minima are \
        lower than the paper's because our slices are elastic: what somebody waits for does not wait for the next strobe, \
        and two of the four ranks share a node and reach each other's memory.",
    );
    Ok(())
}

/// Returns a table with the lines of the paper's table first. A call that only one of both makes
/// has a dash for the other.
fn beside(theirs: &PublishedTable, rank: &RankDump) -> PaperTable {
    let mut table = PaperTable::new([
        "Primitive (ms)",
        "paper: min",
        "max",
        "total",
        "count",
        "average",
        "ours: min",
        "max",
        "total",
        "count",
        "average",
    ]);
    let mut ours: BTreeMap<&str, &DistributionDump> = rank
        .primitives
        .iter()
        .map(|(primitive, seen)| (primitive.name(), &seen.latency_ns))
        .collect();
    ours.insert("Comp Granularity", &rank.computation_granularity_ns);
    ours.insert("Comm Overhead", &rank.communication_overhead_ns);
    let none = || vec!["-".to_owned(); 5];
    for line in &theirs.lines {
        let ours = ours.remove(line[0].as_str()).map_or_else(none, figures);
        table.line([line.clone(), ours].concat());
    }
    for (name, figure) in ours {
        table.line([vec![name.to_owned()], none(), figures(figure)].concat());
    }
    table
}

/// Returns minimum, maximum, total, count and average.
fn figures(times_ns: &DistributionDump) -> Vec<String> {
    let ms = |ns: f64| format!("{:.3}", ns / 1e6);
    vec![
        ms(times_ns.min as f64),
        ms(times_ns.max as f64),
        ms(times_ns.total as f64),
        times_ns.count.to_string(),
        ms(times_ns.average),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use mds::dump::PrimitiveDump;
    use mds::mmds::Primitive;

    #[test]
    fn each_call_has_a_line_whoever_makes_it() {
        let seen = |ns: u64| PrimitiveDump {
            latency_ns: DistributionDump::of([ns, 3 * ns]),
            size_bytes: None,
        };
        let calls = [
            (Primitive::Send, seen(1_000_000)),
            (Primitive::Isend, seen(2_000_000)),
        ];
        let rank = RankDump {
            primitives: calls.into(),
            ..RankDump::default()
        };
        let published = PublishedResult::of(&published::TABLE_5_3).unwrap();
        let theirs = published.table.unwrap();
        let table = beside(&theirs, &rank);
        assert_eq!(table.lines.len(), theirs.lines.len() + 1);
        let line = |name: &str| {
            let line = table.lines.iter().find(|line| line[0] == name);
            line.unwrap()[1..].join(" ")
        };
        assert_eq!(line("MPI_Send"), "- - - - - 1.000 3.000 4.000 2 2.000");
        let both = "0.588 16.576 21026.554 4396 4.783 2.000 6.000 8.000 2 4.000";
        assert_eq!(line("MPI_Isend"), both);
        assert!(line("MPI_Recv").ends_with(" - - - - -"));
    }
}
