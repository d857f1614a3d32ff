//! The format of times, sizes and shares.

use crate::figures::Unit;

/// Formats a time in the unit that fits, with four digits: `250.0 us`.
#[must_use]
pub fn duration(ns: f64) -> String {
    let units = [(1e9, "s"), (1e6, "ms"), (1e3, "us")];
    match units.into_iter().find(|(unit, _)| ns >= *unit) {
        Some((unit, name)) => format!("{} {name}", four_digits(ns / unit)),
        None => format!("{ns:.0} ns"),
    }
}

/// Formats a number of bytes in the unit that fits: `4 KiB`.
#[must_use]
pub fn size(bytes: f64) -> String {
    let units = [(40, "TiB"), (30, "GiB"), (20, "MiB"), (10, "KiB")];
    let unit = |bits: i32| 2_f64.powi(bits);
    match units.into_iter().find(|(bits, _)| bytes >= unit(*bits)) {
        Some((bits, name)) => {
            let figure = four_digits(bytes / unit(bits));
            let figure = figure
                .strip_suffix(".000")
                .map_or(figure.as_str(), |whole| whole);
            format!("{figure} {name}")
        }
        None => format!("{bytes:.0} B"),
    }
}

fn four_digits(figure: f64) -> String {
    let decimals = match figure {
        figure if figure >= 1000.0 => 0,
        figure if figure >= 100.0 => 1,
        figure if figure >= 10.0 => 2,
        _ => 3,
    };
    format!("{figure:.decimals$}")
}

/// Formats a figure in its unit.
pub(crate) fn figure(figure: f64, unit: Unit) -> String {
    match unit {
        Unit::Nanoseconds => duration(figure),
        Unit::Bytes => size(figure),
        Unit::Count => format!("{figure:.0}"),
    }
}

/// Formats a share in percent. A share of zero is shown as `-`. A part is never shown as the whole
/// unless it is, and never as zero unless it is.
pub(crate) fn percent(part: f64, whole: f64) -> String {
    if whole <= 0.0 {
        return "-".to_owned();
    }
    let share = 100.0 * part / whole;
    match format!("{share:.1}") {
        text if text == "0.0" && share > 0.0 => "< 0.1".to_owned(),
        text if text == "100.0" && share < 100.0 => "> 99.9".to_owned(),
        text => text,
    }
}

/// Formats a figure that may be absent.
pub(crate) fn or_dash(text: Option<String>) -> String {
    text.unwrap_or_else(|| "-".to_owned())
}

/// Cuts a list to at most `most` rows. Returns a line about those that are left out.
pub(crate) fn cut<T>(rows: &mut Vec<T>, most: usize, what: &str) -> Option<String> {
    let more = rows.len().saturating_sub(most);
    rows.truncate(most);
    (more > 0).then(|| format!("and {more} more {what}"))
}

/// Formats a time in milliseconds, for tables.
pub(crate) fn milliseconds(ns: f64) -> String {
    format!("{:.3}", ns / 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_fit() {
        let times = [
            0.4,
            999.0,
            1_000.0,
            250_000.0,
            1_900_000.0,
            61_500_000_000.0,
        ]
        .map(duration);
        assert_eq!(
            times,
            [
                "0 ns", "999 ns", "1.000 us", "250.0 us", "1.900 ms", "61.50 s"
            ]
        );
        let sizes = [0.0, 1023.0, 4096.0, 1_000_000.0, 1.5 * 1024.0 * 1024.0].map(size);
        assert_eq!(sizes, ["0 B", "1023 B", "4 KiB", "976.6 KiB", "1.500 MiB"]);
    }
}
