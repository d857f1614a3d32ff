//! The places from which MPI is called, by the time that they take.

use comfy_table::ColumnConstraint;

use crate::figures;
use mds::dump::{RankDump, SiteDump};
use mds::mmds::Primitive;

use super::fitted::fitted;
use super::tables::table;
use crate::words::milliseconds;
use crate::words::{cut, duration, or_dash, percent, size};

/// The longest list.
const MOST: usize = 20;

/// The percentiles and the coefficient of variation, which a narrow terminal has no room for.
const LESS_NEEDED: std::ops::Range<usize> = 6..10;

/// The columns that the whole table takes with places of a usual length.
const WIDE: usize = 120;

/// Lists the sites with the most time, all ranks together: calls, times with their coefficient of
/// variation (COV) and percentiles, and data.
#[must_use]
pub fn sites(dumps: &[RankDump], terminal: Option<usize>) -> String {
    let mut sites = figures::sites(dumps);
    if sites.is_empty() {
        return String::new();
    }
    let all_ns: f64 = sites.iter().map(|site| site.time_ns.total as f64).sum();
    let more = cut(&mut sites, MOST, "sites");
    let exact = figures::sites_are_exact(dumps);
    let percentiles = match exact {
        true => ["p50", "p95", "p99"],
        false => ["~p50", "~p95", "~p99"],
    };
    let mut rows = table([
        "Site",
        "Call",
        "Count",
        "Total(ms)",
        "%",
        "Average",
        percentiles[0],
        percentiles[1],
        percentiles[2],
        "COV",
        "Data",
    ]);
    for site in sites {
        let SiteDump {
            place,
            primitive,
            time_ns,
            bytes,
        } = site;
        let quantile = |share| {
            or_dash(
                time_ns
                    .quantile(share)
                    .map(|time_ns| duration(time_ns as f64)),
            )
        };
        rows.add_row([
            place,
            primitive.map_or("any", Primitive::name).to_owned(),
            time_ns.count.to_string(),
            milliseconds(time_ns.total as f64),
            percent(time_ns.total as f64, all_ns),
            duration(time_ns.average),
            quantile(0.5),
            quantile(0.95),
            quantile(0.99),
            or_dash(
                time_ns
                    .variation()
                    .map(|variation| format!("{variation:.2}")),
            ),
            size(bytes as f64),
        ]);
    }
    if terminal.is_some_and(|columns| columns < WIDE) {
        for column in LESS_NEEDED {
            if let Some(column) = rows.column_mut(column) {
                column.set_constraint(ColumnConstraint::Hidden);
            }
        }
    }
    let mut text = fitted(rows, terminal);
    if !exact {
        text.push_str(
            "\n~ as exactly as the buckets of call sites are wide: a quarter of a power of two",
        );
    }
    text.extend(more.map(|more| format!("\n{more}")));
    text
}
