//! Ratios of medians, and their confidence intervals.

use apps::bench::BenchCase;

use crate::bootstrap::{Interval, median, middle_95_percent, resampled};

/// The measurements: for each round, side and row the microseconds of an operation. The first side
/// is ours. The other sides are ours, too, or rivals.
#[derive(Debug, Clone, Default)]
pub struct Samples {
    /// The rows.
    pub cases: Vec<BenchCase>,
    /// The indices of the sides with which we are compared.
    pub rivals: Vec<usize>,
    /// Times by round, side and row.
    pub rounds: Vec<Vec<Vec<f64>>>,
}

/// A row of all sides.
#[derive(Debug, Clone, PartialEq)]
pub struct ComparisonRow {
    /// The row.
    pub case: BenchCase,
    /// The median of each side, in microseconds.
    pub medians_us: Vec<f64>,
    /// The rival whose median is the least.
    pub best: usize,
    /// The ratio of our median to that rival's.
    pub ratio: f64,
    /// The 95 % interval of the ratio.
    pub interval: Interval,
}

/// Ratios of all rows, from resampled rounds.
#[derive(Debug, Clone)]
pub struct BootstrapRatios {
    ratios: Vec<f64>,
    drawn: Vec<Vec<f64>>,
}

/// Returns the geometric mean; 1 for no values.
#[must_use]
pub fn geometric_mean(numbers: &[f64]) -> f64 {
    let logarithms: f64 = numbers.iter().map(|number| number.ln()).sum();
    (logarithms / numbers.len().max(1) as f64).exp()
}

impl Samples {
    /// Returns the medians of every side in a row, over these rounds.
    fn medians(&self, row: usize, rounds: &[usize]) -> Vec<f64> {
        let sides = self.rounds.first().map_or(0, Vec::len);
        let of = |side: usize| {
            let samples: Vec<f64> = rounds
                .iter()
                .map(|&round| self.rounds[round][side][row])
                .collect();
            median(&samples)
        };
        (0..sides).map(of).collect()
    }

    fn best(&self, medians: &[f64]) -> usize {
        let least = |one: &&usize, other: &&usize| medians[**one].total_cmp(&medians[**other]);
        *self
            .rivals
            .iter()
            .min_by(least)
            .expect("a contest has rivals")
    }

    /// Returns the ratio of our median to the best rival's in each row, over these rounds.
    fn ratios(&self, rounds: &[usize]) -> Vec<f64> {
        (0..self.cases.len())
            .map(|row| {
                let medians = self.medians(row, rounds);
                medians[0] / medians[self.best(&medians)]
            })
            .collect()
    }

    fn all_rounds(&self) -> Vec<usize> {
        (0..self.rounds.len()).collect()
    }

    /// Resamples the ratios; in each draw all rows use the same rounds.
    ///
    /// # Panics
    ///
    /// When there are no rounds or no rivals.
    #[must_use]
    pub fn resample(&self, seed: u64) -> BootstrapRatios {
        BootstrapRatios {
            ratios: self.ratios(&self.all_rounds()),
            drawn: resampled(self.rounds.len(), seed, |rounds| self.ratios(rounds)),
        }
    }

    /// Returns all rows, the one with the greatest ratio first.
    ///
    /// # Panics
    ///
    /// As [`resample`](Self::resample).
    #[must_use]
    pub fn compare(&self, resampled: &BootstrapRatios) -> Vec<ComparisonRow> {
        let mut comparisons: Vec<ComparisonRow> = self
            .cases
            .iter()
            .enumerate()
            .map(|(row, case)| {
                let medians_us = self.medians(row, &self.all_rounds());
                ComparisonRow {
                    case: *case,
                    best: self.best(&medians_us),
                    medians_us,
                    ratio: resampled.ratios[row],
                    interval: resampled.interval_of(&[row]),
                }
            })
            .collect();
        comparisons.sort_by(|one, other| other.ratio.total_cmp(&one.ratio));
        comparisons
    }
}

impl BootstrapRatios {
    /// Returns the ratio of a row.
    #[must_use]
    pub fn ratio(&self, row: usize) -> f64 {
        self.ratios[row]
    }

    /// Returns the geometric mean of the ratios of some rows.
    #[must_use]
    pub fn mean(&self, rows: &[usize]) -> f64 {
        mean_of(&self.ratios, rows)
    }

    /// Returns the 95 % interval of that mean.
    #[must_use]
    pub fn interval_of(&self, rows: &[usize]) -> Interval {
        let means: Vec<f64> = self
            .drawn
            .iter()
            .map(|drawn| mean_of(drawn, rows))
            .collect();
        middle_95_percent(&means)
    }
}

fn mean_of(ratios: &[f64], rows: &[usize]) -> f64 {
    let ratios: Vec<f64> = rows.iter().map(|row| ratios[*row]).collect();
    geometric_mean(&ratios)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use apps::bench::{BenchOperation, BufferMode};
    use rand::{Rng, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    /// Makes rows of latencies, one for each of `ratios`. Our time is that many times the time of
    /// the second rival, which is the better of two. `spread` is the deviation of single rounds.
    pub(crate) fn samples(ratios: &[f64], rounds: usize, spread: f64) -> Samples {
        let cases = (0..ratios.len()).map(|row| BenchCase {
            op: BenchOperation::Latency,
            bytes: 8 << row,
            mode: BufferMode::Untouched,
        });
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let mut off = |us: f64| us * (1.0 + spread * (2.0 * rng.random::<f64>() - 1.0));
        let mut round = |_| {
            vec![
                ratios.iter().map(|ratio| off(*ratio)).collect(),
                ratios.iter().map(|_| off(3.0)).collect(),
                ratios.iter().map(|_| off(1.0)).collect(),
            ]
        };
        Samples {
            cases: cases.collect(),
            rivals: vec![1, 2],
            rounds: (0..rounds).map(&mut round).collect(),
        }
    }

    #[test]
    fn geometric_means() {
        assert!((geometric_mean(&[2.0, 8.0]) - 4.0).abs() < 1e-12);
        assert!((geometric_mean(&[0.5, 2.0]) - 1.0).abs() < 1e-12);
        assert_eq!(geometric_mean(&[]), 1.0);
    }

    #[test]
    fn rows_are_compared_with_their_best_rival_worst_first() {
        let mut samples = samples(&[0.5, 2.0, 1.0], 22, 0.0);
        // In the last row the other rival is the better one.
        for round in &mut samples.rounds {
            round[1][2] = 0.25;
        }
        let comparisons = samples.compare(&samples.resample(1));
        let found: Vec<_> = comparisons
            .iter()
            .map(|one| (one.case.bytes, one.best, one.ratio))
            .collect();
        assert_eq!(found, [(32, 1, 4.0), (16, 2, 2.0), (8, 2, 0.5)]);
        assert_eq!(comparisons[0].medians_us, [1.0, 0.25, 1.0]);
        assert_eq!(
            comparisons[0].interval,
            Interval {
                low: 4.0,
                high: 4.0
            }
        );
    }

    #[test]
    fn intervals_hold_the_ratio_and_narrow_with_more_rounds() {
        let width = |rounds: usize| {
            let resampled = samples(&[0.8, 1.25], rounds, 0.1).resample(5);
            let interval = resampled.interval_of(&[0, 1]);
            assert!(interval.low <= 1.0 && 1.0 <= interval.high, "{interval}");
            assert!((resampled.mean(&[0, 1]) - 1.0).abs() < 0.05);
            interval.high - interval.low
        };
        assert!(width(220) < width(22) / 2.0);
    }
}
