//! Checks the assumptions of section 5.3 against the figures of any run, and derives advice on the
//! length of the slice.

use std::collections::BTreeMap;

use crate::figures::collective;
use mds::dump::{DistributionDump, NONE, RunDump, RunDumps, StrobeRow};
use mds::mmds::Primitive;

use crate::words::{duration, percent};

/// Returns a line for each of the three assumptions, as far as the window has rows: slices at
/// regular intervals, calls of collectives at regular numbers of slices, and their scheduling at
/// regular numbers.
#[must_use]
pub fn assumptions(dumps: &RunDumps) -> String {
    let lines = [
        regularity(dumps),
        calls(dumps),
        scheduled(dumps),
        lower_bounds(dumps),
    ];
    lines.into_iter().flatten().collect::<Vec<_>>().join("\n")
}

fn strobes(dumps: &RunDumps) -> impl Iterator<Item = &StrobeRow> + Clone {
    let global = dumps.nodes.iter().filter_map(|dump| dump.global.as_ref());
    global.flat_map(|global| &global.strobes)
}

/// Returns the gaps between slices, each divided by the number of slices that it spans: slices
/// without work are not struck.
fn gaps(dumps: &RunDumps) -> DistributionDump {
    let rows = strobes(dumps).zip(strobes(dumps).skip(1));
    let gaps = rows
        .filter(|(_, row)| row.getts_ns != NONE)
        .map(|(before, row)| {
            let slices = row.slice.saturating_sub(before.slice).max(1);
            row.getts_ns / slices
        });
    DistributionDump::of(gaps)
}

fn strobes_are(dumps: &RunDumps, strobe: &str) -> bool {
    dumps.run.as_ref().is_some_and(|run| run.strobe == strobe)
}

fn slice_ns(dumps: &RunDumps) -> Option<u64> {
    let slice_ns = dumps.run.as_ref().map(|run| run.time_slice_ns);
    slice_ns.filter(|slice_ns| *slice_ns > 0)
}

/// 1. All nodes synchronize every slice.
fn regularity(dumps: &RunDumps) -> Option<String> {
    let gaps = gaps(dumps);
    let quantiles = [0.01, 0.5, 0.95, 0.99].map(|share| gaps.quantile(share));
    let [Some(low), Some(middle), Some(most), Some(high)] = quantiles else {
        return None;
    };
    let (first, last) = (strobes(dumps).next()?.slice, strobes(dumps).last()?.slice);
    let figures = format!(
        "1. {} gaps in slices {first} to {last}: median {}, 95 % at most {}, 1 % below {}, 1 % above {}",
        gaps.count,
        duration(middle as f64),
        duration(most as f64),
        duration(low as f64),
        duration(high as f64)
    );
    let judged = match slice_ns(dumps).filter(|_| strobes_are(dumps, "fixed")) {
        None if strobes_are(dumps, "auto") => format!("slices were of {}", lengths(dumps)),
        None => "elastic strobes come when they are needed, so gaps need not be alike".to_owned(),
        Some(slice_ns) => {
            let off = 100.0 * (middle as f64 / slice_ns as f64 - 1.0);
            let within = |tolerance: f64| {
                let width = slice_ns as f64 * tolerance;
                let bound = |ns: f64| ns_of(ns.max(0.0));
                let low = bound(slice_ns as f64 - width);
                let share = gaps.share_within(low, bound(slice_ns as f64 + width));
                percent(share.unwrap_or_default(), 1.0)
            };
            format!(
                "the median is {off:+.2} % off {}, {} % within 8 %, {} % within 20 %",
                duration(slice_ns as f64),
                within(0.08),
                within(0.2)
            )
        }
    };
    Some(format!("{figures};\n   {judged}"))
}

/// Returns the lengths of slices that were chosen while the job ran, with their shares of the
/// struck slices.
fn lengths(dumps: &RunDumps) -> String {
    let mut struck: BTreeMap<u64, u64> = BTreeMap::new();
    for row in strobes(dumps) {
        *struck.entry(row.length_ns).or_default() += 1;
    }
    let all = strobes(dumps).count() as f64;
    let share = |(length_ns, count): (&u64, &u64)| {
        let share = percent(*count as f64, all);
        format!("{} ({share} %)", duration(*length_ns as f64))
    };
    struck.iter().map(share).collect::<Vec<_>>().join(", ")
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a time near a slice, which is none of centuries, and is not negative"
)]
fn ns_of(ns: f64) -> u64 {
    ns as u64
}

/// Returns the most common of these figures, and its share.
fn commonest(figures: &BTreeMap<u64, u64>) -> Option<(u64, f64)> {
    let all: f64 = figures.values().map(|count| *count as f64).sum();
    let (figure, count) = figures.iter().max_by_key(|(_, count)| **count)?;
    Some((*figure, *count as f64 / all))
}

/// 2. Every process calls its collective after a constant number of slices.
fn calls(dumps: &RunDumps) -> Option<String> {
    let mut apart: BTreeMap<Primitive, BTreeMap<u64, u64>> = BTreeMap::new();
    for rank in &dumps.ranks {
        let mut last: BTreeMap<Primitive, u64> = BTreeMap::new();
        for call in &rank.calls {
            let Some(primitive) = collective(call) else {
                continue;
            };
            if let Some(before) = last.insert(primitive, call.slice) {
                let slices = call.slice.saturating_sub(before);
                *apart
                    .entry(primitive)
                    .or_default()
                    .entry(slices)
                    .or_default() += 1;
            }
        }
    }
    let lines: Vec<String> = apart
        .iter()
        .filter_map(|(primitive, figures)| {
            let (slices, share) = commonest(figures)?;
            let share = percent(share, 1.0);
            Some(format!(
                "{primitive} {slices} slices after the one before ({share} % of calls)"
            ))
        })
        .collect();
    (!lines.is_empty()).then(|| format!("2. Ranks call {}", lines.join(", ")))
}

/// 3. A collective is scheduled after a constant number of slices, as one node sees it.
fn scheduled(dumps: &RunDumps) -> Option<String> {
    let node = dumps.nodes.iter().max_by_key(|node| node.ncollmsm)?;
    let granted = node
        .slices
        .iter()
        .filter(|row| row.ncollmsm > 0 && row.ncollmsm != NONE);
    let mut figures: BTreeMap<u64, u64> = BTreeMap::new();
    for (before, row) in granted.clone().zip(granted.skip(1)) {
        *figures
            .entry(row.slice.saturating_sub(before.slice))
            .or_default() += 1;
    }
    let (slices, share) = commonest(&figures)?;
    let share = percent(share, 1.0);
    let node = node.node;
    Some(format!(
        "3. Collectives are scheduled {slices} slices apart on node {node} ({share} %)"
    ))
}

/// Checks that the largest local figure is a lower bound of the global one (section 5.2). If not,
/// clocks or counters are wrong.
fn lower_bounds(dumps: &RunDumps) -> Option<String> {
    let mut slices: BTreeMap<u64, u64> = BTreeMap::new();
    for row in dumps.nodes.iter().flat_map(|node| &node.slices) {
        let ended_ns = row.strobe_ns.saturating_add(row.ltts_ns);
        let last = slices.entry(row.slice).or_default();
        *last = (*last).max(ended_ns);
    }
    let both = strobes(dumps).filter_map(|row| {
        let local_ns = slices.get(&row.slice)?;
        Some(*local_ns <= row.strobe_ns.saturating_add(row.gtts_ns))
    });
    let all = both.clone().count();
    let hold = both.filter(|hold| *hold).count();
    (all > 0).then(|| {
        format!(
            "In {hold} of {all} slices of the window the Strobe Sender saw their end no earlier than the last node \
             reached it"
        )
    })
}

/// Returns what the figures suggest about a longer or shorter slice.
#[must_use]
pub fn choice_of_slice(dumps: &RunDumps) -> String {
    let Some(slice_ns) = slice_ns(dumps) else {
        return String::new();
    };
    let slice = duration(slice_ns as f64);
    let global = dumps.nodes.iter().filter_map(|dump| dump.global.as_ref());
    let gtts = DistributionDump::merged(global.map(|global| &global.gtts_ns));
    let mut lines = Vec::new();
    if let Some(longest) = gtts.quantile(0.99) {
        let busy = percent(longest as f64, slice_ns as f64);
        let advice = match longest < slice_ns {
            true => "slices can be as short as that",
            false => "slices are too short for them",
        };
        lines.push(format!(
            "The NICs are done after {} in 99 % of slices, {busy} % of {slice}: {advice}.",
            duration(longest as f64)
        ));
    }
    let computation = dumps
        .ranks
        .iter()
        .map(|rank| &rank.computation_granularity_ns);
    let computation = DistributionDump::merged(computation);
    if let Some(middle) = computation.quantile(0.5) {
        let slices = middle as f64 / slice_ns as f64;
        let by_clock = dumps.run.as_ref().is_some_and(RunDump::strobes_by_clock);
        let advice = match (by_clock, slices) {
            _ if strobes_are(dumps, "auto") => "slices were as long as made work and waiting equal",
            (false, _) => {
                "elastic strobes answer at once, so the slice only bounds the wait for strobes"
            }
            (true, slices) if slices < 2.0 => {
                "blocking calls, which take one slice and a half on average, take most of the time: \
                 choose a shorter slice, elastic strobes, or non-blocking calls"
            }
            (true, slices) if slices < 10.0 => {
                "blocking calls, which take one slice and a half on average, are felt: try a shorter slice"
            }
            (true, _) => {
                "blocking calls, which take one slice and a half on average, are hardly felt"
            }
        };
        lines.push(format!(
            "Ranks compute for {} between blocking calls (median), {slices:.1} slices: {advice}.",
            duration(middle as f64)
        ));
    }
    lines.extend(budget(dumps));
    lines.join("\n")
}

fn budget(dumps: &RunDumps) -> Option<String> {
    let nodes = dumps.nodes.iter();
    let sum = |of: fn(&mds::dump::NodeDump) -> u64| nodes.clone().map(|node| of(node) as f64).sum();
    let (carried, scheduled): (f64, f64) = (
        sum(|node| node.carried_bytes),
        sum(|node| node.scheduled_bytes),
    );
    let text = match carried > 0.0 {
        false if scheduled == 0.0 => return None,
        false => "No message had to wait for the budget of a later slice.".to_owned(),
        true => format!(
            "Messages waited for the budget of later slices: {} bytes were carried for each 100 scheduled. A \
             longer slice moves more at once, and no more in all.",
            percent(carried, scheduled)
        ),
    };
    Some(text)
}
