//! Rows as a table for people.

use apps::bench::{BenchOperation, BenchRow, ByteSize};
use comfy_table::{CellAlignment, Table};

/// One rule above, one under the heads, one below, as in the reports of the MDS. In the order that
/// comfy-table defines.
const RULES: &str = "  ── ──      ──    ";

/// Returns the rows as a table, in their order, with their time as bytes or messages per second.
#[must_use]
pub fn table(rows: &[BenchRow]) -> Table {
    let mut table = Table::new();
    table.load_preset(RULES);
    table.set_header(["operation", "bytes", "buffers", "us", "quartiles", "rate"]);
    for column in [1, 3, 4, 5] {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    for row in rows {
        table.add_row([
            row.op.to_string(),
            ByteSize(row.bytes).to_string(),
            row.mode.to_string(),
            figure(row.us),
            format!("{} - {}", figure(row.q1), figure(row.q3)),
            rate(row),
        ]);
    }
    table
}

/// Formats four significant digits, and never fewer than the whole number has.
fn figure(number: f64) -> String {
    let decimals = match number {
        number if number < 10.0 => 3,
        number if number < 100.0 => 2,
        number if number < 1000.0 => 1,
        _ => 0,
    };
    format!("{number:.decimals$}")
}

/// Formats messages per second, bytes per second if they cross once in the time of the row, or the
/// share of a processor that waiting took. Empty for other operations.
fn rate(row: &BenchRow) -> String {
    match row.op {
        BenchOperation::Rate => format!("{} M/s", figure(1.0 / row.us)),
        BenchOperation::Latency
        | BenchOperation::Bandwidth
        | BenchOperation::Exchange
        | BenchOperation::Sendrecv
            if row.bytes > 0 =>
        {
            bandwidth(row.bytes as f64 / row.us)
        }
        BenchOperation::Lag => row
            .cpu_percent
            .map(|percent| format!("{} % CPU", figure(percent)))
            .unwrap_or_default(),
        _ => String::new(),
    }
}

/// Formats a bandwidth. Bytes per microsecond are megabytes per second; small ones get a smaller
/// unit.
fn bandwidth(megabytes: f64) -> String {
    let units = [(1.0, "MB/s"), (1e3, "KB/s"), (1e6, "B/s")];
    let unit = units.iter().find(|(times, _)| megabytes * times >= 0.1);
    let (times, name) = unit.unwrap_or(&units[2]);
    format!("{} {name}", figure(megabytes * times))
}

#[cfg(test)]
mod tests {
    use super::*;
    use apps::bench::BufferMode;

    #[test]
    fn what_is_slow_is_not_told_as_nothing() {
        let told = [16_384.0, 0.5, 0.016, 0.000_002].map(bandwidth);
        assert_eq!(
            told,
            ["16384 MB/s", "0.500 MB/s", "16.00 KB/s", "2.000 B/s"]
        );
    }

    fn row(op: BenchOperation, bytes: usize, us: f64) -> BenchRow {
        BenchRow {
            op,
            bytes,
            mode: BufferMode::Untouched,
            ranks: 2,
            us,
            q1: us * 0.9,
            q3: us * 1.5,
            iterations: 10,
            cpu_percent: (op == BenchOperation::Lag).then_some(3.25),
        }
    }

    #[test]
    fn a_row_is_a_line_with_what_its_time_means() {
        let rows = [
            row(BenchOperation::Latency, 0, 0.25),
            row(BenchOperation::Bandwidth, 65_536, 4.0),
            row(BenchOperation::Rate, 8, 0.1),
            row(BenchOperation::Barrier, 0, 12_345.6),
            row(BenchOperation::Lag, 8, 10_100.0),
        ];
        let text = table(&rows).to_string();
        let lines: Vec<Vec<&str>> = text
            .lines()
            .map(|line| line.split_whitespace().collect())
            .collect();
        assert_eq!(
            lines[1].join(" "),
            "operation bytes buffers us quartiles rate"
        );
        let found: Vec<String> = lines[3..8].iter().map(|line| line.join(" ")).collect();
        assert_eq!(
            found,
            [
                "latency 0 untouched 0.250 0.225 - 0.375",
                "bandwidth 64K untouched 4.000 3.600 - 6.000 16384 MB/s",
                "rate 8 untouched 0.100 0.090 - 0.150 10.00 M/s",
                "barrier 0 untouched 12346 11111 - 18518",
                "lag 8 untouched 10100 9090 - 15150 3.250 % CPU",
            ]
        );
    }
}
