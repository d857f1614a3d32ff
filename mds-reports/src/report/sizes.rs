//! Messages and collectives by their size.

use std::collections::BTreeMap;

use crate::figures::{collective, is_send};
use mds::dump::{DistributionDump, NONE, RankDump};
use mds::mmds::Primitive;

use super::fitted::fitted;
use super::tables::table;
use crate::words::{duration, or_dash, percent, size};

/// Returns the class of a size: the largest size of the class. Classes are powers of four; zero is
/// a class of its own.
fn class(bytes: u64) -> u64 {
    let mut class = 0;
    while class < bytes {
        class = if class == 0 {
            4
        } else {
            class.saturating_mul(4)
        };
    }
    class
}

/// Shows how many messages of each size were sent. The rank that sends a message counts it.
#[must_use]
pub fn messages(dumps: &[RankDump], terminal: Option<usize>) -> String {
    let seen = dumps.iter().flat_map(|dump| &dump.primitives);
    let sends = seen.filter(|(primitive, _)| is_send(**primitive));
    let sizes = DistributionDump::merged(sends.filter_map(|(_, seen)| seen.size_bytes.as_ref()));
    let mut classes: BTreeMap<u64, (f64, f64)> = BTreeMap::new();
    for (bytes, count) in &sizes.histogram {
        let all = classes.entry(class(*bytes)).or_default();
        all.0 += *count as f64;
        all.1 += *count as f64 * *bytes as f64;
    }
    if classes.is_empty() {
        return String::new();
    }
    // Buckets know sizes only to their precision; the sum of all is exact.
    let counted: f64 = classes.values().map(|(_, bytes)| bytes).sum();
    let exact = match counted > 0.0 {
        true => sizes.total as f64 / counted,
        false => 1.0,
    };
    let mut rows = table(["Up to", "Messages", "%", "Data", "% of data"]);
    for (class, (count, bytes)) in classes {
        rows.add_row([
            size(class as f64),
            format!("{count:.0}"),
            percent(count, sizes.count as f64),
            size(bytes * exact),
            percent(bytes, counted),
        ]);
    }
    fitted(rows, terminal)
}

/// Calls of one collective of one class of sizes.
#[derive(Default)]
struct SizeClassCalls {
    times_ns: Vec<u64>,
    bytes: u64,
}

/// Shows how long collectives of each size take, from the calls that are kept.
#[must_use]
pub fn collectives(dumps: &[RankDump], terminal: Option<usize>) -> String {
    let mut classes: BTreeMap<(Primitive, u64), SizeClassCalls> = BTreeMap::new();
    for call in dumps.iter().flat_map(|dump| &dump.calls) {
        let Some(primitive) = collective(call) else {
            continue;
        };
        if call.ended_ns != NONE {
            let all = classes.entry((primitive, class(call.bytes))).or_default();
            all.times_ns
                .push(call.ended_ns.saturating_sub(call.begun_ns));
            all.bytes = all.bytes.saturating_add(call.bytes);
        }
    }
    if classes.is_empty() {
        return String::new();
    }
    let mut rows = table([
        "Collective",
        "Up to",
        "Calls",
        "Average",
        "p50",
        "p95",
        "Max",
        "Data",
    ]);
    for ((primitive, class), calls) in classes {
        let times_ns = DistributionDump::as_recorded(calls.times_ns);
        let quantile = |share| {
            or_dash(
                times_ns
                    .quantile(share)
                    .map(|time_ns| duration(time_ns as f64)),
            )
        };
        rows.add_row([
            primitive.name().to_owned(),
            size(class as f64),
            times_ns.count.to_string(),
            duration(times_ns.average),
            quantile(0.5),
            quantile(0.95),
            duration(times_ns.max as f64),
            size(calls.bytes as f64),
        ]);
    }
    let mut text = fitted(rows, terminal);
    let dropped = dumps.iter().map(|dump| dump.calls_dropped);
    let dropped = dropped.fold(0_u64, u64::saturating_add);
    if dropped > 0 {
        text.push_str(&format!(
            "\nof the last calls of each rank; {dropped} were before them"
        ));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Messages of 1,023 bytes must have 100.0 % of the data, and not 99.7 %, although a bucket
    /// counts them as shorter.
    #[test]
    fn all_messages_have_all_data() {
        let mut sizes = DistributionDump::of([1_023; 10]);
        sizes.histogram[0].0 = 1_020;
        let seen = mds::dump::PrimitiveDump {
            size_bytes: Some(sizes),
            ..Default::default()
        };
        let dump = RankDump {
            primitives: [(Primitive::Send, seen)].into(),
            ..RankDump::default()
        };
        let text = messages(&[dump], None);
        let row = text.lines().find(|line| line.contains("1 KiB")).unwrap();
        let words: Vec<&str> = row.split_whitespace().collect();
        assert_eq!(
            words,
            ["1", "KiB", "10", "100.0", "9.990", "KiB", "100.0"],
            "{text}"
        );
    }

    #[test]
    fn classes_are_powers_of_four() {
        let classes = [0, 1, 4, 5, 16, 1 << 62, u64::MAX].map(class);
        assert_eq!(classes, [0, 4, 4, 16, 16, 1 << 62, u64::MAX]);
    }
}
