//! Measures in rounds, and judges the median of all rounds against a bar.

use std::fmt;

use anyhow::{Result, ensure};

use crate::bootstrap::{Interval, median, median_interval};
use crate::verdict::{CheckOutcome, Verdict};

/// The bar of a figure. A figure equal to a limit holds it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Bar {
    /// At most this.
    AtMost(f64),
    /// At least this.
    AtLeast(f64),
    /// Within `tolerance` of `value`.
    Within {
        /// The value that is expected.
        value: f64,
        /// How far off it may be.
        tolerance: f64,
    },
    /// No bar: the figure is only reported.
    Reported,
}

impl Bar {
    /// Returns the figures that hold the bar.
    fn range(self) -> Interval {
        match self {
            Bar::AtMost(high) => Interval {
                low: f64::NEG_INFINITY,
                high,
            },
            Bar::AtLeast(low) => Interval {
                low,
                high: f64::INFINITY,
            },
            Bar::Within { value, tolerance } => Interval {
                low: value - tolerance,
                high: value + tolerance,
            },
            Bar::Reported => Interval {
                low: f64::NEG_INFINITY,
                high: f64::INFINITY,
            },
        }
    }

    /// Returns the verdict on a figure without spread.
    #[must_use]
    pub fn judge(self, figure: f64) -> Verdict {
        let range = self.range();
        if range.low <= figure && figure <= range.high {
            Verdict::Held
        } else {
            Verdict::Missed
        }
    }

    /// Returns the verdict on a figure that lies in `interval`; `None` if both verdicts are
    /// possible.
    #[must_use]
    pub fn judge_interval(self, interval: Interval) -> Option<Verdict> {
        let range = self.range();
        if range.low <= interval.low && interval.high <= range.high {
            Some(Verdict::Held)
        } else if interval.high < range.low || range.high < interval.low {
            Some(Verdict::Missed)
        } else {
            None
        }
    }
}

impl fmt::Display for Bar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Bar::AtMost(high) => write!(f, "at most {high}"),
            Bar::AtLeast(low) => write!(f, "at least {low}"),
            Bar::Within { value, tolerance } => write!(f, "{value} ± {tolerance}"),
            Bar::Reported => f.write_str("no bar"),
        }
    }
}

/// The number of rounds, and the seed of the bootstrap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rounds {
    /// Rounds that come first and do not count: programs are read from disk and caches fill.
    pub warm_ups: usize,
    /// Rounds before the first judgement; at least 15, or the interval is too narrow.
    pub least: usize,
    /// Rounds after which the median decides.
    pub most: usize,
    /// Rounds between judgements. A judgement after every round would sooner or later find, by
    /// chance, an interval on one side of the bar.
    pub step: usize,
    /// The seed of the bootstrap.
    pub seed: u64,
}

impl Default for Rounds {
    fn default() -> Self {
        Self {
            warm_ups: 1,
            least: 15,
            most: 60,
            step: 15,
            seed: 0x00BC_500D,
        }
    }
}

/// The result of measurements in rounds.
#[derive(Debug, Clone, PartialEq)]
pub struct RoundsResult {
    /// The figure, or the ratio, of every round that counts.
    pub samples: Vec<f64>,
    /// Their median.
    pub median: f64,
    /// The 95 % interval of the median.
    pub interval: Interval,
    /// The bar.
    pub bar: Bar,
    /// The judgement.
    pub verdict: Verdict,
}

impl RoundsResult {
    /// Converts it to the outcome of a check; `what` describes the figure and `unit` follows it.
    #[must_use]
    pub fn outcome(&self, what: &str, unit: &str) -> CheckOutcome {
        CheckOutcome {
            verdict: self.verdict,
            figure: format!(
                "{what}: {:.4}{unit} (median of {} rounds, 95 % interval {})",
                self.median,
                self.samples.len(),
                self.interval
            ),
            bar: match self.bar {
                Bar::Reported => self.bar.to_string(),
                bar => format!("{bar}{unit}"),
            },
        }
    }
}

impl Rounds {
    /// Measures `a` and `b` in every round, and judges the ratio a/b. The order alternates between
    /// rounds, so that a machine that gets slower or faster favours neither.
    ///
    /// # Errors
    ///
    /// `a` or `b` fails, or their figures have no ratio.
    pub fn ratio(
        &self,
        bar: Bar,
        mut a: impl FnMut() -> Result<f64>,
        mut b: impl FnMut() -> Result<f64>,
    ) -> Result<RoundsResult> {
        let mut a_first = false;
        self.figure(bar, || {
            a_first = !a_first;
            let (a, b) = if a_first {
                let a = a()?;
                (a, b()?)
            } else {
                let b = b()?;
                (a()?, b)
            };
            ensure!(
                a >= 0.0 && b > 0.0,
                "failed to take the ratio of {a} and {b}"
            );
            Ok(a / b)
        })
    }

    /// Measures `figure` once in every round, and judges it.
    ///
    /// # Errors
    ///
    /// `figure` fails, or returns a figure that is not finite.
    pub fn figure(
        &self,
        bar: Bar,
        mut figure: impl FnMut() -> Result<f64>,
    ) -> Result<RoundsResult> {
        let [measured] = self.figures([bar], |_| Ok([figure()?]))?;
        Ok(measured)
    }

    /// Measures several figures in every round, and judges each by its own bar, until all verdicts
    /// are clear or one figure certainly misses. `round` gets the number of the round.
    ///
    /// # Errors
    ///
    /// `round` fails, or returns a figure that is not finite.
    pub fn figures<const N: usize>(
        &self,
        bars: [Bar; N],
        mut round: impl FnMut(usize) -> Result<[f64; N]>,
    ) -> Result<[RoundsResult; N]> {
        assert!(
            self.least >= 15 && self.most >= self.least && self.step > 0,
            "{self:?}"
        );
        let mut measure = |number| {
            let figures = round(number)?;
            for figure in figures {
                ensure!(
                    figure.is_finite(),
                    "failed to measure: the figure is {figure}"
                );
            }
            Ok(figures)
        };
        for number in 0..self.warm_ups {
            measure(number)?;
        }
        let mut rounds = Vec::with_capacity(self.most);
        let mut target = self.least;
        loop {
            while rounds.len() < target {
                rounds.push(measure(self.warm_ups + rounds.len())?);
            }
            let judged: [(RoundsResult, bool); N] = std::array::from_fn(|at| {
                let samples = rounds.iter().map(|figures| figures[at]).collect();
                self.judge(bars[at], samples)
            });
            let missed =
                |(one, clear): &(RoundsResult, bool)| *clear && one.verdict == Verdict::Missed;
            let clear = judged.iter().all(|(_, clear)| *clear) || judged.iter().any(missed);
            if clear || rounds.len() == self.most {
                return Ok(judged.map(|(measured, _)| measured));
            }
            target = self.most.min(target + self.step);
        }
    }

    /// Returns the verdict on these samples, and whether their interval decides it.
    fn judge(&self, bar: Bar, samples: Vec<f64>) -> (RoundsResult, bool) {
        let interval = median_interval(&samples, self.seed);
        let median = median(&samples);
        let clear = bar.judge_interval(interval);
        let verdict = clear.unwrap_or_else(|| bar.judge(median));
        let measured = RoundsResult {
            samples,
            median,
            interval,
            bar,
            verdict,
        };
        (measured, clear.is_some())
    }
}

/// Returns the order of the sides in a round. Each side is first equally often, and equally often
/// before and after each other side.
#[must_use]
pub fn turns(count: usize, round: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    order.rotate_left(round / 2 % count);
    if round % 2 == 1 {
        order.reverse();
    }
    order
}

/// Returns the figure of each side, by its number; the sides take [`turns`].
///
/// # Errors
///
/// `measure` fails.
pub fn all_sides<const N: usize>(
    round: usize,
    mut measure: impl FnMut(usize) -> Result<f64>,
) -> Result<[f64; N]> {
    let mut figures = [0.0; N];
    for side in turns(N, round) {
        figures[side] = measure(side)?;
    }
    Ok(figures)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use rand::{Rng, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;

    /// Draws between `mean - spread` and `mean + spread`.
    fn uniform(seed: u64, mean: f64, spread: f64) -> impl FnMut() -> Result<f64> {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        move || Ok(mean + spread * (2.0 * rng.random::<f64>() - 1.0))
    }

    #[test]
    fn a_ratio_clearly_within_the_bar_is_held_after_the_least_rounds() {
        let measured =
            Rounds::default().ratio(Bar::AtMost(3.0), uniform(1, 2.0, 0.2), uniform(2, 1.0, 0.1));
        let measured = measured.unwrap();
        assert_eq!(
            (measured.verdict, measured.samples.len()),
            (Verdict::Held, 15)
        );
        assert!((measured.median - 2.0).abs() < 0.1, "{measured:?}");
    }

    #[test]
    fn a_ratio_clearly_beyond_the_bar_is_missed() {
        let measured = Rounds::default().ratio(
            Bar::AtMost(1.1),
            uniform(1, 1.2, 0.05),
            uniform(2, 1.0, 0.05),
        );
        assert_eq!(measured.unwrap().verdict, Verdict::Missed);
        let measured = Rounds::default().ratio(
            Bar::AtLeast(0.9),
            uniform(1, 0.8, 0.05),
            uniform(2, 1.0, 0.05),
        );
        assert_eq!(measured.unwrap().verdict, Verdict::Missed);
    }

    #[test]
    fn a_figure_at_the_bar_takes_all_rounds_and_its_median_decides() {
        for (centre, verdict) in [(0.997, Verdict::Held), (1.003, Verdict::Missed)] {
            // The figures lie evenly and widely on both sides of the bar, so no interval can lie on
            // one side of it.
            let mut round = 0_u32;
            let measured = Rounds::default().figure(Bar::AtMost(1.0), || {
                round += 1;
                Ok(centre + if round.is_multiple_of(2) { 0.5 } else { -0.5 })
            });
            let measured = measured.unwrap();
            assert_eq!(
                (measured.verdict, measured.samples.len()),
                (verdict, 60),
                "{measured:?}"
            );
        }
    }

    #[test]
    fn a_two_sided_bar_is_missed_on_both_sides() {
        let bar = Bar::Within {
            value: 1.5,
            tolerance: 0.1,
        };
        let judged = |mean| {
            Rounds::default()
                .figure(bar, uniform(3, mean, 0.02))
                .unwrap()
                .verdict
        };
        assert_eq!(judged(1.5), Verdict::Held);
        assert_eq!(judged(1.3), Verdict::Missed);
        assert_eq!(judged(1.7), Verdict::Missed);
    }

    #[test]
    fn a_machine_that_slows_down_does_not_bend_the_ratio() {
        let slowness = Cell::new(1.0);
        let run = |cost: f64| {
            slowness.set(slowness.get() * 1.05);
            Ok(cost * slowness.get())
        };
        let measured = Rounds::default()
            .ratio(
                Bar::Within {
                    value: 2.0,
                    tolerance: 0.11,
                },
                || run(2.0),
                || run(1.0),
            )
            .unwrap();
        assert_eq!(measured.verdict, Verdict::Held, "{measured:?}");
    }

    #[test]
    fn rounds_take_turns_and_alternate_which_is_first() {
        let order = Cell::new(String::new());
        let log = |name: char| {
            let mut text = order.take();
            text.push(name);
            order.set(text);
            Ok(1.0)
        };
        Rounds::default()
            .ratio(Bar::AtMost(2.0), || log('a'), || log('b'))
            .unwrap();
        assert_eq!(
            order.take(),
            "abba".repeat(8),
            "16 rounds, one of them to warm up"
        );
    }

    #[test]
    fn everybody_is_first_and_before_everybody_equally_often() {
        let count = 4;
        let rounds: Vec<Vec<usize>> = (0..2 * count).map(|round| turns(count, round)).collect();
        for one in 0..count {
            let first = rounds.iter().filter(|turns| turns[0] == one).count();
            assert_eq!(first, 2);
            for other in (0..count).filter(|other| *other != one) {
                let place = |turns: &[usize], side| turns.iter().position(|turn| *turn == side);
                let before = rounds
                    .iter()
                    .filter(|turns| place(turns, one) < place(turns, other))
                    .count();
                assert_eq!(before, count, "{one} before {other}");
            }
        }
    }

    #[test]
    fn of_several_figures_each_has_its_bar_and_one_sure_miss_is_enough() {
        let bars = [Bar::AtMost(1.0), Bar::AtMost(3.0), Bar::Reported];
        let measure = |figures: [f64; 3]| {
            let mut off = uniform(4, 1.0, 0.05);
            Rounds::default()
                .figures(bars, |round| {
                    let off = off()?;
                    all_sides(round, |side| Ok(figures[side] * off))
                })
                .unwrap()
        };
        let verdicts = |measured: &[RoundsResult; 3]| measured.each_ref().map(|one| one.verdict);
        let [held, missed] = [Verdict::Held, Verdict::Missed];
        let first = measure([0.5, 2.0, 9.0]);
        assert_eq!(verdicts(&first), [held; 3]);
        assert!((first[1].median - 2.0).abs() < 0.1);
        // The first figure alone would be in doubt for all rounds.
        let second = measure([1.0, 4.0, 9.0]);
        assert_eq!(second[0].samples.len(), 15);
        assert_eq!(verdicts(&second)[1..], [missed, held]);
        assert_eq!(second[2].outcome("it", " us").bar, "no bar");
    }

    #[test]
    fn what_cannot_be_measured_is_an_error() {
        let rounds = Rounds::default();
        assert!(
            rounds
                .ratio(Bar::AtMost(1.0), || Ok(1.0), || Ok(0.0))
                .is_err()
        );
        assert!(rounds.figure(Bar::AtMost(1.0), || Ok(f64::NAN)).is_err());
        assert!(
            rounds
                .figure(Bar::AtMost(1.0), || anyhow::bail!("it crashed"))
                .is_err()
        );
    }

    /// If the truth is exactly the bar, both verdicts occur, and neither is favoured.
    #[test]
    fn at_the_bar_both_verdicts_come_about_equally_often() {
        let held = (0..100)
            .filter(|seed| {
                let measured = Rounds::default().figure(Bar::AtMost(1.0), uniform(*seed, 1.0, 0.1));
                measured.unwrap().verdict == Verdict::Held
            })
            .count();
        assert!((30..=70).contains(&held), "{held} of 100");
    }
}
