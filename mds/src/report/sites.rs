//! The places from which MPI is called, by the time that they take.

use std::collections::BTreeMap;

use crate::dump::{DistributionDump, RankDump};
use crate::mmds::Primitive;

use super::words::{cut, duration, or_dash, percent, size};
use super::{milliseconds, table};

/// The longest list.
const MOST: usize = 20;

/// The sites with the most time, all ranks together: calls, times with their coefficient of variation (COV) and
/// percentiles, and data.
#[must_use]
pub fn sites(dumps: &[RankDump]) -> String {
    let mut sites: BTreeMap<(&str, Option<Primitive>), (DistributionDump, u64)> = BTreeMap::new();
    for site in dumps.iter().flat_map(|dump| &dump.sites) {
        let all = sites.entry((&site.place, site.primitive)).or_default();
        all.0.merge(&site.time_ns);
        all.1 = all.1.saturating_add(site.bytes);
    }
    let mut sites: Vec<_> = sites
        .into_iter()
        .filter(|(_, seen)| seen.0.count > 0)
        .collect();
    if sites.is_empty() {
        return String::new();
    }
    let all_ns: f64 = sites.iter().map(|(_, seen)| seen.0.total as f64).sum();
    sites.sort_by_key(|(_, seen)| std::cmp::Reverse(seen.0.total));
    let more = cut(&mut sites, MOST, "sites");
    let mut rows = table([
        "Site",
        "Call",
        "Count",
        "Total(ms)",
        "%",
        "Average",
        "p50",
        "p95",
        "p99",
        "COV",
        "Data",
    ]);
    for ((place, primitive), (time_ns, bytes)) in sites {
        let quantile = |share| {
            or_dash(
                time_ns
                    .quantile(share)
                    .map(|time_ns| duration(time_ns as f64)),
            )
        };
        rows.add_row([
            place.to_owned(),
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
    text.extend(more.map(|more| format!("\n{more}")));
    text
}
