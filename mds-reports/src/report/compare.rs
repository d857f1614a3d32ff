//! Two runs side by side: the totals, the settings, and the figures that changed most.

use std::collections::BTreeMap;

use crate::figures::{self, Unit};
use mds::dump::{RankDump, RunDump, RunDumps};

use super::tables::table;
use crate::words::{cut, figure};

/// The longest list.
const MOST: usize = 40;

/// Times below this share of the time of all ranks together are left out.
const LEAST_SHARE: f64 = 0.001;

/// A smaller change counts as no change.
const LEAST_CHANGE: f64 = 0.000_5;

/// A figure of a run.
#[derive(Debug, Clone, Copy)]
struct Figure {
    value: f64,
    unit: Unit,
}

/// Shows the totals and the settings of the two runs, then their figures, those that changed most
/// first. Leaves out times below a thousandth of the time of all ranks.
#[must_use]
pub fn compare(one: &RunDumps, other: &RunDumps) -> String {
    let mut text = totals(one, other);
    text.push_str("\n\n");
    text.push_str(&settings(one.run.as_ref(), other.run.as_ref()));
    let (ones, others) = (figures_of(one), figures_of(other));
    let mut rows: Vec<(&String, Figure, Figure, f64)> = ones
        .iter()
        .filter_map(|(name, one)| {
            let other = others.get(name)?;
            Some((name, *one, *other, change(one.value, other.value)))
        })
        .collect();
    rows.sort_by(|one, next| next.3.abs().total_cmp(&one.3.abs()).then(one.0.cmp(next.0)));
    let all = rows.len();
    rows.retain(|row| row.3.abs() >= LEAST_CHANGE);
    let same = all - rows.len();
    let more = cut(&mut rows, MOST, "figures, which changed less");
    let mut changes = table(["Figure", "A", "B", "Change"]);
    for (name, one, other, change) in rows {
        let change = shown_change(change);
        let (one, other) = (figure(one.value, one.unit), figure(other.value, other.unit));
        changes.add_row([name.clone(), one, other, change]);
    }
    text.push_str(&format!("\n\n{}", changes.trim_fmt()));
    text.extend(more.map(|more| format!("\n{more}")));
    text.push_str(&format!("\n{same} figures did not change"));
    for (which, here, there) in [("A", &ones, &others), ("B", &others, &ones)] {
        let only = here.keys().filter(|name| !there.contains_key(*name));
        let only: Vec<&str> = only.map(String::as_str).collect();
        if !only.is_empty() {
            text.push_str(&format!("\nOnly in {which}: {}", only.join(", ")));
        }
    }
    text
}

/// Shows how long the runs took, and what their ranks did in that time.
fn totals(one: &RunDumps, other: &RunDumps) -> String {
    let sum = |dumps: &RunDumps, of: fn(&RankDump) -> u64| {
        let figures = dumps.ranks.iter().map(of);
        figures.fold(0_u64, u64::saturating_add) as f64
    };
    let ran_ns = |dumps: &RunDumps| {
        let (began_ns, ended_ns) = figures::span_ns(dumps);
        ended_ns.saturating_sub(began_ns) as f64
    };
    let row = |name: &str, of: &dyn Fn(&RunDumps) -> f64| {
        let (one, other) = (of(one), of(other));
        let change = shown_change(change(one, other));
        [
            name.to_owned(),
            crate::words::duration(one),
            crate::words::duration(other),
            change,
        ]
    };
    let mut rows = table(["Total", "A", "B", "Change"]);
    rows.add_row(row("run time", &ran_ns));
    rows.add_row(row("time of all ranks", &|dumps| {
        sum(dumps, |rank| rank.run_ns)
    }));
    let computation = |rank: &RankDump| rank.computation_granularity_ns.total;
    rows.add_row(row("computation", &|dumps| sum(dumps, computation)));
    let communication = |rank: &RankDump| rank.communication_overhead_ns.total;
    rows.add_row(row("in MPI", &|dumps| sum(dumps, communication)));
    rows.trim_fmt()
}

/// Formats the logarithm of a ratio as a change in percent.
fn shown_change(change: f64) -> String {
    match change.is_finite() {
        true => format!("{:+.1} %", 100.0 * (change.exp() - 1.0)),
        false if change > 0.0 => "new".to_owned(),
        false => "gone".to_owned(),
    }
}

/// Returns the logarithm of the ratio, so that twice and half are equally far from no change.
fn change(one: f64, other: f64) -> f64 {
    match (one > 0.0, other > 0.0) {
        (true, true) => (other / one).ln(),
        (false, false) => 0.0,
        (true, false) => f64::NEG_INFINITY,
        (false, true) => f64::INFINITY,
    }
}

/// Lists the settings of both runs, with a star where they differ.
fn settings(one: Option<&RunDump>, other: Option<&RunDump>) -> String {
    let described = |run: Option<&RunDump>| match run {
        None => vec![("run", "unknown: there is no run.json".to_owned())],
        Some(run) => vec![
            ("command", run.command.join(" ")),
            ("began", super::header::began(run.began_unix_ns)),
            ("machine", run.machine.clone()),
            ("version", run.version.clone()),
            ("nodes", run.nodes.to_string()),
            ("ranks", run.ranks.to_string()),
            ("slice", crate::words::duration(run.time_slice_ns as f64)),
            ("strobe", run.strobe.clone()),
            ("NIC threads", run.nic_threads.clone()),
            ("within a node", run.intranode.clone()),
            ("eager limit", crate::words::size(run.eager_limit as f64)),
            (
                "bandwidth",
                format!("{}/s", crate::words::size(run.bandwidth as f64)),
            ),
            ("exit code", run.exit_code.to_string()),
        ],
    };
    let (ones, others) = (described(one), described(other));
    let others: BTreeMap<&str, String> = others.into_iter().collect();
    let mut rows = table(["Run", "A", "B"]);
    for (name, one) in ones {
        let other = others
            .get(name)
            .cloned()
            .unwrap_or_else(|| "unknown".to_owned());
        let star = if one == other { "" } else { " *" };
        rows.add_row([format!("{name}{star}"), one, other]);
    }
    rows.trim_fmt()
}

/// Returns the figures of a run that can be compared with another one: totals and averages of every
/// metric, and counts.
fn figures_of(dumps: &RunDumps) -> BTreeMap<String, Figure> {
    let all_ns: f64 = dumps.ranks.iter().map(|rank| rank.run_ns as f64).sum();
    let mut figures = BTreeMap::new();
    let mut add = |name: String, value: f64, unit| {
        figures.insert(name, Figure { value, unit });
    };
    let (began_ns, ended_ns) = figures::span_ns(dumps);
    let ran_ns = ended_ns.saturating_sub(began_ns);
    add("run time".to_owned(), ran_ns as f64, Unit::Nanoseconds);
    for metric in figures::known(dumps) {
        let distribution = metric.distribution(dumps, None);
        let is_time = metric.unit == Unit::Nanoseconds;
        if distribution.count == 0 || is_time && (distribution.total as f64) < LEAST_SHARE * all_ns
        {
            continue;
        }
        let name = &metric.name;
        add(
            format!("{name} count"),
            distribution.count as f64,
            Unit::Count,
        );
        add(format!("{name} average"), distribution.average, metric.unit);
        if let (true, Some(high)) = (is_time, distribution.quantile(0.99)) {
            add(format!("{name} p99"), high as f64, metric.unit);
        }
    }
    let mut count = |name: &str, of: fn(&mds::dump::NodeDump) -> u64, unit| {
        let sum = dumps.nodes.iter().map(|node| of(node) as f64).sum::<f64>();
        if !dumps.nodes.is_empty() {
            add(name.to_owned(), sum, unit);
        }
    };
    count("NP2PDEM", |node| node.np2pdem, Unit::Count);
    count("NP2PMSM", |node| node.np2pmsm, Unit::Count);
    count("NCOLLDEM", |node| node.ncolldem, Unit::Count);
    count("NCOLLMSM", |node| node.ncollmsm, Unit::Count);
    count("BPTS", |node| node.bpts, Unit::Count);
    count("scheduled", |node| node.scheduled_bytes, Unit::Bytes);
    count("carried", |node| node.carried_bytes, Unit::Bytes);
    count("demanded", |node| node.demanded, Unit::Count);
    figures
}
