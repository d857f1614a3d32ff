//! The reasons why a job cannot run.

/// A job that cannot run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadJob {
    /// The job has no rank.
    #[error("a job has at least one rank, but 0 were asked for: give -n a number from 1")]
    NoRanks,
    /// The job has no node.
    #[error("a job has at least one node, but 0 were asked for: give --nodes a number from 1")]
    NoNodes,
    /// A node takes no rank.
    #[error("a node takes at least one rank, but 0 were asked for: give --ppn a number from 1")]
    NoRanksOnNode,
    /// Some nodes would be empty.
    #[error("{nodes} nodes cannot share {ranks} ranks: give at most as many nodes as ranks")]
    EmptyNodes {
        /// The number of nodes requested.
        nodes: usize,
        /// The number of ranks requested.
        ranks: usize,
    },
    /// A number is above its limit.
    #[error("{asked} {what} are more than the {limit} this runtime is built for: ask for fewer")]
    TooMany {
        /// The things that are counted.
        what: &'static str,
        /// The number requested.
        asked: usize,
        /// The limit.
        limit: usize,
    },
    /// A setting is outside its range.
    #[error(
        "the {what} of {} is out of range: choose one from {} to {}",
        in_units(*value, unit), in_units(*min, unit), in_units(*max, unit)
    )]
    OutOfRange {
        /// The setting.
        what: &'static str,
        /// The value requested.
        value: u64,
        /// The least value.
        min: u64,
        /// The greatest value.
        max: u64,
        /// The unit of these values.
        unit: &'static str,
    },
}

/// Formats a number of `ns`, `bytes` or `bytes/s` in the largest unit that gives a whole number, as
/// in `50us` or `64KiB`.
#[must_use]
pub fn in_units(value: u64, unit: &str) -> String {
    let (step, units, per): (u64, &[&str], &str) = match unit {
        "ns" => (1_000, &["ns", "us", "ms", "s"], ""),
        "bytes/s" => (1_024, &["B", "KiB", "MiB", "GiB", "TiB", "PiB"], "/s"),
        _ => (1_024, &["", "KiB", "MiB", "GiB", "TiB", "PiB"], ""),
    };
    let (mut value, mut index) = (value, 0);
    while value != 0 && value.is_multiple_of(step) && index + 1 < units.len() {
        value /= step;
        index += 1;
    }
    format!("{value}{}{per}", units[index])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_units_are_as_large_as_can_be() {
        for (value, unit, shown) in [
            (10_000, "ns", "10us"),
            (1_500, "ns", "1500ns"),
            (60_000_000_000, "ns", "60s"),
            (65_536, "bytes", "64KiB"),
            (1_000_000, "bytes", "1000000"),
            (0, "bytes", "0"),
            (1 << 50, "bytes/s", "1PiB/s"),
        ] {
            assert_eq!(in_units(value, unit), shown);
        }
    }
}
