//! Tables in the style of the paper's.

use comfy_table::{CellAlignment, Table};

use crate::words::milliseconds;
use mds::dump::DistributionDump;

/// Rules as in the paper's tables: above, under the heads, below. In the order that comfy-table
/// requires.
const RULES: &str = "  ── ──      ──    ";

/// Makes an empty table in the style of the paper's, with right-aligned figures.
pub(super) fn table<const COLUMNS: usize>(heads: [&str; COLUMNS]) -> Table {
    table_of(heads.to_vec())
}

/// Makes the same with a variable number of columns.
pub(super) fn table_of(heads: Vec<&str>) -> Table {
    let mut table = Table::new();
    table.load_preset(RULES);
    table.set_header(heads);
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

/// Makes the row of a distribution of times: name, minimum, maximum, total, count, average.
pub(super) fn time_row(name: &str, times_ns: &DistributionDump) -> [String; 6] {
    [
        name.to_owned(),
        milliseconds(times_ns.min as f64),
        milliseconds(times_ns.max as f64),
        milliseconds(times_ns.total as f64),
        times_ns.count.to_string(),
        milliseconds(times_ns.average),
    ]
}
