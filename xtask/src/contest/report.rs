//! The report of a contest for people and for programs.

use anyhow::Result;
use apps::bench::{BenchOperation, ByteSize};
use comfy_table::{CellAlignment, Table};
use serde_json::{Map, Value, json};

use super::comparison::{BootstrapRatios, ComparisonRow, Samples};
use crate::bootstrap::Interval;

/// A rule above, one under the heads, and one below, in the order of comfy-table.
const RULES: &str = "  ── ──      ──    ";

/// The geometric mean of the ratios of some rows.
pub(super) struct Mean {
    /// The operation, or `None` for all rows.
    op: Option<BenchOperation>,
    rows: usize,
    ratio: f64,
    interval: Interval,
}

/// Computes the means of each operation, in their order, and of all rows.
pub(super) fn means(samples: &Samples, resampled: &BootstrapRatios) -> Vec<Mean> {
    let mut ops: Vec<Option<BenchOperation>> = Vec::new();
    for case in &samples.cases {
        if !ops.contains(&Some(case.op)) {
            ops.push(Some(case.op));
        }
    }
    ops.push(None);
    ops.into_iter()
        .map(|op| {
            let of = |row: &usize| op.is_none_or(|op| samples.cases[*row].op == op);
            let rows: Vec<usize> = (0..samples.cases.len()).filter(of).collect();
            Mean {
                op,
                rows: rows.len(),
                ratio: resampled.mean(&rows),
                interval: resampled.interval_of(&rows),
            }
        })
        .collect()
}

/// Makes the table of the medians of all sides, the ratio to the best peer and its interval.
pub(super) fn table(names: &[String], rows: &[ComparisonRow]) -> Table {
    let mut table = Table::new();
    table.load_preset(RULES);
    let heads = ["operation", "bytes", "buffers"].map(String::from);
    let tail = ["ratio", "95 % interval", "best"].map(String::from);
    let ours_and_theirs = names.iter().map(|name| format!("{name} us"));
    table.set_header(heads.into_iter().chain(ours_and_theirs).chain(tail));
    for row in rows {
        let mut cells = vec![
            row.case.op.to_string(),
            ByteSize(row.case.bytes).to_string(),
            row.case.mode.to_string(),
        ];
        cells.extend(row.medians_us.iter().map(|us| format!("{us:.3}")));
        cells.extend([
            format!("{:.3}", row.ratio),
            format!("{:.3} - {:.3}", row.interval.low, row.interval.high),
            names[row.best].clone(),
        ]);
        table.add_row(cells);
    }
    for (place, column) in table.column_iter_mut().enumerate() {
        if place == 1 || (3..names.len() + 5).contains(&place) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
}

/// Returns the geometric means as text.
pub(super) fn summary(means: &[Mean]) -> String {
    let line = |mean: &Mean| {
        let what = mean
            .op
            .map_or_else(|| "all".to_owned(), |op| op.to_string());
        format!(
            "geometric mean of {what:<9} {:.3} ({:.3} - {:.3}), {} rows",
            mean.ratio, mean.interval.low, mean.interval.high, mean.rows
        )
    };
    means.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// Returns the whole report as JSON.
pub(super) fn json(
    names: &[String],
    ranks: usize,
    rounds: usize,
    rows: &[ComparisonRow],
    means: &[Mean],
) -> Result<String> {
    let row = |row: &ComparisonRow| {
        let us: Map<String, Value> = names
            .iter()
            .cloned()
            .zip(row.medians_us.iter().map(|us| json!(us)))
            .collect();
        json!({
            "op": row.case.op, "bytes": row.case.bytes, "mode": row.case.mode, "us": us,
            "ratio": row.ratio, "low": row.interval.low, "high": row.interval.high,
            "best": names[row.best],
        })
    };
    let mean = |mean: &Mean| {
        json!({
            "op": mean.op, "rows": mean.rows, "ratio": mean.ratio,
            "low": mean.interval.low, "high": mean.interval.high,
        })
    };
    let all = json!({
        "ranks": ranks, "rounds": rounds,
        "rows": rows.iter().map(row).collect::<Vec<_>>(),
        "geometric_means": means.iter().map(mean).collect::<Vec<_>>(),
    });
    Ok(serde_json::to_string_pretty(&all)? + "\n")
}

#[cfg(test)]
mod tests {
    use super::super::comparison::tests::samples;
    use super::*;

    #[test]
    fn table_summary_and_json_say_the_same() {
        let samples = samples(&[0.5, 2.0], 22, 0.0);
        let resampled = samples.resample(1);
        let rows = samples.compare(&resampled);
        let names = ["bcs", "one", "other"].map(String::from);
        let table = table(&names, &rows).to_string();
        let first: Vec<&str> = table.lines().nth(3).unwrap().split_whitespace().collect();
        assert_eq!(
            first.join(" "),
            "latency 16 untouched 2.000 3.000 1.000 2.000 2.000 - 2.000 other"
        );
        let means = means(&samples, &resampled);
        assert_eq!(
            summary(&means),
            "geometric mean of latency   1.000 (1.000 - 1.000), 2 rows\n\
             geometric mean of all       1.000 (1.000 - 1.000), 2 rows"
        );
        let json: Value =
            serde_json::from_str(&json(&names, 2, 22, &rows, &means).unwrap()).unwrap();
        assert_eq!(json["rows"][0]["us"]["one"], 3.0);
        assert_eq!(json["rows"][0]["ratio"], 2.0);
        assert_eq!(json["geometric_means"][1]["op"], Value::Null);
    }
}
