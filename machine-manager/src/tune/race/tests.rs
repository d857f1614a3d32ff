//! Races of given curves: the time of a run is known, and noise is added.

use super::*;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

const LENGTHS: usize = 12;

/// A full sweep has 20 runs of each.
const FULL_SWEEP: usize = LENGTHS * 20;

/// Returns slices of 50 us to 8 ms.
fn slices() -> Vec<f64> {
    let ratio = 160_f64.powf(1.0 / (LENGTHS as f64 - 1.0));
    let slice = |number: usize| 50e-6 * ratio.powf(number as f64);
    (0..LENGTHS).map(slice).collect()
}

/// Noise of a real machine: a normal part, and now and then a much longer time.
struct Noise {
    rng: ChaCha8Rng,
    spread: f64,
    disturbed: f64,
}

impl Noise {
    fn of(&mut self, seconds: f64) -> f64 {
        let normal: f64 = (0..12).map(|_| self.rng.random::<f64>()).sum::<f64>() - 6.0;
        let disturbed = self.rng.random_bool(self.disturbed);
        let longer = if disturbed {
            self.rng.random_range(1.1..1.5)
        } else {
            1.0
        };
        seconds * (self.spread * normal).exp() * longer
    }
}

/// Runs a race over the times of settings. Returns its result and the number of runs.
fn race(curve: &[f64], noise: &mut Noise, runs: usize) -> (RaceResult, usize) {
    let mut race = Race::new(curve.len(), false, runs);
    let mut ran = 0;
    while let Some(setting) = race.next_setting() {
        race.record_run(setting, noise.of(curve[setting]));
        ran += 1;
    }
    (race.finding(), ran)
}

/// Returns run times by slice, as programs have them: blocking calls that wait for strobes, a cost
/// of each slice, or both. There are steps if the program computes the same amount between any two
/// strobes.
fn curve(rng: &mut ChaCha8Rng) -> Vec<f64> {
    let granularity = [0.3e-3, 3e-3, 30e-3][rng.random_range(0..3)];
    let waits = rng.random_range(1.0..2.5);
    let cost = [0.0, rng.random_range(3e-6..30e-6)][rng.random_range(0..2)];
    let in_steps = rng.random_bool(0.5);
    let time = |slice: f64| {
        let step = match in_steps {
            true => ((granularity / slice).floor() + 1.0) * slice + slice,
            false => granularity + waits * slice,
        };
        step * (1.0 + cost / slice)
    };
    slices().into_iter().map(time).collect()
}

#[test]
fn a_slice_within_two_percent_is_named_in_a_quarter_of_a_full_sweep() {
    let mut rng = ChaCha8Rng::seed_from_u64(16);
    let (mut named, mut all_runs, rounds) = (0, 0, 400);
    for seed in 0..rounds {
        let curve = curve(&mut rng);
        let mut noise = Noise {
            rng: ChaCha8Rng::seed_from_u64(seed),
            spread: rng.random_range(0.001..0.015),
            disturbed: 0.03,
        };
        let (finding, runs) = race(&curve, &mut noise, FULL_SWEEP / 4);
        assert!(runs <= FULL_SWEEP / 4, "{runs}");
        let least = curve.iter().copied().fold(f64::INFINITY, f64::min);
        let best = finding.best.unwrap();
        let close = curve[best] <= least * 1.02;
        named += u32::from(finding.differ && close);
        assert!(
            curve[best] <= least * 1.05,
            "seed {seed}: {curve:?} {finding:?}"
        );
        all_runs += runs;
    }
    assert!(named >= 392, "{named} of {rounds}");
    // A clear difference is found sooner.
    let each = all_runs / usize::try_from(rounds).unwrap();
    assert!(each < 50, "{each} runs");
}

#[test]
fn flat_curves_are_no_difference_whatever_the_noise() {
    let mut different = 0;
    for seed in 0..400 {
        let mut noise = Noise {
            rng: ChaCha8Rng::seed_from_u64(seed),
            spread: [0.001, 0.01, 0.03, 0.1][usize::try_from(seed % 4).unwrap()],
            disturbed: 0.05,
        };
        let (finding, _) = race(&[1.0; LENGTHS], &mut noise, FULL_SWEEP / 4);
        different += u32::from(finding.differ);
    }
    assert!(different <= 12, "{different} of 400");
}

#[test]
fn a_quiet_machine_is_believed_after_three_rounds() {
    let mut noise = Noise {
        rng: ChaCha8Rng::seed_from_u64(1),
        spread: 0.0005,
        disturbed: 0.0,
    };
    let (finding, runs) = race(&[1.0; LENGTHS], &mut noise, 60);
    assert_eq!((finding.differ, runs), (false, 36));
    let steep: Vec<f64> = slices().iter().map(|slice| 1.0 + slice * 1e3).collect();
    let (finding, runs) = race(&steep, &mut noise, 60);
    assert_eq!((finding.best, finding.differ), (Some(0), true));
    assert_eq!(runs, 25, "two rounds, and a third of the first alone");
    assert_eq!(finding.standings[1..], [Standing::Slower; LENGTHS - 1]);
}

#[test]
fn what_noise_could_have_made_is_as_good() {
    let mut noise = Noise {
        rng: ChaCha8Rng::seed_from_u64(2),
        spread: 0.02,
        disturbed: 0.0,
    };
    let (finding, _) = race(&[1.0, 1.01, 1.5, 2.0], &mut noise, 40);
    let [first, second, rest @ ..] = &finding.standings[..] else {
        unreachable!()
    };
    let mut close = [*first, *second];
    close.sort_by_key(|one| *one == Standing::AsGood);
    assert_eq!(close, [Standing::Best, Standing::AsGood]);
    assert_eq!(rest, [Standing::Slower; 2]);
}

#[test]
fn a_setting_that_fails_runs_no_more_and_never_wins() {
    let mut race = Race::new(3, true, 40);
    let mut runs = [0; 4];
    while let Some(setting) = race.next_setting() {
        runs[setting] += 1;
        match setting {
            0 if runs[0] == 2 => race.failed(0),
            0 => race.record_run(0, 0.1),
            _ => race.record_run(setting, setting as f64),
        }
    }
    let finding = race.finding();
    assert_eq!(runs[0], 2);
    assert_eq!(finding.best, Some(1));
    use Standing::{Best, Failed, Reference, Slower};
    assert_eq!(finding.standings, [Failed, Best, Slower, Reference]);
    assert_eq!(runs[3], runs[1], "the reference runs as long as the best");

    let mut race = Race::new(2, false, 40);
    while let Some(setting) = race.next_setting() {
        race.failed(setting);
    }
    assert_eq!(race.finding().best, None);
}
