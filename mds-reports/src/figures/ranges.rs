//! A histogram in a few ranges, for drawing.

use mds::dump::DistributionDump;

/// Returns at most `most` ranges from the smallest figure to the largest: where each begins, and
/// how many figures are in it. All have the same width. If figures differ by more than a decade,
/// the widths grow by a constant factor instead.
#[must_use]
pub fn ranges(figures: &DistributionDump, most: usize) -> Vec<(f64, f64)> {
    let low = figures.histogram.first().map_or(0, |bucket| bucket.0) as f64;
    let high = figures.histogram.last().map_or(0, |bucket| bucket.0) as f64;
    let count = figures.histogram.len().min(most);
    let decades = high > 10.0 * low.max(1.0);
    let begin = |range: usize| {
        let share = range as f64 / count as f64;
        match decades {
            false => low + (high - low) * share,
            true if range == 0 => low,
            true => low.max(1.0) * ((high + 1.0) / low.max(1.0)).powf(share),
        }
    };
    let mut ranges: Vec<(f64, f64)> = (0..count).map(|range| (begin(range), 0.0)).collect();
    for (figure, count) in &figures.histogram {
        let after = ranges.partition_point(|range| range.0 <= *figure as f64);
        if let Some(range) = ranges.get_mut(after.saturating_sub(1)) {
            range.1 += *count as f64;
        }
    }
    ranges
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_figures_are_in_a_range() {
        for figures in [
            vec![],
            vec![5],
            vec![0],
            vec![0, 1],
            vec![1, 1_000_000, 3, 70, u64::MAX],
            (0..1000).collect(),
        ] {
            let ranges = ranges(&DistributionDump::of(figures.clone()), 24);
            let counted: f64 = ranges.iter().map(|range| range.1).sum();
            assert_eq!(counted, figures.len() as f64, "{figures:?}");
            assert!(
                ranges.is_sorted_by(|one, next| one.0 < next.0),
                "{figures:?}"
            );
            assert!(ranges.len() <= 24);
        }
    }
}
