//! The places from which MPI is called, by the time that they take.

use crate::dump::{RankDump, SiteDump};
use crate::figures;
use crate::mmds::Primitive;

use super::words::{cut, duration, or_dash, percent, size};
use super::{milliseconds, table};

/// The longest list.
const MOST: usize = 20;

/// Lists the sites with the most time, all ranks together: calls, times with their coefficient of
/// variation (COV) and percentiles, and data.
#[must_use]
pub fn sites(dumps: &[RankDump]) -> String {
    let mut sites = figures::sites(dumps);
    if sites.is_empty() {
        return String::new();
    }
    let all_ns: f64 = sites.iter().map(|site| site.time_ns.total as f64).sum();
    let more = cut(&mut sites, MOST, "sites");
    let mut rows = table([
        "Site",
        "Call",
        "Count",
        "Total(ms)",
        "%",
        "Average",
        "~p50",
        "~p95",
        "~p99",
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
    let mut text = rows.trim_fmt();
    // The mark explains why a barrier may have two medians: this one, and the exact one among
    // collectives.
    text.push_str(
        "\n~ as exactly as the buckets of call sites are wide: a quarter of a power of two",
    );
    text.extend(more.map(|more| format!("\n{more}")));
    text
}
