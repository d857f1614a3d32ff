//! Dumps and figures as JSON.

use std::io::{self, Write};

use serde_json::{Map, Value, json};

use crate::diagnosis::{Facts, diagnose};
use crate::figures::{self, Metric};
use mds::dump::{DistributionDump, Row, RunDumps};

/// Returns what `bcs mds report` shows, for programs: the diagnosis, the header, the errors of
/// reading (`faults`), every metric, every rank and every node with its sums, and the traffic
/// between ranks.
///
/// # Errors
///
/// Never for dumps that were read: JSON can represent all their values.
pub fn report(dumps: &RunDumps, faults: Vec<String>) -> serde_json::Result<Value> {
    let flows = figures::flows(dumps).into_iter().map(|flow| {
        json!({
            "from": flow.from,
            "to": flow.to,
            "road": flow.road,
            "messages": flow.sent.messages,
            "bytes": flow.sent.bytes,
        })
    });
    let diagnosis = diagnose(&Facts::of(dumps, &figures::blame(dumps)));
    Ok(json!({
        "diagnosis": diagnosis.json(),
        "run": serde_json::to_value(&dumps.run)?,
        "faults": faults,
        "metrics": metrics(dumps),
        "ranks": serde_json::to_value(&dumps.ranks)?,
        "nodes": serde_json::to_value(&dumps.nodes)?,
        "flows": flows.collect::<Vec<_>>(),
    }))
}

/// Returns every metric by its name, all ranks or nodes together.
fn metrics(dumps: &RunDumps) -> Value {
    let metrics = figures::known(dumps).into_iter().filter_map(|metric| {
        let figures = metric.distribution(dumps, None);
        let mut value = summary(&metric, &figures);
        value["histogram"] = json!(figures.histogram);
        (figures.count > 0).then_some((metric.name, value))
    });
    Value::Object(metrics.collect())
}

/// Returns a metric without its histogram.
pub(crate) fn summary(metric: &Metric, figures: &DistributionDump) -> Value {
    json!({
        "about": metric.about,
        "unit": metric.unit.name(),
        "count": figures.count,
        "min": figures.min,
        "average": figures.average,
        "p50": figures.quantile(0.5),
        "p95": figures.quantile(0.95),
        "p99": figures.quantile(0.99),
        "max": figures.max,
        "total": figures.total,
    })
}

/// Writes the report and all tables. Each table of a rank or node becomes an object with a list for
/// each column.
///
/// # Errors
///
/// Those of `to`.
pub fn write_json(dumps: &RunDumps, to: &mut impl Write) -> io::Result<()> {
    let faults = dumps.faults.iter().map(ToString::to_string).collect();
    let mut all = report(dumps, faults)?;
    for (value, dump) in items(&mut all, "ranks").zip(&dumps.ranks) {
        put(value, columns(&dump.calls));
        put(value, columns(&dump.messages));
        put(value, columns(&dump.near));
    }
    for (value, dump) in items(&mut all, "nodes").zip(&dumps.nodes) {
        put(value, columns(&dump.slices));
        if let Some(global) = &dump.global {
            put(value, columns(&global.strobes));
        }
    }
    serde_json::to_writer(&mut *to, &all)?;
    to.write_all(b"\n")?;
    to.flush()
}

/// Returns the values of a list of the object.
fn items<'a>(all: &'a mut Value, name: &str) -> impl Iterator<Item = &'a mut Value> {
    let list = all.get_mut(name).and_then(Value::as_array_mut);
    list.into_iter().flatten()
}

fn put(value: &mut Value, (table, columns): (&str, Value)) {
    if let Value::Object(members) = value {
        members.insert(table.to_owned(), columns);
    }
}

fn columns<R: Row>(rows: &[R]) -> (&'static str, Value) {
    let mut columns: Map<String, Value> = Map::new();
    for (index, column) in R::COLUMNS.iter().enumerate() {
        let words = rows.iter().filter_map(|row| row.words().nth(index));
        columns.insert(column.name.to_owned(), words.collect());
    }
    (R::TABLE, Value::Object(columns))
}
