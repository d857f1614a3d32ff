//! Figures 1 and 2 of the paper on point-to-point messages over SMARTMAP.

use std::thread;

use anyhow::Result;
use apps::bench::BenchOperation;

use super::Section;
use super::content::PaperContent;
use super::picture::{Curve, Scale};
use super::published::{self, PublishedResult};
use super::run::{BenchProgram, MeasuredSide, OperationTime, PaperRun};
use super::sizes::SizeSeries;

pub(super) const FIGURE_1: Section = Section {
    name: "smartmap-figure-1",
    heading: "SMARTMAP point-to-point, Figure 1: latency, bandwidth, exchange, sendrecv",
    fill: figure_1,
};

pub(super) const FIGURE_2: Section = Section {
    name: "smartmap-figure-2",
    heading: "SMARTMAP point-to-point, Figure 2: message rates",
    fill: figure_2,
};

/// Paths between the ranks of a node, named after the paper's.
pub(super) const ROADS: [(&str, &str); 3] = [
    ("SMARTMAP", "--nodes 1 --copy-method slots"),
    (SHARED_MEMORY, "--nodes 1 --copy-method queues"),
    ("the kernel's copies", "--nodes 1 --copy-method kernel"),
];

/// Messages are copied into shared memory, and out of it.
pub(super) const SHARED_MEMORY: &str = "shared memory";

const SIZES: [usize; 14] = [
    0,
    8,
    64,
    256,
    1 << 10,
    2 << 10,
    4 << 10,
    8 << 10,
    16 << 10,
    32 << 10,
    64 << 10,
    256 << 10,
    1 << 20,
    4 << 20,
];

/// The sizes for message rates, with 64 messages in flight.
const SMALL: [usize; 8] = [8, 16, 32, 64, 128, 512, 1 << 10, 4 << 10];

/// The messages of a window of `pairs`.
const WINDOW: f64 = 64.0;

/// Makes a side of each path with a program.
fn roads<'a>(what: BenchProgram<'a>) -> Vec<MeasuredSide<'a>> {
    let side = |&(name, layout): &(&'a str, &'a str)| MeasuredSide { name, layout, what };
    ROADS.iter().map(side).collect()
}

fn named<'a>(
    sides: &[MeasuredSide<'a>],
    rows: &'a [Vec<OperationTime>],
) -> Vec<(&'a str, &'a [OperationTime])> {
    let rows = rows.iter().map(Vec::as_slice);
    sides.iter().map(|side| side.name).zip(rows).collect()
}

fn figure_1(run: &PaperRun<'_>, content: &mut PaperContent) -> Result<()> {
    let published = PublishedResult::of(&published::SMARTMAP_FIGURE_1)?;
    content.published(&published);
    let us = |row: &OperationTime| row.us;
    let pingpong = roads(BenchProgram::Bench(&[BenchOperation::Latency]));
    let rows = run.time(&pingpong, 2, &SIZES)?;
    let pairs = named(&pingpong, &rows);
    let latency = SizeSeries::of("(a) PingPong, 2 ranks", "us", &pairs, |_| true, us);
    let bandwidth = SizeSeries::of(
        "(b) PingPong bandwidth, 2 ranks",
        "MB/s",
        &pairs,
        |_| true,
        |row| row.bytes as f64 / row.us,
    );
    let bandwidth = without_zero(bandwidth);
    let exchange = roads(BenchProgram::Loops(&["exchange"]));
    let rows = run.time(&exchange, 4, &SIZES[1..])?;
    let exchange = SizeSeries::of(
        "(c) Exchange, 4 ranks",
        "us",
        &named(&exchange, &rows),
        |_| true,
        us,
    );
    let sendrecv = roads(BenchProgram::Bench(&[BenchOperation::Sendrecv]));
    let rows = run.time(&sendrecv, 4, &SIZES[1..])?;
    let sendrecv = SizeSeries::of(
        "(d) Sendrecv, 4 ranks",
        "us",
        &named(&sendrecv, &rows),
        |_| true,
        us,
    );
    let mut bandwidth_panel = bandwidth.panel(&[]);
    let peak = published.number("peak_bandwidth_mb_per_s")?;
    let whole = [SIZES[1], SIZES[SIZES.len() - 1]].map(|bytes| (bytes as f64, peak));
    bandwidth_panel
        .curves
        .push(Curve::published("the paper: SMARTMAP's peak", whole));
    let panels = [
        latency.panel(&[(&published, "latency")]),
        bandwidth_panel,
        exchange.panel(&[]),
        sendrecv.panel(&[]),
    ];
    content.picture(
        "smartmap-figure-1",
        "Figure 1: point-to-point messages within a node",
        &panels,
    )?;
    content.text("Improvement is that of SMARTMAP over shared memory, as the paper plots it.");
    for (figure, more_is_better) in [
        (latency, false),
        (bandwidth, true),
        (exchange, false),
        (sendrecv, false),
    ] {
        content.text(format!("{}:", figure.title));
        content.table(figure.table(SHARED_MEMORY, more_is_better));
    }
    content.text(format!(
        "*Why they differ.* The paper's processor is an Opteron of 2.2 GHz, and its messages are synchronous: a message moves \
        when its receive is posted. Ours carry what is short in the entry of the queue, which a sender does not wait for. \
        Shared memory is our own road with two copies (`--copy-method queues`), which shares queues and matching with SMARTMAP; \
        so what is short is the same on both, and the improvement is that of one copy over two, not of one library over \
        another. The kernel's copies stand for Portals, where the operating system copies, too. {}",
        four_ranks()
    ));
    Ok(())
}

/// Drops size 0, which has no bandwidth.
fn without_zero(mut figure: SizeSeries) -> SizeSeries {
    for (_, points) in &mut figure.curves {
        points.retain(|point| point.0 > 0);
    }
    figure
}

/// Returns a note on four ranks on this machine.
pub(super) fn four_ranks() -> String {
    match thread::available_parallelism().map_or(1, usize::from) {
        cores if cores < 4 => format!(
            "The paper's four processes have a core each; here {cores} cores run them in turns, so times of four ranks \
            have waits for a core in them, which is no memory's speed."
        ),
        _ => "Four ranks have a core each, as in the paper.".to_owned(),
    }
}

fn figure_2(run: &PaperRun<'_>, content: &mut PaperContent) -> Result<()> {
    let published = PublishedResult::of(&published::SMARTMAP_FIGURE_2)?;
    content.published(&published);
    let sides = roads(BenchProgram::Loops(&["pairs"]));
    let mut panels = Vec::new();
    for (pairs, title, theirs) in [
        (1, "(a) one pair", "one_pair_millions"),
        (2, "(b) two pairs", "two_pairs_millions"),
    ] {
        let rows = run.time(&sides, 2 * pairs, &SMALL)?;
        let messages = WINDOW * pairs as f64;
        let figure = SizeSeries::of(
            title,
            "million messages a second",
            &named(&sides, &rows),
            |_| true,
            |row| messages / row.us,
        );
        let mut panel = figure.panel(&[]);
        panel.y.scale = Scale::Linear;
        let peak = published.number(theirs)?;
        let whole = [SMALL[0], SMALL[SMALL.len() - 1]].map(|bytes| (bytes as f64, peak));
        panel
            .curves
            .push(Curve::published("the paper: SMARTMAP's peak", whole));
        panels.push(panel);
        content.text(format!("{title}:"));
        content.table(figure.table(SHARED_MEMORY, true));
    }
    content.picture(
        "smartmap-figure-2",
        "Figure 2: message rates within a node",
        &panels,
    )?;
    content.text(format!(
        "*Why they differ.* A window of 64 messages is under way, then acknowledged, as in the benchmark of the paper. Short \
        messages are in the queue's entries on all of our roads, so they have one rate; in the paper SMARTMAP's are \
        synchronous and shared memory's are not, which is why its shared memory is the faster one for one pair. {}",
        four_ranks()
    ));
    Ok(())
}
