//! Reports for people, made from dumps after the run.

mod nodes;
mod ranks;

pub use nodes::table_nodes;
pub use ranks::{ReportError, Whose, run_time, table_5_3};

use comfy_table::{CellAlignment, Table};

use crate::dump::DistributionDump;

/// Rules as in the paper's tables: above, under the heads, below. In the order that comfy-table gives.
const RULES: &str = "  ── ──      ──    ";

/// An empty table in the form of the paper's, its figures set to the right.
fn table<const COLUMNS: usize>(heads: [&str; COLUMNS]) -> Table {
    let mut table = Table::new();
    table.load_preset(RULES);
    table.set_header(heads);
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

/// The row of a distribution of times: name, minimum, maximum, total, count, average.
fn time_row(name: &str, times_ns: &DistributionDump) -> [String; 6] {
    [
        name.to_owned(),
        milliseconds(times_ns.min as f64),
        milliseconds(times_ns.max as f64),
        milliseconds(times_ns.total as f64),
        times_ns.count.to_string(),
        milliseconds(times_ns.average),
    ]
}

fn milliseconds(ns: f64) -> String {
    format!("{:.3}", ns / 1e6)
}
