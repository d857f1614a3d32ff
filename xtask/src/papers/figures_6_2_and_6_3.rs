//! Figures 6.2 and 6.3 of the BCS-MPI paper: SWEEP3D with blocking and with non-blocking messages;
//! also SAGE at the same slices.

use anyhow::Result;

use super::Section;
use super::content::{PaperContent, PaperTable};
use super::picture::{Axis, Curve, Panel, Scale};
use super::published::{self, PublishedResult};
use super::run::{PaperRun, medians};
use crate::sage::SageReference;
use crate::sweep3d::{CommunicationStyle, Layouts};

pub(super) const SECTION: Section = Section {
    name: "figures-6.2-6.3",
    heading: "BCS-MPI, Figures 6.2 and 6.3: blocking and non-blocking communication",
    fill,
};

/// The lengths of fixed slices, in microseconds.
const SLICES_US: [u32; 3] = [300, 400, 500];

/// The slice for the variation of granularity.
const SLICE_US: u32 = 500;

/// Planes of a block: the fewer planes, the less computation between messages.
const PLANES: [u32; 6] = [50, 25, 10, 5, 3, 1];
const QUICK_PLANES: [u32; 3] = [25, 10, 3];

/// The layout without slices.
const BASELINE: &str = "--nodes 1 --intranode smartmap";

const ELASTIC: &str = "--nodes 2 --strobe elastic";

/// The deck's planes, angles in a block, and angles of an octant.
const PLANES_IN_ALL: u32 = 150;
const ANGLES: (u32, u32) = (2, 6);

fn fixed(slice_us: u32) -> String {
    format!("--nodes 2 --strobe fixed --time-slice {slice_us}us")
}

/// Returns a deck of 150 cubed, two ranks in a row, one iteration.
fn deck(planes: u32) -> String {
    let (block, octant) = ANGLES;
    let cubed = format!("{PLANES_IN_ALL} {PLANES_IN_ALL} {PLANES_IN_ALL}");
    format!("2 1 {planes} {block} 1\n{cubed} {octant} 1\n.05 .05 .05 -1.0\n0 0 0\n0 1 0\n")
}

/// Returns the number of blocks that a rank computes; messages pass between blocks.
fn steps(planes: u32) -> f64 {
    let (block, octant) = ANGLES;
    f64::from(8 * (octant / block) * PLANES_IN_ALL.div_ceil(planes))
}

fn fill(run: &PaperRun<'_>, content: &mut PaperContent) -> Result<()> {
    let published = PublishedResult::of(&published::FIGURES_6_2_AND_6_3)?;
    content.published(&published);
    content.attempt("The sweep of slices", |content| slices(run, content));
    content.attempt("The granularity", |content| {
        granularity(run, &published, content)
    });
    content.text(
        "*Why they differ.* The paper's figures are over the number of processes, each on a processor of its own, and \
        against Quadrics MPI; with two cores the length of the slice is varied instead, and the baseline is our own MPI \
        without slices. Two ranks are a pipeline of two, so in a step a rank waits for one neighbour rather than for four \
        messages, and its wait is hidden in part by the other's computation: that is why a coarse step costs less than the \
        paper's 30 %, and a finer one as much or more. With elastic strobes nobody waits for the next multiple of the slice. \
        SAGE posts its messages and computes meanwhile, as the paper says of it.",
    );
    content.text(
        "*What is missing.* More processes than cores would measure the kernel's scheduler (`sweep3d-oversubscribed` has \
        that); the paper's configurations need more machines.",
    );
    Ok(())
}

/// Solver times relative to the baseline.
#[derive(Debug)]
struct RelativeTimes {
    what: &'static str,
    baseline_s: f64,
    elastic: f64,
    fixed: Vec<f64>,
}

fn slices(run: &PaperRun<'_>, content: &mut PaperContent) -> Result<()> {
    let sweep = Layouts::new(run.workspace, &deck(PLANES[0]))?;
    let sage = SageReference::default();
    let cycles = run.choose("15", "60");
    let gas = |layout: &str| {
        let mut command = run.workspace.bcs(["run", "-n", "2"])?;
        command.args(layout.split_whitespace());
        command.args(["sage", "--deck", "timing_h", "--cycles", cycles]);
        sage.solve(&mut command)
    };
    let blocking = relative(run, "SWEEP3D, blocking", |layout| {
        sweep.solve(layout, CommunicationStyle::Blocking)
    })?;
    let posted = relative(run, "SWEEP3D, non-blocking", |layout| {
        sweep.solve(layout, CommunicationStyle::NonBlocking)
    })?;
    let all = [blocking, posted, relative(run, "SAGE, timing_h", gas)?];
    let mut heads = vec![
        "".to_owned(),
        "no slices (s)".to_owned(),
        "elastic".to_owned(),
    ];
    heads.extend(SLICES_US.map(|slice_us| format!("fixed {slice_us} us")));
    let mut table = PaperTable {
        heads,
        lines: Vec::new(),
    };
    for one in &all {
        let mut cells = vec![one.what.to_owned(), format!("{:.3}", one.baseline_s)];
        let shares = [one.elastic].into_iter().chain(one.fixed.iter().copied());
        cells.extend(shares.map(|share| format!("{share:.3} x")));
        table.line(cells);
    }
    content.text(format!(
        "Ours, by the length of the slice: two ranks on two nodes, times relative to `bcs run -n 2 {BASELINE}`. SWEEP3D \
        is 150 cubed, 2x1, mk 10, mmi 2."
    ));
    content.table(table);
    let curves = all.iter().flat_map(|one| {
        let (first, last) = (SLICES_US[0], SLICES_US[SLICES_US.len() - 1]);
        let level = [first, last].map(|slice_us| (f64::from(slice_us), one.elastic));
        let fixed = SLICES_US.iter().zip(&one.fixed);
        let fixed = fixed.map(|(slice_us, share)| (f64::from(*slice_us), *share));
        [
            Curve::measured(format!("{}, fixed", one.what), fixed),
            Curve::measured(format!("{}, elastic", one.what), level),
        ]
    });
    let panel = Panel {
        title: "Run time relative to one node without slices".to_owned(),
        x: Axis {
            label: "time slice (us)",
            scale: Scale::Linear,
        },
        y: Axis {
            label: "times the baseline",
            scale: Scale::Linear,
        },
        curves: curves.collect(),
    };
    content.picture(
        "figures-6.2-6.3",
        "Figures 6.2 and 6.3: what slices cost SWEEP3D and SAGE, by their length",
        &[panel],
    )
}

fn relative(
    run: &PaperRun<'_>,
    what: &'static str,
    solve: impl Fn(&str) -> Result<f64>,
) -> Result<RelativeTimes> {
    let layouts: Vec<String> = [BASELINE.to_owned(), ELASTIC.to_owned()]
        .into_iter()
        .chain(SLICES_US.map(fixed))
        .collect();
    let seconds = medians(layouts.len(), run.rounds(), |side| {
        Ok(vec![solve(&layouts[side])?])
    })?;
    let seconds = seconds.concat();
    let shares: Vec<f64> = seconds.iter().map(|one| one / seconds[0]).collect();
    Ok(RelativeTimes {
        what,
        baseline_s: seconds[0],
        elastic: shares[1],
        fixed: shares[2..].to_vec(),
    })
}

fn granularity(
    run: &PaperRun<'_>,
    published: &PublishedResult,
    content: &mut PaperContent,
) -> Result<()> {
    let slowdown = published.number("slowdown")?;
    let step_ms = published.number("compute_step_ms")?;
    let layouts = [BASELINE.to_owned(), fixed(SLICE_US)];
    let mut points: [Vec<(f64, f64)>; 2] = [Vec::new(), Vec::new()];
    let mut table = PaperTable::new(["mk", "compute step (ms)", "blocking", "non-blocking"]);
    for &planes in run.choose(&QUICK_PLANES[..], &PLANES) {
        let sweep = Layouts::new(run.workspace, &deck(planes))?;
        let seconds = medians(4, run.rounds(), |side| {
            let messages = [
                CommunicationStyle::Blocking,
                CommunicationStyle::NonBlocking,
            ][side / 2];
            Ok(vec![sweep.solve(&layouts[side % 2], messages)?])
        })?;
        let [near, fixed, near_posted, fixed_posted] = [0, 1, 2, 3].map(|side| seconds[side][0]);
        let step = near / steps(planes) * 1e3;
        let shares = [fixed / near, fixed_posted / near_posted];
        points[0].push((step, shares[0]));
        points[1].push((step, shares[1]));
        table.line([
            planes.to_string(),
            format!("{step:.2}"),
            format!("{:.3} x", shares[0]),
            format!("{:.3} x", shares[1]),
        ]);
    }
    content.text(format!(
        "By granularity, with fixed slices of {SLICE_US} us: a compute step is the baseline's run time divided by the \
        blocks that a rank computes."
    ));
    content.table(table);
    content.text(match crossing(&points[0], slowdown) {
        Some(ms) => format!(
            "Blocking costs the paper's {:.0} % at a compute step of {ms:.2} ms (between measured points on a \
            straight line); in the paper a step takes {step_ms} ms.",
            (slowdown - 1.0) * 100.0
        ),
        None => format!(
            "At none of these granularities blocking costs just the paper's {:.0} %.",
            (slowdown - 1.0) * 100.0
        ),
    });
    let [blocking, posted] = points;
    let panel = Panel {
        title: format!("Fixed slices of {SLICE_US} us"),
        x: Axis {
            label: "compute step (ms)",
            scale: Scale::Linear,
        },
        y: Axis {
            label: "times the baseline",
            scale: Scale::Linear,
        },
        curves: vec![
            Curve::measured("SWEEP3D, blocking", blocking),
            Curve::measured("SWEEP3D, non-blocking", posted),
            Curve::published("the paper, blocking", [(step_ms, slowdown)]),
        ],
    };
    content.picture(
        "figure-6.2-granularity",
        "Figure 6.2: what blocking costs, by the length of a compute step",
        &[panel],
    )
}

/// Returns where a curve first reaches `level`, between two of its points.
fn crossing(curve: &[(f64, f64)], level: f64) -> Option<f64> {
    curve.windows(2).find_map(|pair| {
        let [(x0, y0), (x1, y1)] = [pair[0], pair[1]];
        let between = (y0 - level) * (y1 - level) <= 0.0 && y0 != y1;
        between.then(|| x0 + (level - y0) / (y1 - y0) * (x1 - x0))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_is_found_between_points() {
        let curve = [(5.0, 1.1), (2.0, 1.2), (1.0, 1.4)];
        let at = crossing(&curve, 1.3).unwrap();
        assert!((at - 1.5).abs() < 1e-12, "{at}");
        assert_eq!(crossing(&curve, 1.5), None);
        assert_eq!(crossing(&[], 1.0), None);
    }

    #[test]
    fn steps_are_blocks_of_all_octants() {
        assert_eq!(steps(10), 360.0);
        assert_eq!(steps(4), 24.0 * 38.0, "the last block is short");
        assert!(deck(10).starts_with("2 1 10 2 1\n150 150 150 6 1\n"));
    }
}
