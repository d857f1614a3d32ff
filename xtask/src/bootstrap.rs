//! Medians, and their confidence intervals.

use std::fmt;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// With this number the ends of a 95 % interval move between seeds by less than a hundredth of its
/// width.
const RESAMPLES: usize = 4_000;

/// A closed interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// Its lower end.
    pub low: f64,
    /// Its upper end.
    pub high: f64,
}

impl fmt::Display for Interval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.4} to {:.4}", self.low, self.high)
    }
}

/// Returns the median: for an even number of samples, the mean of the middle two.
///
/// # Panics
///
/// When there are no samples, or one is not a number.
#[must_use]
pub fn median(samples: &[f64]) -> f64 {
    let sorted = sorted(samples);
    middle(sorted.len(), |place| sorted[place])
}

/// Returns the median of `count` samples, where `sorted` returns the sample at a place.
fn middle(count: usize, sorted: impl Fn(usize) -> f64) -> f64 {
    let half = count / 2;
    if count % 2 == 1 {
        sorted(half)
    } else {
        (sorted(half - 1) + sorted(half)) / 2.0
    }
}

fn sorted(samples: &[f64]) -> Vec<f64> {
    let mut sorted = samples.to_vec();
    sorted.sort_by(|a, b| a.partial_cmp(b).expect("figures are numbers"));
    sorted
}

/// Returns the 95 % bootstrap interval (percentile method) of the median of `samples`. The same
/// samples and seed give the same interval.
///
/// # Panics
///
/// When there are no samples, or one is not a number.
#[must_use]
pub fn median_interval(samples: &[f64], seed: u64) -> Interval {
    let samples = sorted(samples);
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut drawn = vec![0; samples.len()];
    let medians: Vec<f64> = (0..RESAMPLES)
        .map(|_| {
            // Draws places in the sorted samples, so that it sorts integers and not floating-point
            // numbers.
            drawn.fill_with(|| rng.random_range(0..samples.len()));
            drawn.sort_unstable();
            middle(drawn.len(), |place| samples[drawn[place]])
        })
        .collect();
    middle_95_percent(&medians)
}

/// Draws `count` of `count` rounds at random, [`RESAMPLES`] times, and calls `figures` with each
/// draw. Returns the figures of all draws.
///
/// # Panics
///
/// When there are no rounds.
pub(crate) fn resampled(
    count: usize,
    seed: u64,
    mut figures: impl FnMut(&[usize]) -> Vec<f64>,
) -> Vec<Vec<f64>> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut drawn = vec![0; count];
    (0..RESAMPLES)
        .map(|_| {
            drawn.fill_with(|| rng.random_range(0..count));
            figures(&drawn)
        })
        .collect()
}

/// Returns the interval of the figures without the least and the greatest 2.5 %.
///
/// # Panics
///
/// When there are no figures, or one is not a number.
pub(crate) fn middle_95_percent(figures: &[f64]) -> Interval {
    let figures = sorted(figures);
    let tail = figures.len() / 40;
    Interval {
        low: figures[tail],
        high: figures[figures.len() - 1 - tail],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Draws `count` figures around `mean`, with a normal spread (the sum of twelve uniform draws).
    fn normal(rng: &mut ChaCha8Rng, count: usize, mean: f64, deviation: f64) -> Vec<f64> {
        let one = |rng: &mut ChaCha8Rng| (0..12).map(|_| rng.random::<f64>()).sum::<f64>() - 6.0;
        (0..count).map(|_| mean + deviation * one(rng)).collect()
    }

    #[test]
    fn medians_of_odd_and_even_numbers_of_samples() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), 2.5);
        assert_eq!(median(&[7.0]), 7.0);
    }

    #[test]
    fn samples_without_spread_have_an_interval_without_width() {
        assert_eq!(
            median_interval(&[1.5; 15], 0),
            Interval {
                low: 1.5,
                high: 1.5
            }
        );
    }

    #[test]
    fn one_wild_sample_does_not_move_the_interval_to_it() {
        let mut samples = vec![1.0; 14];
        samples.push(1e9);
        let interval = median_interval(&samples, 0);
        assert_eq!(
            interval,
            Interval {
                low: 1.0,
                high: 1.0
            }
        );
    }

    #[test]
    fn the_same_seed_gives_the_same_interval() {
        let samples = normal(&mut ChaCha8Rng::seed_from_u64(5), 20, 1.0, 0.2);
        let interval = median_interval(&samples, 9);
        assert_eq!(median_interval(&samples, 9), interval);
        // The ends of the interval are medians of few samples, so other seeds often give the same
        // ends, but not always.
        assert!((10..40).any(|seed| median_interval(&samples, seed) != interval));
    }

    /// Checks the definition of a 95 % interval: it contains the true median about 95 times in 100,
    /// and not always.
    #[test]
    fn the_interval_covers_the_true_median_about_as_often_as_it_says() {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let covered = (0..400)
            .filter(|seed| {
                let interval = median_interval(&normal(&mut rng, 25, 1.0, 0.1), *seed);
                interval.low <= 1.0 && 1.0 <= interval.high
            })
            .count();
        assert!((360..=396).contains(&covered), "{covered} of 400");
    }

    #[test]
    fn more_samples_make_a_narrower_interval() {
        let mut rng = ChaCha8Rng::seed_from_u64(2);
        let width = |samples: &[f64]| {
            let interval = median_interval(samples, 0);
            interval.high - interval.low
        };
        let few = width(&normal(&mut rng, 15, 1.0, 0.1));
        let many = width(&normal(&mut rng, 960, 1.0, 0.1));
        assert!(many < few / 3.0, "{many} and {few}");
    }
}
