//! Statistics of run times, some of which were disturbed: medians and ranks.

use statrs::distribution::{ChiSquared, ContinuousCDF as _};

/// The median of an absolute normal deviation, in standard deviations.
const OF_A_NORMAL: f64 = 0.674_5;

/// The spread of a median, relative to that of a mean.
const OF_A_MEDIAN: f64 = 1.25;

/// Returns the median; the mean of the middle two when their number is even.
///
/// # Panics
/// When there are no samples.
#[must_use]
pub fn median(samples: &[f64]) -> f64 {
    let sorted = sorted(samples);
    let half = sorted.len() / 2;
    match sorted.len() % 2 {
        1 => sorted[half],
        _ => f64::midpoint(sorted[half - 1], sorted[half]),
    }
}

fn sorted(samples: &[f64]) -> Vec<f64> {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted
}

/// Returns the relative standard deviation of run times with the same setting, from the median of
/// the deviations within all groups. Returns `None` when no group has two samples.
#[must_use]
pub fn noise(groups: &[&[f64]]) -> Option<f64> {
    let deviations: Vec<f64> = groups
        .iter()
        .copied()
        .filter(|group| group.len() > 1)
        .flat_map(deviations)
        .collect();
    (!deviations.is_empty()).then(|| median(&deviations) / OF_A_NORMAL)
}

/// Returns how far each sample of a group is from its median, as a share of it. The median itself
/// is left out, if it is a sample. An even number of samples lies nearer to its own middle than to
/// the true median. The correction for this is that of draws of normal figures.
fn deviations(group: &[f64]) -> Vec<f64> {
    let middle = median(group);
    let count = group.len() as f64;
    let nearer = match group.len() % 2 {
        0 => ((count + 2.0) / count).sqrt(),
        _ => 1.0,
    };
    let mut all: Vec<f64> = group
        .iter()
        .map(|sample| (sample / middle).ln().abs() * nearer)
        .collect();
    all.sort_by(f64::total_cmp);
    all.split_off(group.len() % 2)
}

/// Returns the standard deviation of the ratio of the medians of two groups with these numbers of
/// samples, when one sample has `noise`.
#[must_use]
pub fn of_ratio(noise: f64, samples: [usize; 2]) -> f64 {
    let variance: f64 = samples.iter().map(|samples| 1.0 / *samples as f64).sum();
    let of_medians = if samples.iter().all(|samples| *samples < 3) {
        1.0
    } else {
        OF_A_MEDIAN
    };
    noise * of_medians * variance.sqrt()
}

/// Returns the probability that groups which do not differ look at least as different as these: the
/// test of Kruskal and Wallis, which uses only ranks. Equal samples get the mean of their ranks.
/// Returns 1 when there is nothing to compare.
#[must_use]
pub fn equality_probability(groups: &[&[f64]]) -> f64 {
    let mut samples: Vec<(f64, usize)> = groups
        .iter()
        .enumerate()
        .flat_map(|(group, samples)| samples.iter().map(move |sample| (*sample, group)))
        .collect();
    samples.sort_by(|one, other| one.0.total_cmp(&other.0));
    let all = samples.len() as f64;
    let mut ranks = vec![0.0; groups.len()];
    let mut ties = 0.0;
    let mut before = 0;
    for equal in samples.chunk_by(|one, other| one.0 == other.0) {
        let count = equal.len();
        let rank = before as f64 + f64::midpoint(1.0, count as f64);
        equal.iter().for_each(|(_, group)| ranks[*group] += rank);
        ties += (count as f64).powi(3) - count as f64;
        before += count;
    }
    let sum: f64 = ranks
        .iter()
        .zip(groups)
        .filter(|(_, group)| !group.is_empty())
        .map(|(ranks, group)| ranks * ranks / group.len() as f64)
        .sum();
    let different = 12.0 / (all * (all + 1.0)) * sum - 3.0 * (all + 1.0);
    let corrected = different / (1.0 - ties / (all.powi(3) - all));
    match ChiSquared::new(groups.len() as f64 - 1.0) {
        Ok(distribution) if corrected.is_finite() => distribution.sf(corrected.max(0.0)),
        _ => 1.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{Rng, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    /// Returns groups of samples around 1, with a normal spread (the sum of twelve uniform draws).
    fn groups(rng: &mut ChaCha8Rng, count: usize, size: usize, spread: f64) -> Vec<Vec<f64>> {
        let mut one = || (0..12).map(|_| rng.random::<f64>()).sum::<f64>() - 6.0;
        let mut group = || (0..size).map(|_| (spread * one()).exp()).collect();
        (0..count).map(|_| group()).collect()
    }

    fn views(groups: &[Vec<f64>]) -> Vec<&[f64]> {
        groups.iter().map(Vec::as_slice).collect()
    }

    #[test]
    fn medians_of_odd_and_even_numbers_of_samples() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), 2.5);
    }

    #[test]
    fn noise_is_the_spread_of_a_sample_whatever_the_groups() {
        let mut rng = ChaCha8Rng::seed_from_u64(3);
        for size in [2, 3, 4, 5, 20] {
            let groups = groups(&mut rng, 2_000 / size, size, 0.03);
            let noise = noise(&views(&groups)).unwrap();
            assert!((0.025..0.036).contains(&noise), "{noise} of {size}");
        }
        assert_eq!(noise(&[&[1.0], &[2.0]]), None);
    }

    #[test]
    fn a_few_disturbed_samples_are_no_noise() {
        let mut rng = ChaCha8Rng::seed_from_u64(4);
        let mut groups = groups(&mut rng, 12, 5, 0.01);
        (0..4).for_each(|group| groups[3 * group][group] *= 1.5);
        let noise = noise(&views(&groups)).unwrap();
        assert!(noise < 0.015, "{noise}");
    }

    /// Compares with a hand-computed figure: ranks 1 to 3, 4 to 6 and 7 to 9 have H = 7.2 with two
    /// degrees of freedom, and exp(-3.6) is its probability.
    #[test]
    fn groups_that_do_not_overlap_are_hardly_alike() {
        let apart = equality_probability(&[&[1.0, 2.0, 3.0], &[4.0, 5.0, 6.0], &[7.0, 8.0, 9.0]]);
        assert!((apart - (-3.6_f64).exp()).abs() < 1e-9, "{apart}");
        assert_eq!(
            equality_probability(&[&[1.0, 1.0], &[1.0, 1.0]]),
            1.0,
            "all equal"
        );
        assert_eq!(equality_probability(&[&[1.0, 2.0]]), 1.0, "one group");
    }

    #[test]
    fn groups_that_are_alike_seldom_look_different() {
        let mut rng = ChaCha8Rng::seed_from_u64(5);
        let different = (0..1_000)
            .filter(|_| equality_probability(&views(&groups(&mut rng, 12, 4, 0.02))) < 0.01)
            .count();
        assert!(different <= 15, "{different} of 1000");
    }
}
