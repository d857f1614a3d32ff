//! Reports, compared letter by letter. After an intended change: `BLESS=1 cargo test -p mds`, and
//! read the diff.

#[path = "golden_report/agreement.rs"]
mod agreement;
mod sample_run;

use std::path::Path;
use std::{env, fs};

use mds::dump::{MessageTransport, RunDumps};
use mds_reports::figures::{self, Series};
use mds_reports::report::{self, ReportScope};

fn assert_golden(name: &str, found: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/golden")
        .join(name);
    if env::var_os("BLESS").is_some() {
        fs::write(&path, format!("{found}\n")).unwrap();
    }
    let golden = fs::read_to_string(&path).unwrap();
    assert_eq!(format!("{found}\n"), golden, "{name} differs:\n{found}");
}

#[test]
fn a_whole_run() {
    let report = report::full_report(&sample_run::dumps(), ReportScope::AllRanks, None).unwrap();
    assert_golden("all_ranks.txt", &report);
}

#[test]
fn a_report_is_no_wider_than_its_terminal() {
    let whole = sample_run::dumps();
    for columns in [80, 100] {
        let report = report::full_report(&whole, ReportScope::AllRanks, Some(columns)).unwrap();
        let wide = report.lines().find(|line| line.chars().count() > columns);
        assert_eq!(wide, None, "at {columns} columns:\n{report}");
    }
}

#[test]
fn one_rank() {
    let report = report::full_report(&sample_run::dumps(), ReportScope::Rank(3), None).unwrap();
    assert_golden("rank_3.txt", &report);
}

#[test]
fn a_run_that_was_killed() {
    let mut dumps = sample_run::dumps();
    dumps.run = None;
    dumps.ranks.truncate(2);
    dumps.ranks[1].finalized = false;
    dumps.nodes.clear();
    let report = report::full_report(&dumps, ReportScope::AllRanks, None).unwrap();
    assert_golden("killed.txt", &report);
}

#[test]
fn histograms_of_times_sizes_and_counts() {
    let dumps = sample_run::dumps();
    let drawn = [
        "MPI_Waitall",
        "computation",
        "MPI_Isend.size",
        "GETTS",
        "USRDEM",
    ]
    .map(|name| {
        let metric = figures::find(&dumps, name).unwrap();
        report::histogram(
            &metric.name,
            &metric.distribution(&dumps, None),
            metric.unit,
        )
    });
    assert_golden("histograms.txt", &drawn.join("\n\n"));
}

#[test]
fn slices_of_the_job_and_of_a_node() {
    let dumps = sample_run::dumps();
    let columns = [
        "GETTS",
        "LTDEM",
        "NP2PDEM",
        "NCOLLMSM",
        "BPTS",
        "near_bytes",
    ];
    let columns = columns.map(|name| figures::column(name).unwrap());
    let slices = |node| report::slices(&dumps, &Series::of(&dumps, node, 3, 12), &columns);
    assert_golden(
        "slices.txt",
        &format!("{}\n\n{}", slices(None), slices(Some(2))),
    );
}

#[test]
fn the_matrix_by_road() {
    let dumps = sample_run::dumps();
    let roads = [
        None,
        Some(MessageTransport::Nic),
        Some(MessageTransport::Smartmap),
    ];
    let matrices = roads.map(|road| report::matrix(&dumps, road));
    assert_golden("matrix.txt", &matrices.join("\n\n"));
}

#[test]
fn two_runs_side_by_side() {
    let one = sample_run::dumps();
    let mut other = sample_run::dumps();
    let run = other.run.as_mut().unwrap();
    run.time_slice_ns *= 2;
    run.began_unix_ns += 60_000_000_000;
    for rank in &mut other.ranks {
        rank.computation_granularity_ns = sample_run::distribution([3_000_000; 40]);
        rank.primitives.remove(&mds::mmds::Primitive::Irecv);
    }
    assert_golden("compare.txt", &report::compare(&one, &other));
}

#[test]
fn who_waited_for_whom() {
    let blame = figures::blame(&sample_run::dumps());
    assert_golden("blame.txt", &report::blame(&blame, None));
}

#[test]
fn a_rank_that_left_no_dump_is_named() {
    let mut dumps = sample_run::dumps();
    dumps.ranks.drain(..3);
    let error = report::full_report(&dumps, ReportScope::Rank(9), None).unwrap_err();
    assert_eq!(
        error.to_string(),
        "failed to report on rank 9: it left no dump; there are dumps of 3 ranks from 3 to 5"
    );
}

/// The report shows what exists, whatever is missing.
#[test]
fn every_section_does_without_every_other() {
    let whole = sample_run::dumps;
    let summaries = || {
        let mut dumps = whole();
        for rank in &mut dumps.ranks {
            rank.calls.clear();
            rank.messages.clear();
            for seen in rank.primitives.values_mut() {
                seen.latency_ns.histogram.clear();
            }
        }
        for node in &mut dumps.nodes {
            node.slices.clear();
            node.global = None;
        }
        dumps
    };
    for dumps in [
        summaries(),
        RunDumps {
            ranks: Vec::new(),
            ..whole()
        },
        RunDumps::default(),
    ] {
        let text = report::full_report(&dumps, ReportScope::AllRanks, None).unwrap();
        assert!(!text.is_empty());
        drop(report::compare(&dumps, &whole()));
        drop(report::blame(&figures::blame(&dumps), None));
        let all = Series::of(&dumps, None, 0, u64::MAX);
        drop(report::slices(&dumps, &all, &figures::columns()));
    }
}
