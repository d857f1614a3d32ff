//! Figure 3 of the paper on point-to-point messages, and both figures of the paper on collectives.

use std::thread;

use anyhow::Result;
use apps::bench::BenchOperation;

use super::Section;
use super::content::PaperContent;
use super::published::{self, PublishedResult};
use super::run::{BenchProgram, MeasuredSide, OperationTime, PaperRun};
use super::sizes::SizeSeries;
use super::smartmap_messages::four_ranks;

pub(super) const ON_A_NODE: Section = Section {
    name: "smartmap-collectives",
    heading: "SMARTMAP collectives: Figure 3 of the first paper, Figure 1 of the second",
    fill: on_a_node,
};

pub(super) const HIERARCHICAL: Section = Section {
    name: "smartmap-hierarchical",
    heading: "SMARTMAP collectives, Figure 2: hierarchical",
    fill: hierarchical,
};

const SIZES: [usize; 11] = [
    8,
    64,
    512,
    1 << 10,
    4 << 10,
    8 << 10,
    32 << 10,
    64 << 10,
    128 << 10,
    1 << 20,
    2 << 20,
];

const OPERATIONS: [BenchOperation; 4] = [
    BenchOperation::Reduce,
    BenchOperation::Bcast,
    BenchOperation::Allreduce,
    BenchOperation::Alltoall,
];

/// The same collectives over messages.
const LAYERED: [&str; 4] = [
    "reduce-layered",
    "bcast-layered",
    "allreduce-layered",
    "alltoall-layered",
];

/// The curve with which the papers compare.
const LAYERED_SHARED: &str = "over messages by shared memory";

const SIDES: [MeasuredSide<'static>; 5] = [
    MeasuredSide {
        name: "SMARTMAP collectives",
        layout: "--nodes 1 --copy-method slots",
        what: BenchProgram::Bench(&OPERATIONS),
    },
    MeasuredSide {
        name: "SMARTMAP serial: in turns",
        layout: "--nodes 1 --copy-method slots",
        what: BenchProgram::Loops(&["reduce-serial"]),
    },
    MeasuredSide {
        name: "SMARTMAP serial: the root alone",
        layout: "--nodes 1 --copy-method slots --folding serial",
        what: BenchProgram::Bench(&[BenchOperation::Reduce]),
    },
    MeasuredSide {
        name: "over SMARTMAP messages",
        layout: "--nodes 1 --copy-method slots",
        what: BenchProgram::Loops(&LAYERED),
    },
    MeasuredSide {
        name: LAYERED_SHARED,
        layout: "--nodes 1 --copy-method queues",
        what: BenchProgram::Loops(&LAYERED),
    },
];

fn on_a_node(run: &PaperRun<'_>, content: &mut PaperContent) -> Result<()> {
    let first = PublishedResult::of(&published::SMARTMAP_FIGURE_3)?;
    content.published(&first);
    content.published(&PublishedResult::of(&published::COLLECTIVES_FIGURE_1)?);
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let ranks = if cores < 4 { vec![4, 2] } else { vec![4] };
    for ranks in ranks {
        let what = format!("Collectives of {ranks} ranks");
        content.attempt(&what, |content| with_ranks(run, ranks, &first, content));
    }
    content.text(format!(
        "*Why they differ.* Collectives over messages are trees and pairwise exchanges of the benchmark's own \
        (`fixtures/src/bin/paper_loops`), by our messages on two roads, so the improvement is that of the collectives \
        alone. In the serial reduction ranks take turns on the root's buffer, in memory that they all map; \"the root alone\" is \
        our own reduction with `--folding serial`. Ours folds long contributions in shares of all ranks, as the paper's \
        parallel one, and short ones by the root where they lie. Roots stay the same from call to call, so a \
        broadcast is a stream in which nobody waits for the last one. {}",
        four_ranks()
    ));
    Ok(())
}

fn with_ranks(
    run: &PaperRun<'_>,
    ranks: usize,
    paper: &PublishedResult,
    content: &mut PaperContent,
) -> Result<()> {
    let rows = run.time(&SIDES, ranks, &SIZES)?;
    let figures = figures(&SIDES, &rows, &OPERATIONS, ranks);
    let panels: Vec<_> = figures
        .iter()
        .zip(OPERATIONS)
        .map(|(figure, op)| match ranks {
            4 => figure.panel(&[(paper, op.name())]),
            _ => figure.panel(&[]),
        })
        .collect();
    content.picture(
        &format!("smartmap-collectives-{ranks}"),
        &format!("Collectives of {ranks} ranks on a node"),
        &panels,
    )?;
    tables(&figures, LAYERED_SHARED, content);
    Ok(())
}

fn hierarchical(run: &PaperRun<'_>, content: &mut PaperContent) -> Result<()> {
    const NODES: usize = 4;
    const RANKS: usize = 16;
    const SHARED: &str = "hierarchical, shared memory";
    let published = PublishedResult::of(&published::COLLECTIVES_HIERARCHICAL)?;
    content.published(&published);
    let (nodes, processes) = (published.number("nodes")?, published.number("processes")?);
    let operations = &OPERATIONS[..3];
    let what = BenchProgram::Bench(operations);
    let sides = [
        MeasuredSide {
            name: "hierarchical, SMARTMAP",
            layout: "--nodes 4",
            what,
        },
        MeasuredSide {
            name: SHARED,
            layout: "--nodes 4 --copy-method queues",
            what,
        },
        MeasuredSide {
            name: "the NICs alone",
            layout: "--nodes 4 --collectives nic",
            what,
        },
    ];
    let rows = run.time(&sides, RANKS, &SIZES)?;
    let figures = figures(&sides, &rows, operations, RANKS);
    let panels: Vec<_> = figures.iter().map(|figure| figure.panel(&[])).collect();
    content.picture(
        "smartmap-hierarchical",
        &format!("Figure 2: collectives of {RANKS} ranks on {NODES} nodes"),
        &panels,
    )?;
    tables(&figures, SHARED, content);
    content.text(
        "*Why they differ.* All nodes are on this machine, so what goes between them is memory, too, and ranks of four nodes \
        take turns on its cores: the part of a collective that SMARTMAP makes faster is smaller than where a network card \
        is between the nodes, and the kernel's scheduling is in every time. \"The NICs alone\" do without the ranks' part, which the paper \
        does not have.",
    );
    content.text(format!(
        "*What is missing.* {processes} processes on {nodes} nodes need {nodes} machines of four cores and a fabric between \
        them.",
    ));
    Ok(())
}

/// Makes a figure for each operation, of all sides. The operation of a loop is the first part of
/// its name, also for loops over messages and in turns.
fn figures(
    sides: &[MeasuredSide<'_>],
    rows: &[Vec<OperationTime>],
    operations: &[BenchOperation],
    ranks: usize,
) -> Vec<SizeSeries> {
    let names = sides.iter().map(|side| side.name);
    let named: Vec<(&str, &[OperationTime])> = names.zip(rows.iter().map(Vec::as_slice)).collect();
    let figure = |op: &BenchOperation| {
        let is_wanted = |name: &str| name.split('-').next() == Some(op.name());
        SizeSeries::of(
            format!("{op}, {ranks} ranks"),
            "us",
            &named,
            is_wanted,
            |row| row.us,
        )
    };
    operations.iter().map(figure).collect()
}

fn tables(figures: &[SizeSeries], rival: &str, content: &mut PaperContent) {
    content.text(format!(
        "Improvement is that of the first column over *{rival}*."
    ));
    for figure in figures {
        content.text(format!("{}:", figure.title));
        content.table(figure.table(rival, false));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loops_belong_to_the_operation_that_begins_their_name() {
        let row = |op: &str| OperationTime {
            op: op.to_owned(),
            bytes: 8,
            us: 1.0,
        };
        let mut rows = vec![Vec::new(); SIDES.len()];
        rows[0] = ["reduce", "allreduce", "bcast"].map(row).to_vec();
        rows[1] = vec![row("reduce-serial")];
        rows[3] = LAYERED.map(row).to_vec();
        let figures = figures(&SIDES, &rows, &OPERATIONS, 4);
        let curves = |figure: usize| figures[figure].curves.len();
        assert_eq!([0, 1, 2, 3].map(curves), [3, 2, 2, 1]);
        assert_eq!(figures[0].title, "reduce, 4 ranks");
    }
}
