//! A distribution, drawn in characters.

use crate::figures::{self, Unit};
use mds::dump::DistributionDump;

use crate::words;

/// Eighths of a character, so that short bars of different lengths look different.
const EIGHTHS: [char; 8] = [' ', '▏', '▎', '▍', '▌', '▋', '▊', '▉'];

/// The longest bar: with the figures beside it a line has 80 characters.
const BAR_CHARACTERS: usize = 40;

/// The most rows.
const ROWS: usize = 24;

/// Draws a row for each range of figures, with their number and share, and a line with the
/// percentiles. The ranges fit a screen. They have the same width, or widths that grow by a
/// constant factor.
#[must_use]
pub fn histogram(title: &str, figures: &DistributionDump, unit: Unit) -> String {
    if figures.count == 0 {
        return format!("{title}: no figure was recorded");
    }
    if figures.histogram.is_empty() {
        return format!(
            "{title}: {} figures from {} to {}, average {}; their histogram could not be read",
            figures.count,
            words::figure(figures.min as f64, unit),
            words::figure(figures.max as f64, unit),
            words::figure(figures.average, unit)
        );
    }
    let ranges = figures::ranges(figures, ROWS);
    let most = ranges.iter().map(|range| range.1).fold(0.0, f64::max);
    let labels: Vec<String> = ranges
        .iter()
        .map(|range| words::figure(range.0, unit))
        .collect();
    let width = labels.iter().map(String::len).max().unwrap_or_default();
    let all = figures.count as f64;
    let mut lines = vec![format!(
        "{title}: {} figures, from each line to the next",
        figures.count
    )];
    for ((_, count), label) in ranges.iter().zip(&labels) {
        let bar = bar(count / most);
        let share = words::percent(*count, all);
        lines.push(format!(
            "{label:>width$} │{bar:<BAR_CHARACTERS$} {count:>8.0} {share:>5} %"
        ));
    }
    let quantiles = [("p50", 0.5), ("p95", 0.95), ("p99", 0.99)].map(|(name, share)| {
        let quantile = figures.quantile(share).unwrap_or_default();
        format!("{name} {}", words::figure(quantile as f64, unit))
    });
    lines.push(format!(
        "min {}, {}, max {}, average {}",
        words::figure(figures.min as f64, unit),
        quantiles.join(", "),
        words::figure(figures.max as f64, unit),
        words::figure(figures.average, unit)
    ));
    lines.join("\n")
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a share of a bar of 40 characters"
)]
fn bar(share: f64) -> String {
    let eighths = (share * (BAR_CHARACTERS * 8) as f64).round() as usize;
    let (whole, rest) = (eighths / 8, eighths % 8);
    let mut bar = "█".repeat(whole);
    if rest > 0 || (whole == 0 && share > 0.0) {
        bar.push(EIGHTHS[rest.max(1)]);
    }
    bar
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_is_as_long_as_its_share_and_never_nothing() {
        assert_eq!(bar(1.0).chars().count(), BAR_CHARACTERS);
        assert_eq!(bar(0.5).chars().count(), BAR_CHARACTERS / 2);
        assert_eq!(bar(1e-9), "▏");
        assert_eq!(bar(0.0), "");
    }
}
