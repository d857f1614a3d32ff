//! Figure 6.1 of the BCS-MPI paper: the run time of SAGE by the number of processes.

use std::collections::BTreeMap;
use std::{fs, thread};

use anyhow::{Context, Result, ensure};
use apps::sage::deck::BUILT_IN;

use super::Section;
use super::content::{PaperContent, PaperTable};
use super::picture::{Axis, Curve, Panel, Scale, Stroke};
use super::published::{self, PublishedResult};
use super::run::{PaperRun, medians};
use crate::sage::SageReference;

pub(super) const SECTION: Section = Section {
    name: "figure-6.1",
    heading: "BCS-MPI, Figure 6.1: SAGE by the number of processes",
    fill,
};

const DECKS: [&str; 2] = ["timing_h", "timing_c"];

const RANKS: [u32; 5] = [1, 2, 4, 8, 16];

const NODES: [u32; 3] = [1, 2, 4];

/// How the problem grows with the number of ranks.
#[derive(Debug, Clone, Copy)]
enum Scaling {
    /// The problem stays the same.
    Strong,
    /// One of the deck's boxes for each rank, side by side, with a blast in each.
    Weak,
}

/// A job.
#[derive(Debug, Clone, Copy)]
struct Point {
    ranks: u32,
    nodes: u32,
}

fn fill(run: &PaperRun<'_>, content: &mut PaperContent) -> Result<()> {
    content.published(&PublishedResult::of(&published::FIGURE_6_1)?);
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let mut panels = Vec::new();
    for deck in DECKS {
        for (scaling, what) in [(Scaling::Strong, "strong"), (Scaling::Weak, "weak")] {
            let what = format!("{deck}, {what} scaling");
            content.attempt(&what, |content| {
                let times = measure(run, deck, scaling)?;
                content.text(format!("{what}, seconds:"));
                content.table(table(&times));
                panels.push(panel(what.clone(), &times, scaling, cores));
                Ok(())
            });
        }
    }
    content.picture(
        "figure-6.1",
        "Figure 6.1: SAGE by the number of ranks",
        &panels,
    )?;
    content.text(format!(
        "*Why they differ.* The paper has a processor for each process, and so the run time of its figure is that of \
        one process's share. Here {cores} cores run all ranks: beyond {cores} ranks no run can be faster, and with weak \
        scaling the time grows with the work. So each picture has the time that a perfect runtime would take on these cores, \
        from the time of one rank; what is above it is the share of MPI, of ranks that take turns on a core, and of work \
        that is done twice at borders. On one node no slice is struck (SMARTMAP), so the distance between its curve and \
        those of more nodes is what the beat costs. Quadrics MPI is not to be had. The results of all runs of a problem \
        are the same to the bit.",
    ));
    content.text(
        "*What is missing.* The paper's 32 nodes of two processors need 32 machines and a fabric between them.",
    );
    Ok(())
}

fn measure(run: &PaperRun<'_>, deck: &str, scaling: Scaling) -> Result<Vec<(Point, f64)>> {
    let dir = tempfile::tempdir().context("failed to make a directory for the decks")?;
    let points: Vec<Point> = RANKS
        .iter()
        .flat_map(|&ranks| NODES.iter().map(move |&nodes| Point { ranks, nodes }))
        .filter(|point| point.nodes <= point.ranks)
        .collect();
    let mut problems: BTreeMap<u32, SageReference> = BTreeMap::new();
    for boxes in RANKS {
        fs::write(
            dir.path().join(boxes.to_string()),
            boxes_beside(deck, boxes)?,
        )
        .context("failed to write a deck")?;
        problems.insert(boxes, SageReference::default());
    }
    let cycles = match scaling {
        Scaling::Strong => run.choose("5", "60"),
        Scaling::Weak => run.choose("3", "20"),
    };
    let seconds = medians(points.len(), run.choose(1, 3), |side| {
        let Point { ranks, nodes } = points[side];
        let boxes = match scaling {
            Scaling::Strong => 1,
            Scaling::Weak => ranks,
        };
        let words = [
            "run",
            "-n",
            &ranks.to_string(),
            "--nodes",
            &nodes.to_string(),
        ]
        .map(str::to_owned);
        let mut command = run.workspace.bcs(words.iter().map(String::as_str))?;
        command.args(["sage", "--cycles", cycles, "--deck"]);
        command.arg(dir.path().join(boxes.to_string()));
        Ok(vec![problems[&boxes].solve(&mut command)?])
    })?;
    Ok(points.into_iter().zip(seconds.concat()).collect())
}

/// Returns a deck of `boxes` boxes of a deck in a row along z, each with the deck's blast.
fn boxes_beside(deck: &str, boxes: u32) -> Result<String> {
    const CELLS: &str = "cells = [16, 16, 16]";
    const BALL: &str = "ball = { middle = [0.3, 0.4, 0.5], radius = 0.15 }";
    let built_in = BUILT_IN.iter().find(|(name, _)| *name == deck);
    let (_, text) = built_in.with_context(|| format!("there is no deck {deck}"))?;
    let at = text.find("[[region]]").and_then(|first| {
        let ball = first + text[first..].find(BALL)?;
        let start = text[..ball].rfind("[[region]]")?;
        let end = text[ball..]
            .find("\n[")
            .map_or(text.len(), |end| ball + end);
        Some(start..end)
    });
    let at = at.with_context(|| format!("the deck {deck} has no region with `{BALL}`"))?;
    ensure!(text.contains(CELLS), "the deck {deck} has no `{CELLS}`");
    let blast = text[at.clone()].to_owned() + "\n";
    let others = (0..boxes).map(|number| {
        let middle = format!("middle = [0.3, 0.4, {}.5]", number);
        blast.replace("middle = [0.3, 0.4, 0.5]", &middle)
    });
    let all = format!(
        "{}{}{}",
        &text[..at.start],
        others.collect::<String>(),
        &text[at.end..]
    );
    Ok(all.replace(CELLS, &format!("cells = [16, 16, {}]", 16 * boxes)))
}

fn table(times: &[(Point, f64)]) -> PaperTable {
    let mut table = PaperTable::new(["ranks", "1 node", "2 nodes", "4 nodes"]);
    for ranks in RANKS {
        let of = |nodes: u32| {
            let mut times = times.iter();
            let found = times.find(|(point, _)| point.ranks == ranks && point.nodes == nodes);
            found.map_or_else(|| "-".to_owned(), |(_, seconds)| format!("{seconds:.3}"))
        };
        let cells = NODES.map(of);
        table.line([&[ranks.to_string()], &cells[..]].concat());
    }
    table
}

fn panel(title: String, times: &[(Point, f64)], scaling: Scaling, cores: usize) -> Panel {
    let ours = NODES.iter().map(|&nodes| {
        let on = times.iter().filter(move |(point, _)| point.nodes == nodes);
        let name = if nodes == 1 {
            "1 node"
        } else {
            &format!("{nodes} nodes")
        };
        Curve::measured(
            name,
            on.map(|(point, seconds)| (f64::from(point.ranks), *seconds)),
        )
    });
    let alone = times.iter().find(|(point, _)| point.ranks == 1);
    let alone = alone.map_or(0.0, |(_, seconds)| *seconds);
    let perfect = RANKS.iter().map(|&ranks| {
        let ranks = f64::from(ranks);
        let work = match scaling {
            Scaling::Strong => 1.0,
            Scaling::Weak => ranks,
        };
        (ranks, alone * work / ranks.min(cores as f64))
    });
    let perfect = Curve {
        stroke: Stroke::Published,
        ..Curve::measured(format!("1 rank, shared out on {cores} cores"), perfect)
    };
    Panel {
        title,
        x: Axis {
            label: "ranks",
            scale: Scale::Doublings,
        },
        y: Axis {
            label: "run time (s)",
            scale: match scaling {
                Scaling::Strong => Scale::Linear,
                Scaling::Weak => Scale::Decades,
            },
        },
        curves: ours.chain([perfect]).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use apps::sage::Deck;

    #[test]
    fn decks_of_more_boxes_have_a_blast_in_each() {
        for deck in DECKS {
            let one: Deck = boxes_beside(deck, 1).unwrap().parse().unwrap();
            let (_, text) = BUILT_IN.iter().find(|(name, _)| *name == deck).unwrap();
            assert_eq!(one, text.parse().unwrap(), "{deck}");
            let four: Deck = boxes_beside(deck, 4).unwrap().parse().unwrap();
            assert_eq!(four.mesh.cells, [16, 16, 64]);
            assert_eq!(four.regions.len(), one.regions.len() + 3);
            let middle = |region: usize| four.regions[region].ball.as_ref().unwrap().middle[2];
            assert_eq!([1, 2, 3, 4].map(middle), [0.5, 1.5, 2.5, 3.5]);
            assert_eq!(four.conduction, one.conduction);
        }
        assert!(boxes_beside("sod", 2).is_err());
    }

    #[test]
    fn the_perfect_curve_ends_at_the_cores() {
        let times = [(Point { ranks: 1, nodes: 1 }, 8.0)];
        let at_16 = |scaling| {
            let panel = panel(String::new(), &times, scaling, 2);
            panel.curves.last().unwrap().points[4]
        };
        assert_eq!(at_16(Scaling::Strong), (16.0, 4.0));
        assert_eq!(at_16(Scaling::Weak), (16.0, 64.0));
    }
}
