//! The data of the page.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::diagnosis::{Facts, diagnose};
use crate::export;
use crate::figures::{
    self, Blame, Flow, Metric, Series, SeriesColumn, SliceLine, TrafficSum, WaitCause,
};
use crate::report;
use mds::dump::{MessageTransport, RankDump, RunDumps};
use mds::mmds::Primitive;

use super::timeline;

/// The most slices that are drawn one by one. If there are more, each point stands for several
/// neighbours. With 35 figures for each this is 1 MB of the 5 MB that a page may have.
const MOST_SLICES: usize = 2_000;

/// The longest side of the matrix. For more ranks it shows nodes, and for more nodes it is absent.
const MOST_NUMBERS: usize = 128;

/// The number of ranges of a histogram.
const RANGES: usize = 48;

/// The longest lists of ranks, of call sites and of culprits.
const MOST_RANKS: usize = 1_024;
const MOST_SITES: usize = 50;
const MOST_CULPRITS: usize = 30;

/// Returns all data of the page.
pub(super) fn data(dumps: &RunDumps, faults: &[String]) -> serde_json::Result<Value> {
    let (began_ns, ended_ns) = figures::span_ns(dumps);
    let waits = figures::blame(dumps);
    let diagnosis = diagnose(&Facts::of(dumps, &waits));
    let mut blame = report::blame_json(&waits);
    for (list, most) in [("culprits", MOST_CULPRITS), ("sufferers", MOST_RANKS)] {
        if let Some(list) = blame.get_mut(list).and_then(Value::as_array_mut) {
            list.truncate(most);
        }
    }
    Ok(json!({
        "run": serde_json::to_value(&dumps.run)?,
        "diagnosis": diagnosis.json(),
        "timeline": timeline::data(dumps)?,
        "wait_matrix": wait_matrix(dumps, &waits),
        "header": report::header(dumps),
        "faults": faults,
        "ran_ns": ended_ns.saturating_sub(began_ns),
        "slices": slices(dumps, began_ns),
        "metrics": figures::known(dumps).iter().filter_map(|known| metric(dumps, known)).collect::<Vec<_>>(),
        "ranks": dumps.ranks.iter().take(MOST_RANKS).map(rank).collect::<Vec<_>>(),
        "matrix": matrix(dumps),
        "sites": sites(dumps),
        "blame": blame,
    }))
}

fn rank(dump: &RankDump) -> Value {
    json!({
        "rank": dump.rank,
        "node": dump.node,
        "run_ns": dump.run_ns,
        "computation_ns": dump.computation_granularity_ns.total,
        "mpi_ns": dump.communication_overhead_ns.total,
        "finalized": dump.finalized,
    })
}

/// Returns a column for each figure by slice that is not always 0.
fn slices(dumps: &RunDumps, began_ns: u64) -> Value {
    let series = Series::of(dumps, None, 0, u64::MAX);
    let columns: Vec<SeriesColumn> = figures::columns()
        .into_iter()
        .filter(|column| {
            series
                .lines
                .iter()
                .any(|line| line.figure(column).is_some_and(|figure| figure > 0))
        })
        .collect();
    let neighbours = series.lines.len().div_ceil(MOST_SLICES).max(1);
    let points: Vec<&[SliceLine]> = series.lines.chunks(neighbours).collect();
    let figures = columns.iter().map(|column| {
        let figures = points.iter().map(|lines| {
            let figures = lines.iter().filter_map(|line| line.figure(column));
            figures.max()
        });
        json!({
            "name": column.name,
            "unit": column.unit,
            "figures": figures.collect::<Vec<_>>(),
        })
    });
    let firsts = points.iter().filter_map(|lines| lines.first());
    let at_ns = firsts
        .clone()
        .map(|line| line.strobe_ns.map(|at_ns| at_ns.saturating_sub(began_ns)));
    json!({
        "neighbours": neighbours,
        "numbers": firsts.map(|line| line.slice).collect::<Vec<_>>(),
        "at_ns": at_ns.collect::<Vec<_>>(),
        "columns": figures.collect::<Vec<_>>(),
    })
}

fn metric(dumps: &RunDumps, metric: &Metric) -> Option<Value> {
    let figures = metric.distribution(dumps, None);
    (figures.count > 0).then(|| {
        let mut value = export::summary(metric, &figures);
        value["name"] = json!(metric.name);
        value["ranges"] = json!(figures::ranges(&figures, RANGES));
        value
    })
}

/// Returns the cells of the matrix that are not empty: from, to, messages, bytes, bytes by the NIC.
fn matrix(dumps: &RunDumps) -> Value {
    let flows = figures::flows(dumps);
    let numbers = |cells: &BTreeMap<(u32, u32), TrafficSum>| {
        let numbers: BTreeSet<u32> = cells.keys().flat_map(|(from, to)| [*from, *to]).collect();
        numbers
    };
    let of_ranks = |rank| rank;
    let of_nodes = |rank| dumps.rank(rank).map_or(u32::MAX, |dump| dump.node);
    for (who, of) in [
        ("rank", &of_ranks as &dyn Fn(u32) -> u32),
        ("node", &of_nodes),
    ] {
        let all = figures::matrix(&flows, None, of);
        let numbers = numbers(&all);
        if numbers.len() <= MOST_NUMBERS {
            return json!({
                "who": who,
                "numbers": numbers,
                "cells": cells(&all, &flows, of),
            });
        }
    }
    Value::Null
}

/// Returns who waited for whom, by ranks or nodes: waiter, other, time by cause (posted late,
/// scheduled late, moved late), number of waits.
fn wait_matrix(dumps: &RunDumps, waits: &Blame) -> Value {
    let pairs = waits.pairs();
    let of_nodes = |rank| dumps.rank(rank).map_or(u32::MAX, |dump| dump.node);
    for (who, of) in [
        ("rank", &(|rank| rank) as &dyn Fn(u32) -> u32),
        ("node", &of_nodes),
    ] {
        let mut cells: BTreeMap<(u32, u32), ([u64; 3], u64)> = BTreeMap::new();
        for pair in &pairs {
            let place = match pair.cause {
                WaitCause::PostedLate => 0,
                WaitCause::ScheduledLate => 1,
                WaitCause::MovedLate => 2,
                WaitCause::Other => continue,
            };
            let cell = cells.entry((of(pair.waiter), of(pair.other))).or_default();
            cell.0[place] = cell.0[place].saturating_add(pair.waited_ns);
            cell.1 = cell.1.max(pair.waits);
        }
        let numbers: BTreeSet<u32> = cells
            .keys()
            .flat_map(|(one, other)| [*one, *other])
            .collect();
        if numbers.len() <= MOST_NUMBERS {
            let cells = cells.iter().map(|((waiter, other), (times_ns, waits))| {
                let [posted, scheduled, moved] = times_ns;
                json!([waiter, other, posted, scheduled, moved, waits])
            });
            return json!({
                "who": who,
                "numbers": numbers,
                "cells": cells.collect::<Vec<_>>(),
            });
        }
    }
    Value::Null
}

fn cells(
    all: &BTreeMap<(u32, u32), TrafficSum>,
    flows: &[Flow],
    of: &dyn Fn(u32) -> u32,
) -> Vec<Value> {
    let by_nic = figures::matrix(flows, Some(MessageTransport::Nic), of);
    let cells = all.iter().map(|((from, to), cell)| {
        let by_nic = by_nic.get(&(*from, *to)).map_or(0, |cell| cell.bytes);
        json!([from, to, cell.messages, cell.bytes, by_nic])
    });
    cells.collect()
}

/// Returns the call sites with the most time.
fn sites(dumps: &RunDumps) -> Vec<Value> {
    let sites = figures::sites(&dumps.ranks).into_iter().take(MOST_SITES);
    let values = sites.map(|site| {
        json!({
            "place": site.place,
            "call": site.primitive.map(Primitive::name),
            "count": site.time_ns.count,
            "total_ns": site.time_ns.total,
            "average_ns": site.time_ns.average,
            "p95_ns": site.time_ns.quantile(0.95),
            "bytes": site.bytes,
        })
    });
    values.collect()
}
